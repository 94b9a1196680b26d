package parquetio

import (
	"cmp"
	"math"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
)

// boundsBuilder gathers the bounds of a column while it is written.
type boundsBuilder interface {
	add(arr arrow.Array)
	stats() ColumnStats
}

// newBoundsBuilder returns the builder for an Arrow type, nil where we keep no
// bounds: lists, and what is no type of a feature.
func newBoundsBuilder(t arrow.DataType) boundsBuilder {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return &orderedBounds[int32, *array.Boolean]{
			typ: feature.Bool,
			get: func(a *array.Boolean, i int) int32 { return int32(boolRank(a.Value(i))) }, //nolint:gosec // 0 or 1
			box: func(v int32) feature.Value { return feature.BoolValue(v != 0) },
		}
	case *arrow.Int32Type:
		return &orderedBounds[int32, *array.Int32]{typ: feature.Int32, get: (*array.Int32).Value, box: feature.Int32Value}
	case *arrow.Int64Type:
		return &orderedBounds[int64, *array.Int64]{typ: feature.Int64, get: (*array.Int64).Value, box: feature.Int64Value}
	case *arrow.Float32Type:
		return &floatBounds[*array.Float32]{
			typ: feature.Float32,
			get: func(a *array.Float32, i int) float64 { return float64(a.Value(i)) },
			box: func(v float64) feature.Value { return feature.Float32Value(float32(v)) },
		}
	case *arrow.Float64Type:
		return &floatBounds[*array.Float64]{typ: feature.Float64, get: (*array.Float64).Value, box: feature.Float64Value}
	case *arrow.StringType:
		return &orderedBounds[string, *array.String]{
			typ: feature.String, get: (*array.String).Value,
			box: func(v string) feature.Value { return feature.StringValue(strings.Clone(v)) },
		}
	case *arrow.BinaryType:
		return &orderedBounds[string, *array.Binary]{
			typ: feature.Bytes, get: (*array.Binary).ValueString,
			box: func(v string) feature.Value { return feature.BytesValue([]byte(v)) },
		}
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond {
			return &orderedBounds[arrow.Timestamp, *array.Timestamp]{
				typ: feature.TimestampType, get: (*array.Timestamp).Value,
				box: func(v arrow.Timestamp) feature.Value { return feature.TimestampValue(feature.Timestamp(v)) },
			}
		}
	}
	return nil
}

// orderedBounds are the bounds of values with a total order.
type orderedBounds[T cmp.Ordered, A arrow.Array] struct {
	typ      feature.Type
	get      func(A, int) T
	box      func(T) feature.Value
	min, max T
	any      bool
	nulls    int64
}

func (b *orderedBounds[T, A]) add(arr arrow.Array) {
	a, ok := arr.(A)
	if !ok {
		return
	}
	b.nulls += int64(arr.NullN())
	noNulls := arr.NullN() == 0
	for i := range arr.Len() {
		if !noNulls && arr.IsNull(i) {
			continue
		}
		v := b.get(a, i)
		switch {
		case !b.any:
			b.min, b.max, b.any = v, v, true
		case v < b.min:
			b.min = v
		case v > b.max:
			b.max = v
		}
	}
	if b.any {
		b.min, b.max = detach(b.min), detach(b.max)
	}
}

// detach copies text out of the record, which may go away.
func detach[T any](v T) T {
	if s, ok := any(v).(string); ok {
		if t, ok := any(strings.Clone(s)).(T); ok {
			return t
		}
	}
	return v
}

func (b *orderedBounds[T, A]) stats() ColumnStats {
	if !b.any {
		return ColumnStats{Min: feature.Null(b.typ), Max: feature.Null(b.typ), Nulls: b.nulls}
	}
	return ColumnStats{Min: b.box(b.min), Max: b.box(b.max), Nulls: b.nulls}
}

// floatBounds are the bounds of floats. Zeros count as -0.0 below and as 0.0
// above. Engines that order NaN put it above everything, so a column with a NaN
// has no upper bound that would hold for them.
type floatBounds[A arrow.Array] struct {
	typ      feature.Type
	get      func(A, int) float64
	box      func(float64) feature.Value
	min, max float64
	any, nan bool
	nulls    int64
}

func (b *floatBounds[A]) add(arr arrow.Array) {
	a, ok := arr.(A)
	if !ok {
		return
	}
	b.nulls += int64(arr.NullN())
	noNulls := arr.NullN() == 0
	if f, ok := arr.(*array.Float64); ok && noNulls {
		b.addAll(f.Float64Values())
		return
	}
	for i := range arr.Len() {
		if !noNulls && arr.IsNull(i) {
			continue
		}
		v := b.get(a, i)
		switch {
		case math.IsNaN(v):
			b.nan = true
		case !b.any:
			b.min, b.max, b.any = v, v, true
		case v < b.min:
			b.min = v
		case v > b.max:
			b.max = v
		}
	}
}

// addAll adds values without nulls. A comparison with a NaN is false, so that it
// changes no bound.
func (b *floatBounds[A]) addAll(values []float64) {
	low, high, nan := math.Inf(1), math.Inf(-1), false
	for _, v := range values {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		if v != v { // NaN
			nan = true
		}
	}
	b.nan = b.nan || nan
	switch {
	case b.any:
		b.min, b.max = min(b.min, low), max(b.max, high)
	case low <= high: // there is a number
		b.min, b.max, b.any = low, high, true
	}
}

func (b *floatBounds[A]) stats() ColumnStats {
	out := ColumnStats{Min: feature.Null(b.typ), Max: feature.Null(b.typ), Nulls: b.nulls}
	if b.any {
		out.Min = b.box(lowZero(b.min))
		if !b.nan {
			out.Max = b.box(highZero(b.max))
		}
	}
	return out
}

func lowZero(v float64) float64 {
	if v == 0 {
		return math.Copysign(0, -1)
	}
	return v
}

func highZero(v float64) float64 {
	if v == 0 {
		return 0
	}
	return v
}
