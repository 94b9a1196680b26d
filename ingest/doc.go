// Package ingest brings rows in: from files, from pushes, and from the tables
// of the offline store into the online one.
//
// # The way of a row
//
// An input (a file, an object of a bucket, a body) is unpacked and cut into
// chunks. Each chunk is decoded, on as many cores as there are, into one batch
// of the view's table ([columns.TableSchema]): text is parsed straight into
// columns, foreign Arrow and Parquet columns are coerced as a whole. A row that
// cannot be accepted is taken out of its batch and becomes one or more
// [Rejection]s. The batches arrive in the order of the input, and are appended
// to the view's table by one commit.
//
// Nothing is visible before that commit. An input that is not what it should be
// (truncated, of another format, without a column) is an error, and then nothing
// has happened; so it is when the context ends.
//
// # Where to start
//
// [Ingester.Files] and [Ingester.Push] are the two entrances; [Ingester.Materialize]
// loads the online store. [OpenSpine] and [ReadSpine] read the rows that a
// point-in-time retrieval starts from. The rules of coercion stand in package
// feature; the fast paths here accept only what those rules accept, with the
// same result, and leave everything else to them.
package ingest
