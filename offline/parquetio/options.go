package parquetio

import (
	"github.com/granary-ml/granary/feature"
)

// Codec is the compression of the pages of a file.
type Codec uint8

// The codecs that we write. The zero value is Zstd.
const (
	Zstd         Codec = iota // the smallest files
	Snappy                    // the fastest to unpack
	Uncompressed              // no compression
)

// The defaults of the options.
const (
	DefaultRowGroupRows = 131072
	DefaultBatchRows    = 65536
	DefaultMaxPageBytes = 256 << 20
	DefaultMaxDataBytes = 1 << 30
	DefaultMaxGroupRows = 1 << 26
)

// WriterOptions say how a file is written.
type WriterOptions struct {
	// RowGroupRows is the number of rows of each row group but the last.
	// Default 131,072. Larger groups read a little faster and skip less.
	RowGroupRows int
	// Codec is the compression. Default Zstd.
	Codec Codec
	// SortedBy names the columns by which the rows are ordered, each ascending,
	// nulls first, compared as feature.Value.Compare does. Write verifies it,
	// and the file records it. Empty: no order is claimed.
	SortedBy []string
	// VectorsAsLists makes the Arrow schema that the footer keeps say list where
	// the records have lists of fixed size, as Parquet itself does. Engines that
	// take the kept schema by its word refuse a table whose own schema says list
	// otherwise.
	VectorsAsLists bool
	// Metadata is written into the footer, beside the Arrow schema. Keys that
	// begin with "granary." are ours, see docs/format/parquet.md.
	Metadata map[string]string
}

// ReaderOptions bound what a file may ask for.
type ReaderOptions struct {
	// MaxPageBytes is the largest page, packed or unpacked. Default 256 MiB.
	MaxPageBytes int64
	// MaxDataBytes is the largest size of one column of one batch in memory,
	// so that a small file of large repetitions cannot fill the memory.
	// Default 1 GiB.
	MaxDataBytes int64
	// MaxGroupRows is the largest row group that ReadRowGroup builds in one
	// piece; Records has no such limit. Default 67,108,864.
	MaxGroupRows int64
	// Workers is how many columns are decoded at a time. Default: one per core.
	Workers int
}

// ScanOptions choose what Records reads.
type ScanOptions struct {
	// RowGroups are read in the order given. Nil: all.
	RowGroups []int
	// Columns are top-level columns in the order wanted. Nil: all.
	Columns []string
	// BatchRows is the largest number of rows of a record. Default 65,536.
	BatchRows int
}

// ColumnStats are the bounds of a column, of a file or of a row group. A Min or
// Max that is null is not known. Bounds hold: no value lies outside, but a bound
// need not be a value. Nulls is -1 when not known. NaN is in no bounds.
type ColumnStats struct {
	Min, Max feature.Value
	Nulls    int64
}

// Summary is what a writer wrote. Columns has the scalar columns of feature
// types by name; others have no statistics.
type Summary struct {
	Rows    int64
	Bytes   int64
	Columns map[string]ColumnStats
}
