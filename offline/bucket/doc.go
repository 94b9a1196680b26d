// Package bucket is the seam to object storage: local folders, memory, S3,
// Google Cloud Storage and Azure behind one interface of eight methods.
//
// What makes a bucket more than a folder is the conditional put: PutIfAbsent,
// and Create with IfAbsent, write an object only if its key is free, and of any
// number of writers at once exactly one succeeds. It is the only lock that the
// registry and the table log use.
//
// Nothing is visible before it is whole: a reader sees an object as it was
// committed or not at all. What was committed is durable: on files the data
// are synced before the name appears, and the folder after it.
//
// Errors carry a feature.Code: CodeNotFound, CodeAlreadyExists,
// CodePermissionDenied, CodeResourceExhausted (a full disk, a quota),
// CodeUnavailable (throttled, timed out, no answer: for a write the outcome is
// unknown), CodeInvalidArgument (a key that no store takes), CodeInternal.
// The end of a context keeps its own codes.
//
// Start reading at Bucket; package buckettest holds the acceptance suite that
// every implementation and every wrapper passes, and a wrapper that injects
// faults.
package bucket
