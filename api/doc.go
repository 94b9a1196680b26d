// Package api is the HTTP surface of the feature store: JSON, with Arrow
// streams and Parquet where rows are many. The routes stand in one table in
// routes.go, each handler in the file of its noun, the types of bodies and
// answers in api/wire, and the whole in openapi.yaml, which a test holds
// against the table. docs/http-api.md tells it with examples.
//
// A handler reads the request, asks the service and writes the answer, or
// returns an error. What all have in common is around it in middleware.go:
// the request id, the deadline, the limits, the counts, the one recover, and
// the problem document that an error becomes. An answer that fails after its
// first byte is cut off with its connection, so that nobody takes a part for
// the whole.
package api
