package parquetio

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/flight"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/compress"

	"github.com/granary-ml/granary/feature"
)

// The keys of ours in the footer's metadata.
const (
	keyPrefix   = "granary."
	keyFormat   = keyPrefix + "format"
	keySortedBy = keyPrefix + "sorted_by"
	format      = "1"

	// keyArrowSchema is known to all that read Parquet into Arrow.
	keyArrowSchema = "ARROW:schema"

	createdBy = "granary version 1"
)

// Writer writes one file. It is for one goroutine. After an error the file is
// worthless, and every later call returns an error.
type Writer struct {
	out     *countingWriter
	schema  *arrow.Schema // of the records
	stored  *arrow.Schema // of the file
	groups  groupWriter
	order   *orderChecker
	bounds  []boundsBuilder // by column; nil where there are no statistics
	pending []arrow.Record  // rows of the next group, retained
	waiting int             // their number
	perRow  int             // rows of a group
	rows    int64
	err     error
}

// NewWriter starts a file of a schema. Nothing of it can be read before Close.
// Timestamps must be in microseconds; a column of SortedBy must have the type
// of a join key or time.
func NewWriter(w io.Writer, schema *arrow.Schema, o WriterOptions) (*Writer, error) {
	const op = "parquetio.NewWriter"
	order, err := newOrderChecker(schema, o.SortedBy)
	if err != nil {
		return nil, err
	}
	for key := range o.Metadata {
		if strings.HasPrefix(key, keyPrefix+"sorted") || key == keyFormat || key == keyArrowSchema {
			return nil, feature.Errorf(feature.CodeInvalidArgument, op, "", "metadata key %q is written by the writer itself", key)
		}
	}
	out := &Writer{out: &countingWriter{w: w}, schema: schema, order: order, perRow: o.RowGroupRows}
	if out.perRow <= 0 {
		out.perRow = DefaultRowGroupRows
	}
	err = guard(func() error {
		if out.stored, err = listSchema(schema); err != nil {
			return err
		}
		props := writerProperties(out.stored, o.Codec, out.perRow)
		out.groups, err = newGroupWriter(out.out, out.stored, props)
		return err
	})
	if out.out.err != nil {
		return nil, out.out.err
	}
	if err != nil {
		return nil, feature.Errorf(feature.CodeInvalidArgument, op, "", "schema cannot be written as Parquet: %w", err)
	}
	if err := out.appendMetadata(o); err != nil {
		return nil, err
	}
	out.bounds = make([]boundsBuilder, schema.NumFields())
	for i, f := range schema.Fields() {
		out.bounds[i] = newBoundsBuilder(f.Type)
	}
	return out, nil
}

func (w *Writer) appendMetadata(o WriterOptions) error {
	all := maps.Clone(o.Metadata)
	if all == nil {
		all = map[string]string{}
	}
	all[keyFormat] = format
	kept := w.schema
	if o.VectorsAsLists {
		kept = w.stored
	}
	all[keyArrowSchema] = base64.StdEncoding.EncodeToString(flight.SerializeSchema(kept, memory.DefaultAllocator))
	if len(o.SortedBy) > 0 {
		names, err := json.Marshal(o.SortedBy)
		if err != nil {
			return err
		}
		all[keySortedBy] = string(names)
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if err := w.groups.metadata(key, all[key]); err != nil {
			return err
		}
	}
	return nil
}

// writerProperties chooses what every reader reads: version 1 pages, PLAIN or
// dictionary. A dictionary pays for text and for integers, whose keys repeat in
// a sorted file; for floats and times it is built and thrown away. Statistics
// of the elements of a list say nothing to anyone, so they are left out.
func writerProperties(schema *arrow.Schema, codec Codec, groupRows int) *parquet.WriterProperties {
	options := []parquet.WriterProperty{
		parquet.WithVersion(parquet.V2_6),
		parquet.WithDataPageVersion(parquet.DataPageV1),
		parquet.WithCreatedBy(createdBy),
		parquet.WithMaxRowGroupLength(int64(groupRows)),
		parquet.WithCompression(compression(codec)),
		parquet.WithDictionaryDefault(false),
		parquet.WithDataPageSize(pageBytes),
	}
	for _, f := range schema.Fields() {
		switch f.Type.ID() { //nolint:exhaustive // every other type is written without a dictionary
		case arrow.STRING, arrow.BINARY, arrow.INT32, arrow.INT64:
			options = append(options, parquet.WithDictionaryFor(f.Name, true))
		default:
		}
	}
	return parquet.NewWriterProperties(options...)
}

// pageBytes is the size of data pages. What a page goes through on its way, its
// values, they with their levels, they compressed, then fits the processor's
// cache together, and the buffers serve the next page of the column.
const pageBytes = 240 << 10

func compression(c Codec) compress.Compression {
	switch c {
	case Snappy:
		return compress.Codecs.Snappy
	case Uncompressed:
		return compress.Codecs.Uncompressed
	case Zstd:
	}
	return compress.Codecs.Zstd
}

// Write appends the rows of a record. The record is retained until its rows are
// written, and must not change. A record whose rows break the order of SortedBy,
// within it or after the record before it, is an internal error that names the
// column and the row.
func (w *Writer) Write(rec arrow.Record) error {
	if w.err != nil {
		return w.err
	}
	w.err = w.write(rec)
	return w.err
}

func (w *Writer) write(rec arrow.Record) error {
	const op = "parquetio.Write"
	if !rec.Schema().Equal(w.schema) {
		return feature.Errorf(feature.CodeInternal, op, "", "record has schema %s where the file has %s", rec.Schema(), w.schema)
	}
	if err := checkNulls(rec); err != nil {
		return err
	}
	if err := w.order.check(rec, w.rows); err != nil {
		return err
	}
	for i, b := range w.bounds {
		if b != nil {
			b.add(rec.Column(i))
		}
	}
	w.rows += rec.NumRows()
	for at := int64(0); at < rec.NumRows(); {
		n := min(rec.NumRows()-at, int64(w.perRow-w.waiting))
		w.pending = append(w.pending, rec.NewSlice(at, at+n))
		w.waiting += int(n)
		at += n
		if w.waiting == w.perRow {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkNulls refuses a null in a column that declares to have none: the file
// would hold another value in its place.
func checkNulls(rec arrow.Record) error {
	for i, f := range rec.Schema().Fields() {
		if n := rec.Column(i).NullN(); n > 0 && !f.Nullable {
			return feature.Errorf(feature.CodeInternal, "parquetio.Write", "column "+f.Name, "%d nulls in a column that is not nullable", n)
		}
	}
	return nil
}

// flush writes the pending rows as one row group, column after column, so that
// no more than one encoded column is held besides them.
func (w *Writer) flush() error {
	err := guard(func() error {
		w.groups.begin()
		for i := range w.schema.NumFields() {
			if err := w.writeColumn(i); err != nil {
				return err
			}
		}
		return nil
	})
	w.release()
	return w.wrap(err)
}

func (w *Writer) writeColumn(i int) error {
	chunks := make([]arrow.Array, len(w.pending))
	defer func() {
		for _, arr := range chunks {
			if arr != nil {
				arr.Release()
			}
		}
	}()
	for j, rec := range w.pending {
		arr, err := toStored(rec.Column(i), w.stored.Field(i).Type)
		if err != nil {
			return err
		}
		chunks[j] = arr
	}
	column := arrow.NewChunked(w.stored.Field(i).Type, chunks)
	defer column.Release()
	return w.groups.column(column)
}

func (w *Writer) release() {
	for _, rec := range w.pending {
		rec.Release()
	}
	w.pending, w.waiting = w.pending[:0], 0
}

// wrap gives an error its code. One of the sink keeps its own, and counts even
// where the Arrow module saw none.
func (w *Writer) wrap(err error) error {
	switch {
	case w.out.err != nil:
		return w.out.err
	case err == nil:
		return nil
	}
	return feature.Errorf(feature.CodeInternal, "parquetio.Write", "", "%w", err)
}

// Close writes what is pending and the footer, and sums up. A file without rows
// has no row group. Close does not close the sink. A second call returns an
// error.
func (w *Writer) Close() (Summary, error) {
	if w.err != nil {
		w.release()
		return Summary{}, w.err
	}
	if w.waiting > 0 {
		if w.err = w.flush(); w.err != nil {
			return Summary{}, w.err
		}
	}
	if err := w.wrap(guard(w.groups.close)); err != nil {
		w.err = err
		return Summary{}, err
	}
	w.err = feature.Errorf(feature.CodeInternal, "parquetio.Write", "", "the writer is closed")
	sum := Summary{Rows: w.rows, Bytes: w.out.n, Columns: map[string]ColumnStats{}}
	for i, b := range w.bounds {
		if b != nil {
			sum.Columns[w.schema.Field(i).Name] = b.stats()
		}
	}
	return sum, nil
}

// countingWriter counts what reached the sink, and keeps the sink's own error:
// the Arrow module writes pages without looking at it.
type countingWriter struct {
	w   io.Writer
	n   int64
	err error
}

func (c *countingWriter) Write(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	n, err := c.w.Write(p)
	c.n += int64(n)
	c.err = err
	return n, err
}
