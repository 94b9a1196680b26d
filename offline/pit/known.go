package pit

import "slices"

// The rule of known_at takes the newest row with event ≤ t and created ≤ t. The
// rows of a group are sorted by event, so the newest with event ≤ t is at hand,
// and mostly it was known by then; if not, the one before it was. Walking back
// is therefore what we do, as long as it is cheap.
//
// It is not where a whole history was loaded long after its events: every spine
// row would walk back over all rows, which is quadratic. A row is available from
// max(event, created) on and stays so. Sorted by that time, the rows join the
// race one by one as t grows, and the newest of those in the race is the one
// that stands last in the group: its largest index.

// availability is scratch for the rows of one group in the order in which they
// become available.
type availability struct {
	order []availableRow
}

type availableRow struct {
	from  int64 // max(event, created)
	index int
}

// walkBudget is how many steps back a spine row may take on average before the
// rest of the group is done by availability.
const walkBudget = 8

// addKnown is addGroup under known_at.
func (j *Join) addKnown(rows slice, lo, hi int32) {
	seen := 1
	budget := walkBudget * (int(hi-lo) + 8)
	for i := lo; i < hi; i++ {
		at := j.spine.at[i]
		seen = upperBoundFrom(rows.event, seen, at)
		r := seen - 1
		for r >= 0 && rows.created[r] > at && budget > 0 {
			r--
			budget--
		}
		if budget == 0 {
			j.addAvailable(rows, i, hi)
			return
		}
		if r >= 0 {
			j.offer(i, rows, r)
		}
	}
}

// addAvailable is addKnown in O(n log n) of the rows of the group.
func (j *Join) addAvailable(rows slice, lo, hi int32) {
	order := j.known.order[:0]
	for r := range rows.event {
		order = append(order, availableRow{from: max(rows.event[r], rows.created[r]), index: r})
	}
	slices.SortFunc(order, func(a, b availableRow) int {
		switch {
		case a.from < b.from:
			return -1
		case a.from > b.from:
			return 1
		}
		return a.index - b.index
	})
	j.known.order = order
	newest, next := -1, 0
	for i := lo; i < hi; i++ {
		for next < len(order) && order[next].from <= j.spine.at[i] {
			newest = max(newest, order[next].index)
			next++
		}
		if newest >= 0 {
			j.offer(i, rows, newest)
		}
	}
}
