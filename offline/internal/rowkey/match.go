package rowkey

import (
	"math"

	"github.com/granary-ml/granary/offline/pit"
)

// Match finds the rows of wanted keys in rows that are sorted by key. The
// ordinal of a group is the index of its key in wanted, which is sorted and
// distinct. Both sides are galloped through, so that the cost follows the
// smaller.
func (g *Grouped) Match(wanted *Keys, rows int) []pit.Group {
	if g.of == nil {
		return matchPrefixes(wanted.prefix, g.Keys.prefix)
	}
	var out []pit.Group
	start := g.starts(rows)
	i, k := 0, 0
	for i < g.Keys.Len() && k < wanted.Len() {
		i = g.Keys.seek(i, wanted, k)
		if i == g.Keys.Len() {
			break
		}
		if next := wanted.seek(k, &g.Keys, i); next > k {
			k = next
			continue
		}
		out = append(out, pit.Group{Key: int32(k), Start: start[i], End: start[i+1]})
		i++
		k++
	}
	return out
}

// starts returns where the rows of each key begin, and at the end their number.
func (g *Grouped) starts(rows int) []int32 {
	out := make([]int32, 0, g.Keys.Len()+1)
	for row := range rows {
		if int(g.of[row]) == len(out) {
			out = append(out, int32(row))
		}
	}
	return append(out, int32(rows)) //nolint:gosec // the rows of a block
}

func matchPrefixes(wanted, rows []uint64) []pit.Group {
	var out []pit.Group
	i, k := 0, 0
	for k < len(wanted) {
		i = pit.Seek(rows, i, wanted[k])
		if i == len(rows) {
			break
		}
		if rows[i] != wanted[k] {
			k = pit.Seek(wanted, k, rows[i])
			continue
		}
		end := len(rows) // of the largest key there is
		if wanted[k] != math.MaxUint64 {
			end = pit.Seek(rows, i, wanted[k]+1)
		}
		out = append(out, pit.Group{Key: int32(k), Start: int32(i), End: int32(end)}) //nolint:gosec // indices
		i = end
		k++
	}
	return out
}
