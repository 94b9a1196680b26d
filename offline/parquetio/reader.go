package parquetio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
)

// File is an open Parquet file. It is safe for concurrent use if its source is.
type File struct {
	src     io.ReaderAt
	size    int64
	name    string
	options ReaderOptions
	footer  *footer
	columns []*node
	leaves  []*leaf
	schema  *arrow.Schema
	unpack  unpacker
	buffers buffers
}

// Open reads the footer of a file of size bytes; name is for messages. Bytes
// that are no Parquet file, or a damaged one, are data_loss; a file beyond a
// limit is too_large; an error of the source keeps its code.
//
// A column that cannot be read, because its logical type or encoding is not
// known, does not spoil the file: only reading it is an error.
func Open(r io.ReaderAt, size int64, name string, o ReaderOptions) (*File, error) {
	out := &File{src: r, size: size, name: name, options: o.withDefaults()}
	if err := guard(out.open); err != nil {
		return nil, out.fault("parquetio.Open", "", err)
	}
	return out, nil
}

func (o ReaderOptions) withDefaults() ReaderOptions {
	if o.MaxPageBytes <= 0 {
		o.MaxPageBytes = DefaultMaxPageBytes
	}
	if o.MaxDataBytes <= 0 {
		o.MaxDataBytes = DefaultMaxDataBytes
	}
	o.MaxDataBytes = min(o.MaxDataBytes, math.MaxInt32) // Arrow's offsets
	if o.MaxGroupRows <= 0 {
		o.MaxGroupRows = DefaultMaxGroupRows
	}
	if o.Workers <= 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	return o
}

func (f *File) open() error {
	var err error
	if f.footer, err = readFooter(f.src, f.size); err != nil {
		return err
	}
	if f.columns, f.leaves, err = buildSchema(f.footer.schema); err != nil {
		return err
	}
	applyHints(f.columns, f.footer.metadata[keyArrowSchema])
	fields := make([]arrow.Field, len(f.columns))
	for i, c := range f.columns {
		fields[i] = c.field()
	}
	f.schema = arrow.NewSchema(fields, nil)
	return f.checkGroups()
}

// checkGroups compares the numbers of the footer with each other.
func (f *File) checkGroups() error {
	if len(f.leaves) == 0 && f.footer.rows > 0 {
		return fmt.Errorf("footer says %d rows of no columns", f.footer.rows)
	}
	rows := int64(0)
	for i, g := range f.footer.groups {
		if len(g.chunks) != len(f.leaves) {
			return fmt.Errorf("row group %d has %d columns where the schema has %d", i, len(g.chunks), len(f.leaves))
		}
		if g.rows > math.MaxInt64-rows {
			return errors.New("row groups with too many rows")
		}
		rows += g.rows
	}
	if rows != f.footer.rows {
		return fmt.Errorf("footer says %d rows, and its row groups have %d", f.footer.rows, rows)
	}
	return nil
}

// unsupportedError marks what is whole and cannot be read.
type unsupportedError struct{ msg string }

func (e *unsupportedError) Error() string { return e.msg }

// fault makes the error that callers see: code, file, column, reason.
func (f *File) fault(op, column string, err error) error {
	if err == nil {
		return nil
	}
	var (
		limit       *limitError
		unsupported *unsupportedError
		source      *sourceError
	)
	code := feature.CodeDataLoss
	switch {
	case errors.As(err, &limit):
		code = feature.CodeTooLarge
	case errors.As(err, &unsupported):
		code = feature.CodeUnsupportedMediaType
	case errors.As(err, &source), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		code = feature.CodeOf(err)
	}
	subject := "file " + f.name
	if column != "" {
		subject += ", column " + column
	}
	return feature.Errorf(code, op, subject, "%w", err)
}

// Schema returns the Arrow schema: timestamps in the unit of the file, INT96 as
// microseconds of UTC, decimals as decimals. Its metadata is empty; see
// Metadata.
func (f *File) Schema() *arrow.Schema { return f.schema }

// Rows returns the number of rows.
func (f *File) Rows() int64 { return f.footer.rows }

// RowGroups returns the number of row groups.
func (f *File) RowGroups() int { return len(f.footer.groups) }

// RowGroupRows returns the number of rows of row group i.
func (f *File) RowGroupRows(i int) int64 { return f.footer.groups[i].rows }

// SortedBy returns the columns by which a Writer recorded and verified the rows
// to be ordered, over the whole file; nil if there is no such record.
func (f *File) SortedBy() []string {
	var names []string
	if json.Unmarshal([]byte(f.footer.metadata[keySortedBy]), &names) != nil {
		return nil
	}
	return names
}

// Metadata returns a value of the footer's metadata, or "".
func (f *File) Metadata(key string) string { return f.footer.metadata[key] }

// RowGroupBytes returns how many bytes of the file hold columns of row group i;
// nil columns are all. Names that the file does not have count nothing.
func (f *File) RowGroupBytes(i int, columns []string) int64 {
	nodes := f.columns
	if columns != nil {
		nodes = nil
		for _, name := range columns {
			if n, err := f.column(name); err == nil {
				nodes = append(nodes, n)
			}
		}
	}
	total := int64(0)
	for _, n := range nodes {
		for _, l := range n.leaves(nil) {
			total += max(f.footer.groups[i].chunks[l.index].packed, 0)
		}
	}
	return total
}

// column finds a top-level column by its exact name.
func (f *File) column(name string) (*node, error) {
	var found *node
	for _, n := range f.columns {
		if n.name != name {
			continue
		}
		if found != nil {
			return nil, f.fault("parquetio.Read", name, &unsupportedError{"the file has two columns of this name"})
		}
		found = n
	}
	if found == nil {
		return nil, feature.Errorf(feature.CodeNotFound, "parquetio.Read", "file "+f.name,
			"there is no column %q (there are %s)", name, f.names())
	}
	return found, nil
}

// names lists the columns for a message.
func (f *File) names() string {
	const most = 20
	names := make([]string, 0, most)
	for i, n := range f.columns {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(f.columns)-most))
			break
		}
		names = append(names, n.name)
	}
	return strings.Join(names, ", ")
}

// choose returns the columns of the names, all for nil.
func (f *File) choose(names []string) ([]*node, *arrow.Schema, error) {
	if names == nil {
		return f.columns, f.schema, nil
	}
	nodes := make([]*node, len(names))
	fields := make([]arrow.Field, len(names))
	for i, name := range names {
		n, err := f.column(name)
		if err != nil {
			return nil, nil, err
		}
		nodes[i], fields[i] = n, n.field()
	}
	return nodes, arrow.NewSchema(fields, nil), nil
}

// Close closes the source if it is an io.Closer.
func (f *File) Close() error {
	f.unpack.close()
	if c, ok := f.src.(io.Closer); ok {
		return c.Close()
	}
	return nil
}
