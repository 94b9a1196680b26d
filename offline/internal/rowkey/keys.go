package rowkey

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/granary-ml/granary/feature"
)

// Keys is a list of encoded keys. Each has a prefix, its first eight bytes as a
// big-endian integer, zeros behind the end: most comparisons end there.
type Keys struct {
	prefix []uint64
	// The bytes of all keys, one after the other, and where each ends; nil if
	// the prefixes are exact.
	ends []int
	data []byte
}

// MakeKeys returns a sorted list of distinct entity keys of the join keys.
func MakeKeys(join []feature.JoinKey, keys []feature.EntityKey) Keys {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	var out Keys
	exact := Exact(join)
	for _, k := range slices.Compact(sorted) {
		if exact {
			out.prefix = append(out.prefix, prefixOf([]byte(k)))
		} else {
			out.add([]byte(k))
		}
	}
	return out
}

// prefixOf returns the first eight bytes of a key as an integer.
func prefixOf(key []byte) uint64 {
	if len(key) >= exactBytes {
		return binary.BigEndian.Uint64(key)
	}
	var first [exactBytes]byte
	copy(first[:], key)
	return binary.BigEndian.Uint64(first[:])
}

// Len returns the number of keys.
func (k *Keys) Len() int { return len(k.prefix) }

// add appends a key that is not exact.
func (k *Keys) add(key []byte) {
	k.prefix = append(k.prefix, prefixOf(key))
	k.data = append(k.data, key...)
	k.ends = append(k.ends, len(k.data))
}

// bytes returns the encoding of key i; nil for exact keys.
func (k *Keys) bytes(i int) []byte {
	if k.ends == nil {
		return nil
	}
	start := 0
	if i > 0 {
		start = k.ends[i-1]
	}
	return k.data[start:k.ends[i]]
}

// Key returns key i; join are the join keys it is of.
func (k *Keys) Key(join []feature.JoinKey, i int) feature.EntityKey {
	if k.ends != nil {
		return feature.EntityKey(k.bytes(i))
	}
	var all [exactBytes]byte
	binary.BigEndian.PutUint64(all[:], k.prefix[i])
	return feature.EntityKey(all[:width(join)])
}

// Prefix returns the first eight bytes of key i: keys whose prefixes differ are
// in the order of the prefixes.
func (k *Keys) Prefix(i int) uint64 { return k.prefix[i] }

// Compare orders key i of k and key j of l, which are of the same join keys.
func (k *Keys) Compare(i int, l *Keys, j int) int {
	if c := cmp.Compare(k.prefix[i], l.prefix[j]); c != 0 || k.ends == nil {
		return c
	}
	return bytes.Compare(k.bytes(i), l.bytes(j))
}

// seek returns the first index from on whose key is not below key j of l, in a
// sorted list. It gallops: cheap if the answer is near.
func (k *Keys) seek(from int, l *Keys, j int) int {
	lo, step := from, 1
	for lo+step <= k.Len() && k.Compare(lo+step-1, l, j) < 0 {
		lo += step
		step *= 2
	}
	hi := min(lo+step-1, k.Len())
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if k.Compare(mid, l, j) < 0 {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// Grouped is the keys of rows: one per row if they are exact, else one per run
// of equal rows.
type Grouped struct {
	Keys Keys
	of   []int32 // by row, its key; nil: the row itself
}

// Of returns the index of the key of a row.
func (g *Grouped) Of(row int) int {
	if g.of == nil {
		return row
	}
	return int(g.of[row])
}

// Group encodes the keys of rows that are sorted, or at least mostly lie beside
// their equals.
func (c *Columns) Group() Grouped {
	if c.Exact() {
		return Grouped{Keys: Keys{prefix: c.Prefixes(nil)}}
	}
	out := Grouped{of: make([]int32, c.rows)}
	var buf []byte
	for i := range c.rows {
		if i == 0 || !c.same(i-1, i) {
			buf = c.Append(buf[:0], i)
			out.Keys.add(buf)
		}
		out.of[i] = int32(out.Keys.Len() - 1) //nolint:gosec // fewer than rows
	}
	return out
}
