package offline

import (
	"context"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/internal/rowkey"
	"github.com/granary-ml/granary/offline/pit"
)

// ScanRequest selects rows of a table. The zero value is all of the newest
// version.
type ScanRequest struct {
	// Columns of the table, in the order wanted; none is all.
	Columns []string
	// Interval of event timestamps; the zero Interval is all.
	Interval feature.Interval
	// Keys of the entities wanted; nil is all.
	Keys []feature.EntityKey
	AsOf wire.AsOf
	// Shard of Shards, from 0: each row of one version is in exactly one of
	// them, the same one every time. Shards 0 is 1.
	Shard, Shards int
}

// Scan reads the rows of a table file by file, each sorted by (join keys, event
// timestamp, created timestamp). The schema is that of columns.TableSchema; a
// feature that a file does not know is null in its rows. The reader holds
// memory and goroutines until its end or its Release.
func (s *Store) Scan(ctx context.Context, v *feature.BoundView, req ScanRequest) (array.RecordReader, error) {
	t, err := s.open(ctx, v, req.AsOf)
	if err != nil {
		return nil, err
	}
	sc := &scan{table: t, req: req}
	if err := sc.plan(); err != nil {
		return nil, err
	}
	return newStream(sc.schema, yieldTo(func(give func(arrow.Record) error) error { return sc.run(ctx, give) })), nil
}

// scan is a scan that is being run.
type scan struct {
	table *table
	req   ScanRequest
	// cols are the columns wanted, all the columns that are read: those of the
	// order first.
	cols, all []int
	schema    *arrow.Schema
	where     predicate
}

// plan checks the request, every fault at once.
func (s *scan) plan() error {
	var faults []feature.Fault
	fields := s.table.schema.Fields()
	s.cols = upTo(len(fields))
	if len(s.req.Columns) > 0 {
		s.cols = nil
		seen := map[string]bool{}
		for _, name := range s.req.Columns {
			at := s.table.schema.FieldIndices(name)
			switch {
			case len(at) == 0:
				faults = append(faults, feature.Fault{Field: "columns", Detail: "there is no column " + name})
				continue
			case seen[name]:
				faults = append(faults, feature.Fault{Field: "columns", Detail: "column " + name + " is asked for twice"})
			}
			seen[name] = true
			s.cols = append(s.cols, at[0])
		}
	}
	if s.req.Shards < 0 || s.req.Shard < 0 || s.req.Shard >= max(s.req.Shards, 1) {
		faults = append(faults, feature.Fault{Field: "shard", Detail: "a shard is a number from 0 and below the number of shards"})
	}
	if err := feature.Invalid("offline.Scan", s.table.view.Subject(), faults); err != nil {
		return err
	}
	chosen := make([]arrow.Field, len(s.cols))
	for i, c := range s.cols {
		chosen[i] = fields[c]
	}
	s.schema = arrow.NewSchema(chosen, nil)
	s.where = anything()
	if s.req.Interval != (feature.Interval{}) {
		s.where.first = int64(s.req.Interval.Start)
		s.where.last = int64(s.req.Interval.End) - 1
		if s.req.Interval.End == math.MinInt64 {
			s.where.first, s.where.last = math.MaxInt64, math.MinInt64
		}
	}
	if s.req.Keys != nil {
		keys := rowkey.MakeKeys(s.table.view.Keys, s.req.Keys)
		s.where.keys = &keys
	}
	s.all = s.cols
	if s.filters() {
		s.all = s.table.orderColumns()
		for _, c := range s.cols {
			if c >= len(s.all) {
				s.all = append(s.all, c)
			}
		}
	}
	return nil
}

// filters tells whether rows are chosen one by one.
func (s *scan) filters() bool {
	return s.where.keys != nil || s.where.first != math.MinInt64 || s.where.last != math.MaxInt64
}

func (s *scan) run(ctx context.Context, give func(arrow.Record) error) error {
	units, err := s.units(ctx)
	if err != nil {
		return err
	}
	return readUnits(ctx, units, s.all, func(_ unit, p piece) error {
		rec, err := s.choose(ctx, p)
		if err != nil || rec.NumRows() == 0 {
			return err
		}
		return give(rec)
	})
}

// units are the row groups of the shard. They are dealt out before any is left
// out, so that a shard is the same whatever is asked of it.
func (s *scan) units(ctx context.Context) ([]unit, error) {
	where := s.where
	if s.req.Shards > 1 {
		where = anything()
	}
	all, err := s.table.units(ctx, where)
	if err != nil || s.req.Shards <= 1 {
		return all, err
	}
	var out []unit
	for i, u := range all {
		if i%s.req.Shards == s.req.Shard && s.where.mayHold(s.table.view, groupRange(u.file.pq, u.group)) {
			out = append(out, u)
		}
	}
	return out, nil
}

// choose takes the wanted rows and columns of a piece.
func (s *scan) choose(ctx context.Context, p piece) (arrow.Record, error) {
	if !s.filters() {
		return array.NewRecord(s.schema, p.rec.Columns(), p.rec.NumRows()), nil
	}
	arrays := make([]arrow.Array, len(s.cols))
	for i, c := range s.cols {
		for at, have := range s.all {
			if have == c {
				arrays[i] = p.rec.Column(at)
			}
		}
	}
	rec := array.NewRecord(s.schema, arrays, p.rec.NumRows())
	rows, err := s.rows(p)
	if err != nil || len(rows) == int(rec.NumRows()) {
		return rec, err
	}
	return gather.Record(ctx, s.schema, []arrow.Record{rec}, rows)
}

// rows are the rows of a piece that the predicate takes.
func (s *scan) rows(p piece) ([]gather.Ref, error) {
	f := dataFile{table: s.table}
	o, err := f.order(p.rec)
	if err != nil {
		return nil, err
	}
	groups := []pit.Group{{End: int32(o.keys.Len())}} //nolint:gosec // the rows of a piece
	if s.where.keys != nil {
		grouped := o.keys.Group()
		groups = grouped.Match(s.where.keys, o.keys.Len())
	}
	var out []gather.Ref
	for _, g := range groups {
		for row := g.Start; row < g.End; row++ {
			if event := o.event[row]; event >= s.where.first && event <= s.where.last {
				out = append(out, gather.Ref{Row: row})
			}
		}
	}
	return out, nil
}

// readUnits reads columns of units piece by piece, in order; units that are one
// piece are read ahead.
func readUnits(ctx context.Context, units []unit, cols []int, use func(u unit, p piece) error) error {
	ahead := func(ctx context.Context, i int) (piece, error) {
		u := units[i]
		if !u.file.small(u.group, cols) {
			return piece{}, nil
		}
		return u.file.readSmall(ctx, u.group, cols)
	}
	return inOrder(ctx, len(units), ahead, func(i int, p piece) error {
		u := units[i]
		if p.rec != nil {
			return use(u, p)
		}
		for p, err := range u.file.read(ctx, u.group, cols) {
			if err != nil {
				return err
			}
			if err := use(u, p); err != nil {
				return err
			}
		}
		return nil
	})
}
