package ingest

import (
	"bytes"
	"context"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
)

// reader reads inputs as batches of a view's table.
type reader struct {
	*binding
	o     *Options
	bytes atomic.Int64 // read so far, packed
}

func (i *Ingester) reader(b *binding) *reader { return &reader{binding: b, o: &i.o} }

// batches yields the batches of an input in order; their rejections say where
// in the input they stand. It ends with the first error.
func (r *reader) batches(ctx context.Context, in *input) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		c, err := openContent(ctx, in, &r.bytes)
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = c.Close() }() // it was only read
		var rows, lines int64
		seq, header, err := r.format(ctx, c)
		if err != nil {
			yield(nil, c.fail(err))
			return
		}
		lines = header
		for b, err := range seq {
			if err != nil {
				yield(nil, c.fail(err))
				return
			}
			b.place(in.name, rows, lines)
			rows += b.read
			lines += b.lines
			if !yield(b, nil) {
				return
			}
		}
	}
}

// format starts reading an input by its format. header is how many lines stand
// before the first row.
func (r *reader) format(ctx context.Context, c *content) (seq iter.Seq2[*batch, error], header int64, err error) {
	switch c.in.format {
	case feature.FormatCSV:
		return r.csv(ctx, c)
	case feature.FormatNDJSON:
		seq, err = r.ndjson(ctx, c)
	case feature.FormatJSON:
		seq, err = r.json(ctx, c)
	case feature.FormatParquet:
		seq, err = r.parquet(ctx, c)
	case feature.FormatArrow:
		seq, err = r.arrow(ctx, c)
	case feature.FormatByName:
		err = feature.Errorf(feature.CodeInternal, "ingest", c.in.name, "the format was not settled")
	}
	return seq, 0, err
}

func (r *reader) chunker(text io.Reader, cut func([]byte) (int, bool)) *chunker {
	return &chunker{r: text, cut: cut, size: r.o.ChunkBytes, max: r.o.MaxRecordBytes}
}

// csv reads a header and then chunks of records, several at a time.
func (r *reader) csv(ctx context.Context, c *content) (seq iter.Seq2[*batch, error], header int64, err error) {
	text, err := c.text()
	if err != nil {
		return nil, 0, err
	}
	d := newDialect(r.binding.csv)
	chunks := r.chunker(text, d.recordsEnd)
	names, rest, err := chunks.header(d)
	if err != nil {
		return nil, 0, err
	}
	slots, err := r.resolve(c.in.name, names)
	switch {
	case err != nil && strings.HasPrefix(names[0], "{"), err != nil && strings.HasPrefix(names[0], "["):
		return nil, 0, c.notWhatItSays("JSON, by its first character")
	case err != nil:
		return nil, 0, err
	}
	header = chunks.line - int64(bytes.Count(rest, newline))
	next := func(context.Context) ([]byte, error) {
		if rest != nil {
			chunk := rest
			rest = nil
			return chunk, nil
		}
		return chunks.next()
	}
	pool := sync.Pool{New: func() any { return newCells(len(r.columns)) }}
	return ordered(ctx, next, func(_ context.Context, chunk []byte) (*batch, error) {
		cells, _ := pool.Get().(*cells)
		defer pool.Put(cells)
		d.split(chunk, slots, cells)
		out, err := r.decode(cells, slots)
		chunks.put(chunk)
		return out, err
	}), header, nil
}

// ndjson reads chunks of lines, several at a time.
func (r *reader) ndjson(ctx context.Context, c *content) (iter.Seq2[*batch, error], error) {
	text, err := c.lines()
	if err != nil {
		return nil, err
	}
	chunks := r.chunker(text, linesEnd)
	type scratch struct {
		cells    *cells
		splitter *jsonSplitter
	}
	members := r.members()
	pool := sync.Pool{New: func() any {
		return &scratch{cells: newCells(len(r.columns)), splitter: newJSONSplitter(members, r.exact)}
	}}
	next := func(context.Context) ([]byte, error) { return chunks.next() }
	return ordered(ctx, next, func(_ context.Context, chunk []byte) (*batch, error) {
		s, _ := pool.Get().(*scratch)
		defer pool.Put(s)
		s.splitter.split(chunk, s.cells)
		out, err := r.decode(s.cells, r.all())
		chunks.put(chunk)
		return out, err
	}), nil
}

// all says that every column that is taken may be in the input.
func (r *reader) all() []int {
	var slots []int
	for k := range r.columns {
		if r.taken(&r.columns[k]) {
			slots = append(slots, k)
		}
	}
	return slots
}

// decode turns a chunk of cells into a batch; slots are the columns of the
// table that the input has.
func (r *reader) decode(c *cells, slots []int) (*batch, error) {
	d := &decoded{rows: c.rows(), arrays: make([]arrow.Array, len(r.columns)), lines: countLines(c.buf), locate: c.locate}
	for _, k := range slots {
		if k >= 0 {
			d.arrays[k] = c.decode(k, r.columns[k].typ, k)
		}
	}
	d.faults = c.faults // those of the cells are among them
	return r.finish(d)
}

func countLines(buf []byte) int64 {
	n := int64(bytes.Count(buf, newline))
	if len(buf) > 0 && buf[len(buf)-1] != '\n' {
		n++
	}
	return n
}
