// Package cases holds the cases of the semantics as scripts in testdata, and
// runs each of them over every way in: over a bucket in memory with the
// reference store, over files with Pebble, and over HTTP through the SDK. All
// must print the same.
//
// A script is a list of commands with their input and output (see
// cockroachdb/datadriven). Input and output are tables whose cells are JSON;
// a bare word is a string, and a bare time of day is that time on 2024-01-01.
// After a change that is meant, rewrite the outputs and review the difference:
//
//	go test ./internal/cases -rewrite
//
//	now T                      sets the clock
//	apply [project=p]          applies definitions in YAML
//	delete [project=p] [view f]
//	push [project=p] f         pushes rows, online and offline
//	ingest [project=p] f       ingests a file of rows
//	permute f                  pushes rows in every order, each into a new key space
//	materialize [full] [end=T]
//	reopen                     closes all stores and opens them again
//	lookup [values] [raw] [project=p] [service=s] refs…
//	join [known-at] [full-names] [project=p] [service=s] refs…
package cases
