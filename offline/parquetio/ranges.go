package parquetio

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
)

// chunkRange decodes the statistics of a chunk by the logical type. The bounds
// of today (min_value, max_value) hold where the footer declares the order of
// the column; those of old were compared as signed, so they are taken only of
// signed numbers.
func (f *File) chunkRange(l *leaf, c *columnChunk) (ColumnStats, bool) {
	typ, decode := boundsDecoder(l)
	out := ColumnStats{Min: feature.Null(typ), Max: feature.Null(typ), Nulls: c.stats.nulls}
	if decode == nil || l.reason != "" || c.encrypted || c.typ != l.typ {
		return out, false
	}
	low, high := c.stats.minVal, c.stats.maxVal
	if l.index >= len(f.footer.typedOrders) || !f.footer.typedOrders[l.index] {
		low, high = nil, nil
	}
	if low == nil && high == nil && signedNumber(l) {
		low, high = c.stats.min, c.stats.max
	}
	if low != nil {
		out.Min = decode(low, false)
	}
	if high != nil {
		out.Max = decode(high, true)
	}
	return out, !out.Min.IsNull() || !out.Max.IsNull() || out.Nulls >= 0
}

func signedNumber(l *leaf) bool {
	switch l.typ {
	case physicalInt32, physicalInt64, physicalFloat, physicalDouble:
		return l.logical.kind != logicalInt || l.logical.signed
	case physicalBool, physicalInt96, physicalBytes, physicalFixedBytes:
	}
	return false
}

// boundDecoder decodes a bound; upper says which. What cannot be a bound is
// null.
type boundDecoder func(raw []byte, upper bool) feature.Value

// boundsDecoder returns the feature type of a leaf's bounds and their decoder,
// nil where there are none.
func boundsDecoder(l *leaf) (feature.Type, boundDecoder) {
	switch l.node.typ.ID() { //nolint:exhaustive // the others have no type of ours
	case arrow.BOOL:
		return feature.Bool, func(raw []byte, _ bool) feature.Value {
			if len(raw) != 1 {
				return feature.Null(feature.Bool)
			}
			return feature.BoolValue(raw[0] != 0)
		}
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.UINT8, arrow.UINT16:
		return feature.Int32, fixed32(feature.Int32, func(v uint32) feature.Value {
			return feature.Int32Value(int32(v)) //nolint:gosec // the bits of a signed number
		})
	case arrow.UINT32:
		return feature.Int64, fixed32(feature.Int64, func(v uint32) feature.Value { return feature.Int64Value(int64(v)) })
	case arrow.INT64:
		return feature.Int64, fixed64(feature.Int64, func(v uint64) feature.Value {
			return feature.Int64Value(int64(v)) //nolint:gosec // the bits of a signed number
		})
	case arrow.TIMESTAMP:
		return feature.TimestampType, timestampBound(l)
	case arrow.FLOAT32:
		return feature.Float32, float32Bound
	case arrow.FLOAT64:
		return feature.Float64, float64Bound
	case arrow.STRING:
		return feature.String, func(raw []byte, _ bool) feature.Value { return feature.StringValue(string(raw)) }
	case arrow.BINARY:
		if l.logical.kind == logicalNone {
			return feature.Bytes, func(raw []byte, _ bool) feature.Value { return feature.BytesValue(raw) }
		}
	}
	return feature.Type{}, nil
}

func fixed32(t feature.Type, box func(uint32) feature.Value) boundDecoder {
	return func(raw []byte, _ bool) feature.Value {
		if len(raw) != 4 {
			return feature.Null(t)
		}
		return box(binary.LittleEndian.Uint32(raw))
	}
}

func fixed64(t feature.Type, box func(uint64) feature.Value) boundDecoder {
	return func(raw []byte, _ bool) feature.Value {
		if len(raw) != 8 {
			return feature.Null(t)
		}
		return box(binary.LittleEndian.Uint64(raw))
	}
}

// timestampBound converts to microseconds. A bound that does not fit is not
// known. INT96 has no order in the specification.
func timestampBound(l *leaf) boundDecoder {
	t, ok := l.node.typ.(*arrow.TimestampType)
	if !ok || l.typ != physicalInt64 {
		return nil
	}
	return fixed64(feature.TimestampType, func(bits uint64) feature.Value {
		v := int64(bits) //nolint:gosec // the bits of a signed number
		switch t.Unit {
		case arrow.Millisecond:
			if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
				return feature.Null(feature.TimestampType)
			}
			v *= 1000
		case arrow.Nanosecond:
			return feature.TimestampValue(feature.FromNanos(v))
		case arrow.Microsecond, arrow.Second:
		}
		return feature.TimestampValue(feature.Timestamp(v))
	})
}

func float32Bound(raw []byte, upper bool) feature.Value {
	if len(raw) != 4 {
		return feature.Null(feature.Float32)
	}
	v, ok := floatBound(float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), upper)
	if !ok {
		return feature.Null(feature.Float32)
	}
	return feature.Float32Value(float32(v))
}

func float64Bound(raw []byte, upper bool) feature.Value {
	if len(raw) != 8 {
		return feature.Null(feature.Float64)
	}
	v, ok := floatBound(math.Float64frombits(binary.LittleEndian.Uint64(raw)), upper)
	if !ok {
		return feature.Null(feature.Float64)
	}
	return feature.Float64Value(v)
}

// floatBound widens a zero to the side of the bound, because writers disagree on
// the order of the two zeros, and refuses a NaN, which bounds nothing.
func floatBound(v float64, upper bool) (float64, bool) {
	if upper {
		return highZero(v), !math.IsNaN(v)
	}
	return lowZero(v), !math.IsNaN(v)
}
