// Package sdk is the Go client of a granary server. It talks HTTP and links no
// storage engine.
//
// [Dial] makes a [Client]; nothing is sent before the first call. The client
// asks with the types of package wire, and the server's errors come back as
// [*feature.Error] with the code, the subject and the faults that the server
// gave: [feature.CodeOf] tells what to do about one.
//
// Definitions are literals of package feature, or are read from the tags of a
// struct by [EntityOf] and [ViewOf]; the same struct is pushed by [PushRows] and
// filled from an answer by [Decode].
//
// # Retries
//
// What may be sent twice is sent again when the server cannot be reached or says
// that it is busy: reads, lookups, plans, and pushes, which always carry an
// idempotency key. A call that changes something else is sent again only if it
// never reached the server. [WithRetries] sets how often.
package sdk
