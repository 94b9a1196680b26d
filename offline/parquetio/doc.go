// Package parquetio writes the Parquet files of our tables and reads those of
// anybody.
//
// A [Writer] makes files that every reader of Parquet reads: version 1 data
// pages, PLAIN or dictionary encoding, statistics for scalars, timestamps in
// microseconds of UTC. It cuts exact row groups, verifies the order that it
// records, and sums up each column for the table's log.
//
// A [File] reads files, ours and foreign ones. A foreign file is data from
// outside: whatever is in it, the answer is its values or an error that names
// the file, the column and the reason. It is never a crash, a hang, memory
// without bound, or fewer rows than the footer promises. To that end the footer
// is walked before anything is built from it (thrift.go, footer.go), each page
// header is checked before its page is unpacked (page.go), and the decoders
// (levels.go, values.go, delta.go) are our own: those of the Arrow module panic
// in goroutines of theirs, where nobody can recover, and end early without an
// error. The module's part is the schema, the metadata and the writer.
//
// Start reading at [Open], [File.ReadRowGroup] and [NewWriter]. What we write
// is drawn in docs/format/parquet.md.
package parquetio
