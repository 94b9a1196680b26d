package parquetio

import (
	"context"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/parquet"
	"github.com/apache/arrow/go/v17/parquet/file"
	"github.com/apache/arrow/go/v17/parquet/metadata"
	"github.com/apache/arrow/go/v17/parquet/pqarrow"
)

// groupWriter writes row groups, column after column.
type groupWriter interface {
	// begin starts a row group.
	begin()
	// column writes the next column of the group.
	column(data *arrow.Chunked) error
	metadata(key, value string) error
	close() error
}

func newGroupWriter(out *countingWriter, schema *arrow.Schema, props *parquet.WriterProperties) (groupWriter, error) {
	for _, f := range schema.Fields() {
		if _, nested := f.Type.(arrow.NestedType); nested {
			w, err := pqarrow.NewFileWriter(schema, out, props, pqarrow.DefaultWriterProps())
			return nestedGroups{w}, err
		}
	}
	return newFlatGroups(out, schema, props)
}

// nestedGroups leaves the levels of lists, structs and maps to the Arrow module.
type nestedGroups struct{ w *pqarrow.FileWriter }

func (n nestedGroups) begin() { n.w.NewRowGroup() }
func (n nestedGroups) metadata(key, value string) error {
	return n.w.AppendKeyValueMetadata(key, value)
}
func (n nestedGroups) close() error { return n.w.Close() }

func (n nestedGroups) column(data *arrow.Chunked) error {
	return n.w.WriteColumnChunked(data, 0, int64(data.Len()))
}

// flatGroups writes columns of plain values, whose levels are their validity.
// The Arrow module works these out for each chunk anew, and takes a column that
// may have nulls and has none for one within a structure that may be null, which
// costs it a bitmap and a walk over the values by its bits.
type flatGroups struct {
	w      *file.Writer
	group  file.SerialRowGroupWriter
	fields []arrow.Field
	next   int // the column
	props  pqarrow.ArrowWriterProperties
	levels []int16 // of the chunk that is being written
	ones   []int16 // of one without nulls
}

func newFlatGroups(out *countingWriter, schema *arrow.Schema, props *parquet.WriterProperties) (groupWriter, error) {
	g := &flatGroups{fields: schema.Fields(), props: pqarrow.DefaultWriterProps()}
	stored, err := pqarrow.ToParquet(schema, props, g.props)
	if err != nil {
		return nil, err
	}
	var kept metadata.KeyValueMetadata
	keys, values := schema.Metadata().Keys(), schema.Metadata().Values()
	for i, key := range keys {
		if err := kept.Append(key, values[i]); err != nil {
			return nil, err
		}
	}
	g.w = file.NewParquetWriter(out, stored.Root(), file.WithWriterProps(props), file.WithWriteMetadata(kept))
	return g, nil
}

func (g *flatGroups) metadata(key, value string) error { return g.w.AppendKeyValueMetadata(key, value) }

func (g *flatGroups) begin() { g.group, g.next = g.w.AppendRowGroup(), 0 }

func (g *flatGroups) column(data *arrow.Chunked) error {
	w, err := g.group.NextColumn()
	if err != nil {
		return err
	}
	nullable := g.fields[g.next].Nullable
	g.next++
	ctx := pqarrow.NewArrowWriteContext(context.Background(), &g.props)
	for _, chunk := range data.Chunks() {
		var levels []int16
		if nullable {
			levels = g.definition(chunk)
		}
		if err := pqarrow.WriteArrowToColumn(ctx, w, chunk, levels, nil, nullable); err != nil {
			return err
		}
	}
	return nil
}

// definition returns the definition levels of a chunk: 1 for a value, 0 for a
// null. They are good until the next call.
func (g *flatGroups) definition(chunk arrow.Array) []int16 {
	n := chunk.Len()
	if chunk.NullN() == 0 {
		for len(g.ones) < n {
			g.ones = append(g.ones, 1)
		}
		return g.ones[:n]
	}
	g.levels = g.levels[:0]
	bits, offset := chunk.NullBitmapBytes(), chunk.Data().Offset()
	for i := range n {
		level := int16(0)
		if len(bits) > 0 && bitutil.BitIsSet(bits, offset+i) {
			level = 1
		}
		g.levels = append(g.levels, level)
	}
	return g.levels
}

// close ends the last group, whose errors the module's own Close drops, and
// writes the footer.
func (g *flatGroups) close() error {
	if g.group != nil {
		if err := g.group.Close(); err != nil {
			return err
		}
	}
	return g.w.Close()
}
