package runs

import (
	"cmp"
	"context"
	"errors"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/internal/rowkey"
)

// merger merges runs: a heap of cursors, one per run, whose least row comes
// next. Rows are not moved one by one. The merger writes down which row of which
// batch comes next, and gathers a batch of them at a time.
type merger struct {
	schema    *arrow.Schema
	keys      []feature.JoinKey
	batchRows int

	heap    []*cursor
	all     []*cursor
	sources []arrow.Record // what the refs refer to
	refs    []gather.Ref
}

// source yields the batches of a run in order: nil at the end.
type source interface {
	next() (arrow.Record, error)
	close() error
}

// cursor is the place of the merge in one run.
type cursor struct {
	run    int // runs are numbered by arrival
	reader source
	rec    arrow.Record
	source int32 // of rec among the sources
	keys   rowkey.Grouped
	event  []int64
	create []int64
	row    int
	prefix uint64 // of the key of the row
}

// open puts the first batch of each run on the heap. The last run may be one
// that is in memory, or nil.
func (m *merger) open(paths []string, last source) error {
	if last != nil { // closed with the others, whatever fails
		m.all = append(m.all, &cursor{run: len(paths), reader: last})
	}
	for i, path := range paths {
		reader, err := openRun(path)
		if err != nil {
			return err
		}
		m.all = append(m.all, &cursor{run: i, reader: reader})
	}
	for _, c := range m.all {
		ok, err := m.load(c)
		if err != nil {
			return err
		}
		if ok {
			m.heap = append(m.heap, c)
		}
	}
	for i := len(m.heap)/2 - 1; i >= 0; i-- {
		m.sink(i)
	}
	return nil
}

// load reads the next batch of a run; false at its end.
func (m *merger) load(c *cursor) (bool, error) {
	rec, err := c.reader.next()
	if rec == nil || err != nil {
		return false, err
	}
	cols, times, err := keyColumns(rec, m.keys)
	if err != nil {
		return false, err
	}
	c.rec, c.row = rec, 0
	c.keys, c.event, c.create = cols.Group(), times[0], times[1]
	c.prefix = c.keys.Keys.Prefix(c.keys.Of(0))
	c.source = int32(len(m.sources)) //nolint:gosec // a few per run
	m.sources = append(m.sources, rec)
	return true, nil
}

// run yields the rows of all runs in order.
func (m *merger) run(ctx context.Context, yield func(arrow.Record, error) bool) error {
	m.refs = make([]gather.Ref, 0, m.batchRows)
	for len(m.heap) > 0 {
		c := m.heap[0]
		m.refs = append(m.refs, gather.Ref{Source: c.source, Row: int32(c.row)}) //nolint:gosec // a row of a batch
		if len(m.refs) == m.batchRows {
			if err := m.flush(ctx, yield); err != nil {
				return err
			}
		}
		if err := m.step(c); err != nil {
			return err
		}
	}
	return m.flush(ctx, yield)
}

// step moves the least cursor on by a row.
func (m *merger) step(c *cursor) error {
	c.row++
	if c.row == len(c.event) {
		ok, err := m.load(c)
		if err != nil {
			return err
		}
		if !ok {
			last := len(m.heap) - 1
			m.heap[0] = m.heap[last]
			m.heap = m.heap[:last]
		}
	} else {
		c.prefix = c.keys.Keys.Prefix(c.keys.Of(c.row))
	}
	m.sink(0)
	return nil
}

// sink restores the heap below i.
func (m *merger) sink(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(m.heap); child++ {
			if m.heap[child].before(m.heap[least]) {
				least = child
			}
		}
		if least == i {
			return
		}
		m.heap[i], m.heap[least] = m.heap[least], m.heap[i]
		i = least
	}
}

// before tells whether the row of c comes before that of d.
func (c *cursor) before(d *cursor) bool {
	if c.prefix != d.prefix {
		return c.prefix < d.prefix
	}
	if order := c.keys.Keys.Compare(c.keys.Of(c.row), &d.keys.Keys, d.keys.Of(d.row)); order != 0 {
		return order < 0
	}
	if order := cmp.Compare(c.event[c.row], d.event[d.row]); order != 0 {
		return order < 0
	}
	if order := cmp.Compare(c.create[c.row], d.create[d.row]); order != 0 {
		return order < 0
	}
	return c.run < d.run
}

// flush yields the rows that are written down, and forgets the batches that no
// cursor stands in any more.
func (m *merger) flush(ctx context.Context, yield func(arrow.Record, error) bool) error {
	if len(m.refs) == 0 {
		return nil
	}
	rec, err := gather.Record(ctx, m.schema, m.sources, m.refs)
	if err != nil {
		return err
	}
	m.refs = m.refs[:0]
	m.sources = m.sources[:0]
	for _, c := range m.heap {
		c.source = int32(len(m.sources)) //nolint:gosec // one per run
		m.sources = append(m.sources, c.rec)
	}
	if !yield(rec, nil) {
		return errStopped
	}
	return nil
}

func (m *merger) close() error {
	errs := make([]error, 0, len(m.all))
	for _, c := range m.all {
		errs = append(errs, c.reader.close())
	}
	return errors.Join(errs...)
}
