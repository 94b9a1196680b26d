package parquetio

import (
	"context"
	"fmt"
	"iter"
	"math"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
)

// streamBlock is how much of a column Records reads at a time.
const streamBlock = 4 << 20

// ReadRowGroup reads columns of a row group as one record, in the order asked;
// nil columns are all, and a name may be asked for more than once. The record
// has exactly the rows that the footer says, or there is an error. It is the
// caller's. A column that is not in the file is not_found, one that cannot be
// read unsupported_media_type.
func (f *File) ReadRowGroup(ctx context.Context, rowGroup int, columns []string) (arrow.Record, error) {
	s, err := f.newScan(columns)
	if err != nil {
		return nil, err
	}
	rows := f.footer.groups[rowGroup].rows
	if rows > f.options.MaxGroupRows {
		return nil, f.fault("parquetio.ReadRowGroup", "", &limitError{
			fmt.Sprintf("row group %d of %d rows is larger than the limit of %d", rowGroup, rows, f.options.MaxGroupRows),
		})
	}
	if err := s.begin(rowGroup, math.MaxInt); err != nil {
		return nil, err
	}
	return s.next(ctx, int(rows), true)
}

// Records reads row groups in batches of bounded size, which do not cross row
// groups. The records are the caller's. After an error there is nothing more.
func (f *File) Records(ctx context.Context, o ScanOptions) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		if err := f.records(ctx, o, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (f *File) records(ctx context.Context, o ScanOptions, yield func(arrow.Record, error) bool) error {
	s, err := f.newScan(o.Columns)
	if err != nil {
		return err
	}
	groups := o.RowGroups
	if groups == nil {
		for i := range f.footer.groups {
			groups = append(groups, i)
		}
	}
	if o.BatchRows <= 0 {
		o.BatchRows = DefaultBatchRows
	}
	for _, g := range groups {
		if err := s.begin(g, streamBlock); err != nil {
			return err
		}
		for left := f.footer.groups[g].rows; left > 0; {
			n := min(left, int64(o.BatchRows))
			left -= n
			rec, err := s.next(ctx, int(n), left == 0)
			if err != nil {
				return err
			}
			if !yield(rec, nil) {
				return nil
			}
		}
	}
	return nil
}

// scan reads some columns, one row group after the other.
type scan struct {
	f       *File
	nodes   []*node
	schema  *arrow.Schema
	leaves  []*leaf // of the nodes, each once
	readers []*chunkReader
	group   int
}

func (f *File) newScan(columns []string) (*scan, error) {
	nodes, schema, err := f.choose(columns)
	if err != nil {
		return nil, err
	}
	s := &scan{f: f, nodes: nodes, schema: schema}
	seen := map[int]bool{}
	for _, n := range nodes {
		for _, l := range n.leaves(nil) {
			if !seen[l.index] {
				seen[l.index] = true
				s.leaves = append(s.leaves, l)
			}
		}
	}
	return s, nil
}

// begin starts a row group. Nothing is read yet, but what the footer says of the
// columns is checked.
func (s *scan) begin(group, block int) error {
	g := &s.f.footer.groups[group]
	s.group = group
	s.readers = make([]*chunkReader, len(s.leaves))
	for i, l := range s.leaves {
		r, err := s.f.chunkReader(l, g, block)
		if err != nil {
			return s.fault(l, err)
		}
		s.readers[i] = r
	}
	return nil
}

func (s *scan) fault(l *leaf, err error) error {
	return s.f.fault("parquetio.Read", l.path, fmt.Errorf("row group %d: %w", s.group, err))
}

// chunkReader checks a column chunk against the schema, the file and what we
// support, before a byte of it is read.
func (f *File) chunkReader(l *leaf, g *rowGroup, block int) (*chunkReader, error) {
	c := &g.chunks[l.index]
	if err := checkSupport(l, c); err != nil {
		return nil, err
	}
	if c.typ != l.typ {
		return nil, fmt.Errorf("it is stored as %s, and the schema says %s", c.typ, l.typ)
	}
	if l.maxRep == 0 && c.values != g.rows {
		return nil, fmt.Errorf("it has %d values, and the row group %d rows", c.values, g.rows)
	}
	start := c.dataOffset
	if c.dictOffset > 0 && c.dictOffset < start {
		start = c.dictOffset
	}
	body := f.size - tailSize
	if start < 0 || c.packed < 0 || start > body || c.packed > body-start {
		return nil, fmt.Errorf("it lies at %d with %d bytes, outside the file of %d", start, c.packed, f.size)
	}
	end, old := start+c.packed, countsTooFew(f.footer.createdBy)
	if old {
		end = min(end+100, body)
	}
	return &chunkReader{
		leaf: l, chunk: c, old: old,
		pages: pageReader{
			win:   window{src: f.src, off: start, end: end, block: block},
			codec: c.codec, unpack: &f.unpack, limit: f.options.MaxPageBytes,
		},
	}, nil
}

// countsTooFew tells whether a writer left the dictionary's header out of the
// size of the chunk, as parquet-mr did before 1.2.9.
func countsTooFew(createdBy string) bool {
	v, ok := strings.CutPrefix(createdBy, "parquet-mr")
	if !ok {
		return false
	}
	v = strings.TrimPrefix(v, " version ")
	return v == "" || strings.HasPrefix(v, "1.0.") || strings.HasPrefix(v, "1.1.") || strings.HasPrefix(v, "1.2.")
}

func checkSupport(l *leaf, c *columnChunk) error {
	switch {
	case l.reason != "":
		return &unsupportedError{l.reason}
	case c.encrypted:
		return &unsupportedError{"it is encrypted"}
	case c.elsewhere:
		return &unsupportedError{"it is in another file"}
	case !c.codec.supported():
		return &unsupportedError{fmt.Sprintf("compression %s is not supported", c.codec)}
	}
	for _, e := range c.encodings {
		if e < encPlain || e > encByteStreamSplit || e == 1 {
			return &unsupportedError{fmt.Sprintf("encoding %d is not known", e)}
		}
	}
	return nil
}

// next decodes n rows more; last says that they are the rest of the row group.
func (s *scan) next(ctx context.Context, n int, last bool) (arrow.Record, error) {
	batches := make([]*leafBatch, len(s.f.leaves))
	err := s.parallel(len(s.leaves), func(i int) error {
		l := s.leaves[i]
		b := newLeafBatch(l, s.f.options.MaxDataBytes, n)
		batches[l.index] = b
		return s.fill(ctx, s.readers[i], b, n, last)
	})
	if err != nil {
		return nil, err
	}
	columns := make([]arrow.Array, len(s.nodes))
	for i, node := range s.nodes {
		err := guard(func() error {
			data, err := assemble(node, batches)
			if err != nil {
				return err
			}
			if data.Len() != n {
				return errShape
			}
			columns[i] = array.MakeFromData(data)
			return nil
		})
		if err != nil {
			return nil, s.f.fault("parquetio.Read", node.name, fmt.Errorf("row group %d: %w", s.group, err))
		}
	}
	return array.NewRecord(s.schema, columns, int64(n)), nil
}

// fill decodes exactly n rows of a leaf.
func (s *scan) fill(ctx context.Context, r *chunkReader, b *leafBatch, n int, last bool) error {
	err := guard(func() error {
		s.f.buffers.get(r)
		if err := r.read(ctx, b, n); err != nil {
			return err
		}
		if b.records != n {
			return fmt.Errorf("it has %d rows less than the footer says", n-b.records)
		}
		if !last {
			return nil
		}
		defer s.f.buffers.put(r)
		return r.finish(ctx)
	})
	if err != nil {
		return s.fault(r.leaf, err)
	}
	return nil
}

// buffers keeps the two buffers of a chunk, packed and unpacked, for the next
// one. The values are copied out of them, and to make them anew costs as much as
// to read into them.
type buffers struct{ pool sync.Pool }

type bufferPair struct{ packed, unpacked []byte }

// get lends buffers to a reader that has none yet.
func (b *buffers) get(r *chunkReader) {
	if r.borrowed != nil {
		return
	}
	pair, ok := b.pool.Get().(*bufferPair)
	if !ok {
		pair = &bufferPair{}
	}
	r.borrowed = pair
	r.pages.reuse = pair.unpacked
	// Only where the whole chunk is read at once is the buffer not replaced
	// while it is in use.
	if size := int(r.pages.win.end - r.pages.win.off); size <= r.pages.win.block {
		if cap(pair.packed) < size {
			pair.packed = make([]byte, size)
		}
		r.pages.win.spare = pair.packed
	}
}

// put takes the buffers of a reader back when it is at its end.
func (b *buffers) put(r *chunkReader) {
	r.borrowed.unpacked = r.pages.reuse
	b.pool.Put(r.borrowed)
	r.pages, r.dict, r.dec = pageReader{}, nil, nil
}

// parallel runs f for 0 to n-1 on the workers and waits for all. It returns the
// error of the smallest number, so that a file always gives the same one.
func (s *scan) parallel(n int, f func(i int) error) error {
	workers := min(s.f.options.Workers, n)
	if workers <= 1 {
		for i := range n {
			if err := f(i); err != nil {
				return err
			}
		}
		return nil
	}
	var (
		wg   sync.WaitGroup
		next atomic.Int64
		errs = make([]error, n)
	)
	for range workers {
		wg.Go(func() {
			for i := int(next.Add(1) - 1); i < n; i = int(next.Add(1) - 1) {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Range returns the bounds of a column in row group i. ok is false where the
// file has none, or where they cannot be trusted: of nested columns, decimals,
// dates, and of the old kind where its order is not that of the type. Bounds of
// timestamps are in microseconds, floored as the values are.
func (f *File) Range(i int, column string) (stats ColumnStats, ok bool) {
	n, err := f.column(column)
	if err != nil || n.leaf == nil {
		return ColumnStats{}, false
	}
	err = guard(func() error {
		stats, ok = f.chunkRange(n.leaf, &f.footer.groups[i].chunks[n.leaf.index])
		return nil
	})
	if err != nil {
		return ColumnStats{Min: feature.Value{}, Max: feature.Value{}, Nulls: -1}, false
	}
	return stats, ok
}
