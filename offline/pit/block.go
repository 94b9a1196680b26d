package pit

import "fmt"

// Group names the rows [Start, End) of a block: those of the key with the
// ordinal Key.
type Group struct {
	Key        int32
	Start, End int32
}

// Block is a piece of the history, sorted by (key, event, created, position).
// Its slices are only read, and not kept after the call.
type Block struct {
	// Groups are the keys of the spine that the block knows, ascending by Key
	// and by Start; none is empty.
	Groups []Group
	// Event and Created are the times of all rows, in microseconds.
	Event, Created []int64
	// Position of row 0; row i has Position + i. Of rows that are equal in key
	// and times, the one of the larger position is newer.
	Position int64
}

// Check tells what is wrong with the order of the block: an unsorted block would
// give wrong answers silently. It costs a pass over the times of the groups.
func (b Block) Check() error {
	if len(b.Event) != len(b.Created) {
		return fmt.Errorf("%d event and %d created timestamps", len(b.Event), len(b.Created))
	}
	last := Group{Key: -1}
	for _, g := range b.Groups {
		if g.Key <= last.Key || g.Start < last.End || g.Start >= g.End || int(g.End) > len(b.Event) {
			return fmt.Errorf("group %v after group %v in a block of %d rows", g, last, len(b.Event))
		}
		for i := g.Start + 1; i < g.End; i++ {
			if b.Event[i-1] > b.Event[i] || b.Event[i-1] == b.Event[i] && b.Created[i-1] > b.Created[i] {
				return fmt.Errorf("row %d is older than the row before it", i)
			}
		}
		last = g
	}
	return nil
}
