// Package serving joins the registry and the stores into the one service that
// the HTTP surface and the command line ask: both give the same answers,
// because both come through here. Start reading at [Service].
//
// # A lookup
//
// A lookup is answered without building a document. The request is scanned
// once: the scan checks the JSON and keeps where its members lie
// (request.go). The feature list, still text, finds the plan that was compiled
// for it at the registry's revision (plan.go): which views are read, by which
// keys, and for each column of the answer its slot in the packed row. Join key
// values go straight from their text to key bytes (keys.go), all views are
// read in one call, and the answer is appended to the caller's buffer from the
// packed rows in place (answer.go). What a request needs meanwhile is kept and
// used again (scratch.go).
package serving
