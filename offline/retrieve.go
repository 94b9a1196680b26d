package offline

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/pit"
)

// answer joins one chunk and gives it away in batches.
func (h *historical) answer(ctx context.Context, records []arrow.Record, give func(arrow.Record) error) error {
	rows := int64(0)
	for _, rec := range records {
		rows += rec.NumRows()
	}
	spines := make([]*keySpine, len(h.keys))
	results := make([]taken, len(h.views))
	for i, w := range h.views {
		if spines[w.keys] == nil {
			s, err := h.makeKeySpine(records, h.keys[w.keys])
			if err != nil {
				return err
			}
			spines[w.keys] = s
		}
		var err error
		if results[i], err = h.retrieve(ctx, w, spines[w.keys], int(rows)); err != nil {
			return err
		}
	}
	return h.emit(ctx, records, results, give)
}

// retrieve joins a view to a chunk of the spine, in two passes: the first reads
// keys and times and decides, the second reads the features of the row groups
// of which a row was taken.
func (h *historical) retrieve(ctx context.Context, w *viewJoin, s *keySpine, rows int) (taken, error) {
	if s.spine.Len() == 0 {
		return nothing(w, rows), nil
	}
	units, err := w.table.units(ctx, h.where(w, s))
	if err != nil {
		return taken{}, err
	}
	if len(units) == 0 {
		return nothing(w, rows), nil
	}
	if len(units) > math.MaxInt32 {
		return taken{}, feature.Errorf(feature.CodeTooLarge, "offline.Historical", w.view.Subject(), "%d row groups in one join", len(units))
	}
	byOrder := slices.Clone(units)
	join, err := h.joinUnits(ctx, w, s, units)
	if err != nil {
		return taken{}, err
	}
	return takeWinners(ctx, w, s, byOrder, join, rows)
}

// where is what the rows have in common that a chunk may be given.
func (h *historical) where(w *viewJoin, s *keySpine) predicate {
	p := anything()
	p.first = int64(w.view.TTL.Oldest(feature.Timestamp(s.first)))
	p.last = s.last
	p.keys = &s.keys
	if h.req.KnownAt {
		p.created = s.last
	}
	return p
}

// joinUnits is the first pass.
func (h *historical) joinUnits(ctx context.Context, w *viewJoin, s *keySpine, units []unit) (*pit.Join, error) {
	latest := newestFirst(units)
	join := pit.NewJoin(s.spine, pit.Rule{TTL: w.view.TTL, KnownAt: h.req.KnownAt})
	cols := w.table.orderColumns()
	add := func(i int, b pit.Block) {
		join.Settle(feature.Timestamp(latest[i]))
		b.Position += position(units[i].order, 0)
		join.Add(b)
	}
	ahead := func(ctx context.Context, i int) (*pit.Block, error) {
		u := units[i]
		if !u.file.small(u.group, cols) {
			return nil, nil
		}
		p, err := u.file.readSmall(ctx, u.group, cols)
		if err != nil {
			return nil, err
		}
		b, err := u.file.block(p, &s.keys)
		return &b, err
	}
	err := inOrder(ctx, len(units), ahead, func(i int, b *pit.Block) error {
		if b != nil {
			add(i, *b)
			return nil
		}
		u := units[i]
		for p, err := range u.file.read(ctx, u.group, cols) {
			if err != nil {
				return err
			}
			b, err := u.file.block(p, &s.keys)
			if err != nil {
				return err
			}
			add(i, b)
		}
		return nil
	})
	return join, err
}

// A position is the place of a unit in the order of writing, and of a row in it.

const rowBits = 32

func position(order, row int64) int64 { return order<<rowBits | row }

// take reads rows of columns of a unit.
func (u unit) take(ctx context.Context, cols []int, schema *arrow.Schema, rows []int32) (arrow.Record, error) {
	var parts []arrow.Record
	for p, err := range u.file.read(ctx, u.group, cols) {
		if err != nil {
			return nil, err
		}
		end := p.first + p.rec.NumRows()
		n, _ := slices.BinarySearch(rows, int32(end)) //nolint:gosec // a row of a unit
		refs := make([]gather.Ref, n)
		for i, row := range rows[:n] {
			refs[i].Row = row - int32(p.first) //nolint:gosec // a row of a piece
		}
		rows = rows[n:]
		part, err := gather.Record(ctx, schema, []arrow.Record{p.rec}, refs)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
		if len(rows) == 0 {
			break
		}
	}
	if len(rows) > 0 {
		return nil, u.file.fault("of features", errors.New("the row group has fewer rows than its keys"))
	}
	return joinParts(ctx, schema, parts)
}

// joinParts puts records one below the other.
func joinParts(ctx context.Context, schema *arrow.Schema, parts []arrow.Record) (arrow.Record, error) {
	if len(parts) == 1 {
		return parts[0], nil
	}
	var refs []gather.Ref
	for source, part := range parts {
		for row := range part.NumRows() {
			refs = append(refs, gather.Ref{Source: int32(source), Row: int32(row)})
		}
	}
	return gather.Record(ctx, schema, parts, refs)
}

// emit gives the chunk away: slices of the spine's own records, and beside them
// the features.
func (h *historical) emit(ctx context.Context, records []arrow.Record, results []taken, give func(arrow.Record) error) error {
	const most = 65536
	step := min(max(h.store.o.MemoryLimit/(pieces*h.rowBytes()), 1), most)
	base := int64(0)
	for _, rec := range records {
		for start := int64(0); start < rec.NumRows(); start += step {
			end := min(start+step, rec.NumRows())
			features := make([][]arrow.Array, len(h.views))
			for i, w := range h.views {
				var err error
				features[i], err = results[i].features(ctx, base+start, base+end)
				if err != nil {
					return feature.Errorf(feature.CodeOf(err), "offline.Historical", w.view.Subject(), "%w", err)
				}
			}
			if err := give(h.batch(rec.NewSlice(start, end), features)); err != nil {
				return err
			}
		}
		base += rec.NumRows()
	}
	return nil
}

func (h *historical) batch(spine arrow.Record, features [][]arrow.Array) arrow.Record {
	arrays := slices.Clone(spine.Columns())
	for _, p := range h.place {
		arrays = append(arrays, features[p.view][p.column])
	}
	return array.NewRecord(h.schema, arrays, spine.NumRows())
}
