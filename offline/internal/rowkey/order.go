package rowkey

import (
	"cmp"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// item is a row that is being sorted.
type item struct {
	key   uint64
	event int64
	row   int32
}

// Order returns the rows in the order of (key, event, created, row). Created
// may be nil. Rows that are in order already cost one pass.
//
// The rows are dealt out by the highest bits in which their keys differ, and what
// lies in one place is sorted on its own, on all cores. The keys go through a
// radix sort that looks only at the bytes in which they differ. What is left are
// the rows of one key, mostly few, which are sorted by time.
func Order(keys []uint64, event, created []int64) []int32 {
	out := make([]int32, len(keys))
	if inOrder(keys, event, created) {
		for i := range out {
			out[i] = int32(i)
		}
		return out
	}
	items, starts := deal(keys, event)
	spare := make([]item, len(keys))
	sortPlace := func(d int) {
		lo, hi := starts[d], starts[d+1]
		s := sorter{created: created, spare: spare[lo:hi]}
		s.sort(items[lo:hi], out[lo:hi])
	}
	const fewRows = 1 << 14 // cheaper than a goroutine
	workers := runtime.GOMAXPROCS(0)
	if len(keys) < fewRows {
		workers = 1
	}
	var next atomic.Int32
	var wg sync.WaitGroup
	work := func() {
		for d := next.Add(1) - 1; d < digits; d = next.Add(1) - 1 {
			sortPlace(int(d))
		}
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	return out
}

// deal makes the items, in places by the highest bits in which the keys differ,
// and returns where each place begins, and the end.
func deal(keys []uint64, event []int64) (items []item, starts [digits + 1]int) {
	differ := uint64(0)
	for _, k := range keys {
		differ |= k ^ keys[0]
	}
	shift := max(bits.Len64(differ)-bits.Len(digits-1), 0)
	var next [digits]int
	for _, k := range keys {
		next[k>>shift&(digits-1)]++
	}
	sum := 0
	for d, n := range &next {
		starts[d], next[d] = sum, sum
		sum += n
	}
	starts[digits] = sum
	items = make([]item, len(keys))
	for i, k := range keys {
		d := k >> shift & (digits - 1)
		items[next[d]] = item{key: k, event: event[i], row: int32(i)}
		next[d]++
	}
	return items, starts
}

// sort puts the rows of the items, which are in the order of their rows, into
// out.
func (s *sorter) sort(items []item, out []int32) {
	const few = 64 // cheaper to compare than to count bytes
	if len(items) <= few {
		slices.SortFunc(items, func(a, b item) int {
			if a.key != b.key {
				return cmp.Compare(a.key, b.key)
			}
			return s.compare(a, b)
		})
	} else {
		items = s.byKey(items)
		for start := 0; start < len(items); {
			end := start + 1
			for end < len(items) && items[end].key == items[start].key {
				end++
			}
			s.byTime(items[start:end])
			start = end
		}
	}
	for i := range items {
		out[i] = items[i].row
	}
}

func inOrder(keys []uint64, event, created []int64) bool {
	for i := 1; i < len(keys); i++ {
		switch {
		case keys[i-1] != keys[i]:
			if keys[i-1] > keys[i] {
				return false
			}
		case event[i-1] != event[i]:
			if event[i-1] > event[i] {
				return false
			}
		case len(created) > 0 && created[i-1] > created[i]:
			return false
		}
	}
	return true
}

type sorter struct {
	created []int64
	spare   []item
}

const (
	digits = 256 // values of a byte
	top    = 64
)

// byKey sorts by key, stably, and returns the sorted items: the slice that was
// given or the spare one, which then is the other.
func (s *sorter) byKey(items []item) []item {
	if len(items) == 0 {
		return items
	}
	differ := uint64(0)
	for i := range items {
		differ |= items[i].key ^ items[0].key
	}
	for shift := 0; shift < top; shift += 8 {
		if differ>>shift&(digits-1) == 0 {
			continue
		}
		var starts [digits]int
		for i := range items {
			starts[items[i].key>>shift&(digits-1)]++
		}
		sum := 0
		for d := range starts {
			n := starts[d]
			starts[d] = sum
			sum += n
		}
		spare := s.spare[:len(items)]
		for i := range items {
			d := items[i].key >> shift & (digits - 1)
			spare[starts[d]] = items[i]
			starts[d]++
		}
		items, s.spare = spare, items
	}
	return items
}

// byTime sorts the rows of one key, which are in the order of their rows.
func (s *sorter) byTime(items []item) {
	const (
		few  = 24   // insertion sort
		many = 2048 // radix sort
	)
	switch {
	case len(items) <= few:
		for i := 1; i < len(items); i++ {
			it := items[i]
			j := i
			for ; j > 0 && s.compare(it, items[j-1]) < 0; j-- {
				items[j] = items[j-1]
			}
			items[j] = it
		}
	case len(items) < many:
		slices.SortFunc(items, s.compare)
	default:
		s.manyByTime(items)
	}
}

func (s *sorter) compare(a, b item) int {
	if a.event != b.event {
		return cmp.Compare(a.event, b.event)
	}
	if s.created != nil {
		if c := cmp.Compare(s.created[a.row], s.created[b.row]); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.row, b.row)
}

// manyByTime sorts by radix: the event timestamp takes the place of the key,
// which is the same for all. Rows of one event are sorted on their own.
func (s *sorter) manyByTime(items []item) {
	key := items[0].key
	for i := range items {
		items[i].key = uint64(items[i].event) ^ 1<<63 //nolint:gosec // the bits
	}
	spare := sorter{created: s.created, spare: make([]item, len(items))}
	sorted := spare.byKey(items)
	copy(items, sorted)
	for start := 0; start < len(items); {
		end := start + 1
		for end < len(items) && items[end].event == items[start].event {
			end++
		}
		if end-start > 1 {
			slices.SortFunc(items[start:end], s.compare)
		}
		start = end
	}
	for i := range items {
		items[i].key = key
	}
}
