package rowkey

import (
	"bytes"
	"slices"
)

// Numbering gives the keys of unsorted rows numbers in the order of the keys:
// two rows have the same number if and only if they have the same key.
type Numbering struct {
	// Numbers has one entry per row of all columns, one after the other.
	Numbers []uint64
	sorted  Keys // the key of each number; empty if the numbers are exact keys
	exact   bool
}

// Number numbers the rows of columns of the same join keys.
func Number(all []Columns) Numbering {
	rows := 0
	for i := range all {
		rows += all[i].Len()
	}
	out := Numbering{Numbers: make([]uint64, 0, rows), exact: len(all) == 0 || all[0].Exact()}
	if out.exact {
		var prefixes []uint64
		for i := range all {
			prefixes = all[i].Prefixes(prefixes)
			out.Numbers = append(out.Numbers, prefixes...)
		}
		return out
	}
	var dict Dict
	var buf []byte
	for i := range all {
		for row := range all[i].Len() {
			buf = all[i].Append(buf[:0], row)
			out.Numbers = append(out.Numbers, uint64(dict.Add(buf))) //nolint:gosec // not negative
		}
	}
	sorted, rank := dict.Sorted()
	for i, n := range out.Numbers {
		out.Numbers[i] = uint64(rank[n]) //nolint:gosec // not negative
	}
	out.sorted = sorted
	return out
}

// AppendKey appends the key of a number to a list.
func (n *Numbering) AppendKey(list *Keys, number uint64) {
	if n.exact {
		list.prefix = append(list.prefix, number)
		return
	}
	list.add(n.sorted.bytes(int(number))) //nolint:gosec // a rank
}

// AnyIn tells whether a sorted list has a key from low on and before high, two
// encodings or beginnings of encodings; without high there is no end.
func (k *Keys) AnyIn(low, high []byte) bool {
	lo, hi := 0, k.Len()
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if k.compareTo(mid, low) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo < k.Len() && (high == nil || k.compareTo(lo, high) < 0)
}

func (k *Keys) compareTo(i int, key []byte) int {
	if p := prefixOf(key); k.ends == nil {
		// Exact keys all have one length, so that a shorter bound is one with
		// zeros behind it.
		switch {
		case k.prefix[i] < p:
			return -1
		case k.prefix[i] > p:
			return 1
		}
		return 0
	}
	return bytes.Compare(k.bytes(i), key)
}

// Sorted tells whether the keys ascend, as those of a sorted file do.
func (g *Grouped) Sorted() bool {
	if g.Keys.ends == nil {
		return slices.IsSorted(g.Keys.prefix)
	}
	for i := 1; i < g.Keys.Len(); i++ {
		if g.Keys.Compare(i-1, &g.Keys, i) > 0 {
			return false
		}
	}
	return true
}

// Starts returns where the rows of each key begin, and at the end the number of
// rows.
func (g *Grouped) Starts(rows int) []int32 {
	if g.of != nil {
		return g.starts(rows)
	}
	out := make([]int32, 0, rows/2+2)
	for row, p := range g.Keys.prefix {
		if row == 0 || p != g.Keys.prefix[row-1] {
			out = append(out, int32(row))
		}
	}
	return append(out, int32(rows)) //nolint:gosec // the rows of a block
}
