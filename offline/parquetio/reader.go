package parquetio

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
)

// File is an open Parquet file.
type File struct{}

// Open reads the footer of a file of size bytes.
func Open(_ io.ReaderAt, _ int64, _ string, _ ReaderOptions) (*File, error) {
	return nil, errors.ErrUnsupported
}

// Schema returns the Arrow schema of the file.
func (f *File) Schema() *arrow.Schema { return nil }

// Rows returns the number of rows.
func (f *File) Rows() int64 { return 0 }

// RowGroups returns the number of row groups.
func (f *File) RowGroups() int { return 0 }

// RowGroupRows returns the number of rows of row group i.
func (f *File) RowGroupRows(_ int) int64 { return 0 }

// SortedBy returns the columns by which the rows are recorded to be ordered.
func (f *File) SortedBy() []string { return nil }

// Metadata returns a value of the footer's metadata, or "".
func (f *File) Metadata(_ string) string { return "" }

// Range returns the bounds of a column in a row group, if they are known.
func (f *File) Range(_ int, _ string) (ColumnStats, bool) { return ColumnStats{}, false }

// RowGroupBytes returns how many bytes of the file hold the columns of a group.
func (f *File) RowGroupBytes(_ int, _ []string) int64 { return 0 }

// ReadRowGroup reads the columns of a row group, in the order asked.
func (f *File) ReadRowGroup(_ context.Context, _ int, _ []string) (arrow.Record, error) {
	return nil, errors.ErrUnsupported
}

// Records reads row groups in batches.
func (f *File) Records(_ context.Context, _ ScanOptions) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) { yield(nil, errors.ErrUnsupported) }
}

// Close closes what was handed to Open, if it can be closed.
func (f *File) Close() error { return nil }
