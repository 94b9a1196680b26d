package pit

import (
	"fmt"

	"github.com/granary-ml/granary/feature"
)

// Spine is the entity rows that ask, sorted by the ordinal of their key and
// then by time. Rows without a key or a time match nothing: they are not part of
// it.
type Spine struct {
	at    []int64 // by row, µs
	first []int32 // by ordinal, its first row; and at the end the number of rows
}

// MakeSpine makes a spine of rows whose ordinals are given by where each begins:
// ordinal k has the rows from first[k] to first[k+1], and first ends with the
// number of rows. The times are microseconds as in feature.Timestamp, ascending
// within an ordinal. Both slices are kept.
func MakeSpine(first []int32, at []int64) (Spine, error) {
	if len(first) == 0 || first[0] != 0 || int(first[len(first)-1]) != len(at) {
		return Spine{}, fmt.Errorf("the ordinals do not cover the %d rows of the spine", len(at))
	}
	for k := range len(first) - 1 {
		if first[k] > first[k+1] {
			return Spine{}, fmt.Errorf("ordinal %d of the spine begins after its end", k)
		}
		for i := first[k] + 1; i < first[k+1]; i++ {
			if at[i-1] > at[i] {
				return Spine{}, fmt.Errorf("row %d of the spine is out of order", i)
			}
		}
	}
	return Spine{at: at, first: first}, nil
}

// Len returns the number of rows.
func (s Spine) Len() int { return len(s.at) }

// Keys returns the number of ordinals.
func (s Spine) Keys() int { return max(len(s.first)-1, 0) }

// Rows returns the rows of an ordinal, from start up to but without end.
func (s Spine) Rows(key int) (start, end int) { return int(s.first[key]), int(s.first[key+1]) }

// At returns the time of a row.
func (s Spine) At(row int) feature.Timestamp { return feature.Timestamp(s.at[row]) }
