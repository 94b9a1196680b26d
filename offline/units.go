package offline

import (
	"context"
	"math"
	"slices"

	"github.com/granary-ml/granary/feature"
)

// unit is a row group of a table that is read.
type unit struct {
	file  *dataFile
	group int
	// order is the place of the unit in the order of writing.
	order int64
	// latest bounds the event timestamps of the unit.
	latest int64
}

// units opens the files of a table in which a row may have what the predicate
// asks, and returns their row groups in the order of writing. A file is opened
// once, however many chunks of a spine it is read for.
func (t *table) units(ctx context.Context, p predicate) ([]unit, error) {
	var kept []int
	for i, f := range t.files {
		if f.Stats.Rows != 0 && p.mayHold(t.view, statsRange(f.Stats)) {
			kept = append(kept, i)
		}
	}
	var out []unit
	// A file is read with the context that it was opened with, so with the
	// caller's, which outlives the opening.
	if t.opened == nil {
		t.opened = make([]*dataFile, len(t.files))
	}
	open := func(_ context.Context, i int) (*dataFile, error) {
		if f := t.opened[kept[i]]; f != nil {
			return f, nil
		}
		f, err := t.file(ctx, kept[i])
		t.opened[kept[i]] = f
		return f, err
	}
	err := inOrder(ctx, len(kept), open, func(_ int, f *dataFile) error {
		out = append(out, f.units(p)...)
		return nil
	})
	for i := range out {
		out[i].order = int64(i)
	}
	return out, err
}

// units returns the row groups of a file in which a row may be wanted.
func (f *dataFile) units(p predicate) []unit {
	var out []unit
	for g := range f.pq.RowGroups() {
		r := groupRange(f.pq, g)
		if f.pq.RowGroupRows(g) == 0 || !p.mayHold(f.table.view, r) {
			continue
		}
		u := unit{file: f, group: g, latest: math.MaxInt64}
		if high := r(f.table.view.EventColumn()).high; known(high, feature.TimestampType) {
			u.latest = high.Int()
		}
		out = append(out, u)
	}
	return out
}

// newestFirst orders units so that those with the latest rows come first, as
// far as it helps: row groups of one file stay together, because a file sorted
// by key has rows of all times in each of them. It returns, by unit, the bound
// of the event timestamps from there on.
func newestFirst(units []unit) (latest []int64) {
	byFile := map[*dataFile]int64{}
	for _, u := range units {
		if v, ok := byFile[u.file]; !ok || u.latest > v {
			byFile[u.file] = u.latest
		}
	}
	slices.SortStableFunc(units, func(a, b unit) int {
		switch x, y := byFile[a.file], byFile[b.file]; {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	latest = make([]int64, len(units))
	bound := int64(math.MinInt64)
	for i := len(units) - 1; i >= 0; i-- {
		bound = max(bound, units[i].latest)
		latest[i] = bound
	}
	return latest
}
