package offline

import (
	"math"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/internal/rowkey"
	"github.com/granary-ml/granary/offline/parquetio"
)

// predicate is what the rows of a read have in common. Files and row groups in
// which no row can have it are not read.
type predicate struct {
	// first and last bound the event timestamps, both included.
	first, last int64
	// created bounds the created timestamps, included.
	created int64
	// keys are the keys wanted; nil: all.
	keys *rowkey.Keys
}

// anything is the predicate of all rows.
func anything() predicate {
	return predicate{first: math.MinInt64, last: math.MaxInt64, created: math.MaxInt64}
}

// bounds is the least and the greatest value of a column; null: not known.
type bounds struct{ low, high feature.Value }

// rangeOf returns the bounds of a column.
type rangeOf func(column string) bounds

func statsRange(s delta.Stats) rangeOf {
	return func(column string) bounds {
		c := s.Columns[column]
		return bounds{low: c.Min, high: c.Max}
	}
}

func groupRange(f *parquetio.File, group int) rangeOf {
	return func(column string) bounds {
		c, _ := f.Range(group, column)
		return bounds{low: c.Min, high: c.Max}
	}
}

// mayHold tells whether rows in these bounds may have what the predicate asks.
func (p predicate) mayHold(v *feature.BoundView, r rangeOf) bool {
	event := r(v.EventColumn())
	if known(event.low, feature.TimestampType) && event.low.Int() > p.last ||
		known(event.high, feature.TimestampType) && event.high.Int() < p.first {
		return false
	}
	if p.created != math.MaxInt64 {
		if c := r(v.CreatedColumn()); known(c.low, feature.TimestampType) && c.low.Int() > p.created {
			return false
		}
	}
	if p.keys == nil || len(v.Keys) == 0 {
		return true
	}
	key := v.Keys[0]
	b := r(key.Name)
	if !known(b.low, key.Type) || !known(b.high, key.Type) {
		return true
	}
	return p.keys.AnyIn(feature.AppendKey(nil, b.low), successor(feature.AppendKey(nil, b.high)))
}

func known(v feature.Value, t feature.Type) bool { return !v.IsNull() && v.Type() == t }

// successor returns the least text that is above every text that begins with
// key; nil if there is none.
func successor(key []byte) []byte {
	for i := len(key) - 1; i >= 0; i-- {
		if key[i] != math.MaxUint8 {
			out := append([]byte{}, key[:i+1]...)
			out[i]++
			return out
		}
	}
	return nil
}
