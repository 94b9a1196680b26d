package offline

import (
	"context"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/internal/gather"
)

// Mark is how far a materialization has come: it has seen the rows of the files
// up to a version whose event timestamps are before Through. The zero Mark has
// seen nothing.
type Mark struct {
	Version int64
	Through feature.Timestamp
}

// NewestRequest selects what Newest reads.
type NewestRequest struct {
	// After is what has been read before; the zero Mark is nothing.
	After Mark
	// Before bounds the event timestamps, exclusive.
	Before feature.Timestamp
	// Interval, if given, bounds the event timestamps, too.
	Interval *feature.Interval
	// Only, if not 0, is the version whose files alone are read: what one append
	// has added. No append makes version 0.
	Only int64
}

// NewestReader streams the rows that Newest selects.
type NewestReader struct {
	array.RecordReader
	rows    int64
	version int64
}

// TotalRows returns how many rows lie in the row groups that are read: at least
// as many as will come.
func (r *NewestReader) TotalRows() int64 { return r.rows }

// Version returns the version of the table that is read, -1 if there is none.
func (r *NewestReader) Version() int64 { return r.version }

// Newest reads the newest version of a table: of each file, in the order of
// writing, the newest row of each key that After has not seen and whose event
// timestamp is before Before. A reader that keeps, of the rows of a key, the
// newer by feature.Newer ends up with the state of the table. The schema is
// that of columns.TableSchema. A file whose order is not recorded may give
// several rows of a key.
func (s *Store) Newest(ctx context.Context, v *feature.BoundView, req NewestRequest) (*NewestReader, error) {
	t, err := s.open(ctx, v, wire.AsOf{})
	if err != nil {
		return nil, err
	}
	n := &newest{table: t, req: req}
	var units []unit
	for _, seen := range []bool{false, true} {
		part := *t
		part.files, part.opened = n.files(seen), nil
		more, err := part.units(ctx, n.where(seen))
		if err != nil {
			return nil, err
		}
		units = append(units, more...)
	}
	out := &NewestReader{version: t.version()}
	for _, u := range units {
		out.rows += u.file.pq.RowGroupRows(u.group)
	}
	out.RecordReader = newStream(t.schema, yieldTo(func(give func(arrow.Record) error) error { return n.run(ctx, units, give) }))
	return out, nil
}

// newest is a read of the newest rows that is being run.
type newest struct {
	table *table
	req   NewestRequest
	held  *heldRow
}

// seen tells whether the file had been read up to After.Through. One whose
// version is not known counts as new.
func (n *newest) seen(f tableFile) bool {
	return n.req.After != (Mark{}) && f.written > 0 && f.written <= n.req.After.Version
}

func (n *newest) files(seen bool) []tableFile {
	var out []tableFile
	for _, f := range n.table.files {
		if n.seen(f) == seen && (n.req.Only == 0 || n.req.Only == f.written) {
			out = append(out, f)
		}
	}
	return out
}

// where is what the rows of files have in common that were seen, or not.
func (n *newest) where(seen bool) predicate {
	p := anything()
	p.last = before(n.req.Before)
	if i := n.req.Interval; i != nil {
		p.first, p.last = int64(i.Start), min(p.last, before(i.End))
	}
	if seen {
		p.first = max(p.first, int64(n.req.After.Through))
	}
	return p
}

func before(t feature.Timestamp) int64 {
	if t == math.MinInt64 {
		return math.MinInt64
	}
	return int64(t) - 1
}

// candidates are the newest rows of the keys of a piece.
type candidates struct {
	piece       piece
	rows        []gather.Ref
	first, last string // the first and the last key
	// opens and closes tell whether the first and the last key have a row.
	opens, closes bool
}

// heldRow is the newest row of the last key of a piece, kept until it is known
// that the next piece of the file does not have a newer one.
type heldRow struct {
	file *dataFile
	key  string
	rec  arrow.Record
}

func (n *newest) run(ctx context.Context, units []unit, give func(arrow.Record) error) error {
	choose := func(ctx context.Context, i int) (*candidates, error) {
		u := units[i]
		if !u.file.small(u.group, n.table.orderColumns()) {
			return nil, nil
		}
		p, err := u.file.readSmall(ctx, u.group, n.table.orderColumns())
		if err != nil {
			return nil, err
		}
		c, err := n.choose(u, p)
		if err != nil || len(c.rows) == 0 || !u.file.small(u.group, upTo(n.table.schema.NumFields())) {
			return c, err
		}
		// Late: the features only of row groups that have a row to give.
		c.piece, err = u.file.readSmall(ctx, u.group, upTo(n.table.schema.NumFields()))
		return c, err
	}
	err := inOrder(ctx, len(units), choose, func(i int, c *candidates) error {
		u := units[i]
		if c != nil && (len(c.rows) == 0 || int(c.piece.rec.NumCols()) == n.table.schema.NumFields()) {
			return n.give(ctx, u, c, give)
		}
		for p, err := range u.file.read(ctx, u.group, upTo(n.table.schema.NumFields())) {
			if err != nil {
				return err
			}
			c, err := n.choose(u, p)
			if err != nil {
				return err
			}
			if err := n.give(ctx, u, c, give); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return n.flush(give)
}

// choose finds the newest row of each key of a piece that has the columns of the
// order first.
func (n *newest) choose(u unit, p piece) (*candidates, error) {
	o, err := u.file.order(p.rec)
	if err != nil {
		return nil, err
	}
	where := n.where(n.seen(u.file.tableFile))
	grouped := o.keys.Group()
	starts := grouped.Starts(o.keys.Len())
	out := &candidates{piece: p}
	for g := range len(starts) - 1 {
		row := int(starts[g+1]) - 1
		for row >= int(starts[g]) && o.event[row] > where.last {
			row--
		}
		found := row >= int(starts[g]) && o.event[row] >= where.first
		if found {
			out.rows = append(out.rows, gather.Ref{Row: int32(row)}) //nolint:gosec // a row of a piece
		}
		if g == 0 {
			out.opens = found
		}
		out.closes = found
	}
	if last := o.keys.Len() - 1; last >= 0 {
		out.first, out.last = string(o.keys.Append(nil, 0)), string(o.keys.Append(nil, last))
	}
	return out, nil
}

// give gives away the candidates of a piece, but for the row of its last key,
// and before them the row that is held from the piece before.
func (n *newest) give(ctx context.Context, u unit, c *candidates, give func(arrow.Record) error) error {
	if n.held != nil && n.held.file == u.file && n.held.key == c.first && c.opens {
		n.held.rec.Release()
		n.held = nil
	}
	if err := n.flush(give); err != nil || len(c.rows) == 0 {
		return err
	}
	rec, err := gather.Record(ctx, n.table.schema, []arrow.Record{c.piece.rec}, c.rows)
	if err != nil {
		return err
	}
	whole := rec.NumRows()
	if c.closes {
		whole--
		n.held = &heldRow{file: u.file, key: c.last, rec: rec.NewSlice(whole, whole+1)}
	}
	part := rec.NewSlice(0, whole)
	rec.Release()
	if whole == 0 {
		return nil
	}
	return give(part)
}

// flush gives away the row that is held.
func (n *newest) flush(give func(arrow.Record) error) error {
	if n.held == nil {
		return nil
	}
	rec := n.held.rec
	n.held = nil
	return give(rec)
}
