// Package offline keeps the history of every view on object storage and joins
// it point-in-time.
//
// # Tables
//
// The history of a view is a Delta table ([TablePath]) of Parquet files, each
// sorted by (join keys, event timestamp, created timestamp). An [Appender]
// takes rows in any order and any number: it sorts what fits into its memory,
// spills sorted runs, merges them into files, and makes them visible by one
// commit to the table's log. Nothing is ever changed in place.
//
// # Reads
//
// Each read is pinned to one version of each table it touches, and repeats
// exactly. [Store.Scan] gives rows as they lie, [Store.Newest] what has arrived
// since a version, one row per key and file, for materialization, and
// [Store.Historical] the training set of a spine. All of them stream: memory is
// bounded by [Options.MemoryLimit], whatever the size of the table or the spine.
//
// # The point-in-time join
//
// The join itself is package pit: integers in, positions out. This package
// turns keys into those integers and positions back into columns. It reads key
// and time columns first, of the files and row groups whose statistics leave a
// chance of a match, and then the asked-for features of the row groups in which
// a row was taken. Start reading at historical.go.
package offline
