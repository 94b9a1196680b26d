// Package metamorphic runs one random sequence of operations (push, ingest,
// materialize, erase, reopen, advance the clock, look up, join) under many
// configurations and holds every answer to a model that keeps all rows in a
// list and knows nothing but the rule.
//
// What must hold: every configuration gives the model's answers; after a
// materialization the online answer at T is the join at T; no order of arrival,
// no reopening and no layout of files changes an answer. A failure prints its
// seed; run it again with
//
//	go test ./internal/metamorphic -run Metamorphic -seed N
package metamorphic
