// Package crossread holds our tables to what other engines read of them:
// delta-rs, pyarrow, DuckDB and Polars, in the versions that internal/tools
// pins. Its tests write tables with every type, nulls, files of several commits,
// an added feature, erased rows and a checkpoint, and compare every value.
package crossread
