// Package delta is the transaction log of Delta Lake tables: commit, replay,
// statistics, application transactions, checkpoints and time travel, for many
// writers at once.
//
// A table is a prefix in a bucket. Its files are Parquet, which this package
// never opens; its log is _delta_log/<20 digits>.json, one file per version,
// written by put-if-absent, which is the whole of the commit: no catalog, no
// lock. Every hundred versions a checkpoint sums the log up, so that opening a
// table does not cost its history.
//
// Start reading at Log.Commit, then state.apply, which replays one commit. The
// format, with what we add to it, is in docs/format/delta.md; the protocol is
// Delta's PROTOCOL.md, reader version 1 and writer version 2. A table that asks
// for more is refused, and the feature that it asks for is named.
package delta
