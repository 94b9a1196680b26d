package rowkey

import (
	"bytes"
	"math/bits"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Dict numbers distinct keys in the order in which they are first seen: a hash
// table of encodings that keeps their bytes together.
type Dict struct {
	keys  Keys
	sums  []uint64 // by key, its hash
	slots []int32  // 1 + the number of a key, 0 where free; a power of two
}

// Add returns the number of a key.
func (d *Dict) Add(key []byte) int32 {
	if 4*d.keys.Len() >= 3*len(d.slots) {
		d.grow()
	}
	sum := xxhash.Sum64(key)
	mask := uint64(len(d.slots) - 1) //nolint:gosec // at least one
	for at := sum & mask; ; at = (at + 1) & mask {
		slot := d.slots[at]
		if slot == 0 {
			d.keys.add(key)
			d.sums = append(d.sums, sum)
			d.slots[at] = int32(d.keys.Len()) //nolint:gosec // fewer keys than rows
			return d.slots[at] - 1
		}
		if d.sums[slot-1] == sum && bytes.Equal(d.keys.bytes(int(slot-1)), key) {
			return slot - 1
		}
	}
}

func (d *Dict) grow() {
	const fewest = 1024
	size := max(fewest, 2*len(d.slots))
	d.slots = make([]int32, 1<<bits.Len(uint(size-1)))
	mask := uint64(len(d.slots) - 1) //nolint:gosec // positive
	for i, sum := range d.sums {
		at := sum & mask
		for d.slots[at] != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = int32(i + 1)
	}
}

// Sorted returns the keys in order, and the rank of each by its number.
func (d *Dict) Sorted() (sorted Keys, rank []int32) {
	order := make([]int32, d.keys.Len())
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return d.keys.Compare(int(a), &d.keys, int(b)) })
	rank = make([]int32, len(order))
	sorted.data = make([]byte, 0, len(d.keys.data))
	for r, i := range order {
		rank[i] = int32(r)
		sorted.add(d.keys.bytes(int(i)))
	}
	return sorted, rank
}
