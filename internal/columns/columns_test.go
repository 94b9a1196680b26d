package columns_test

import (
	"math"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

var scalars = []feature.Type{
	feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes, feature.TimestampType,
}

func scalarValue(t feature.Type, i int) feature.Value {
	switch t.Kind {
	case feature.KindBool:
		return feature.BoolValue(i%2 == 0)
	case feature.KindInt32:
		return feature.Int32Value(math.MinInt32 + int32(i))
	case feature.KindInt64:
		return feature.Int64Value(9007199254740993 + int64(i))
	case feature.KindFloat32:
		return feature.Float32Value([]float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Copysign(0, -1)), 0.1}[i%4])
	case feature.KindFloat64:
		return feature.Float64Value([]float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1), 0.1}[i%4])
	case feature.KindString:
		return feature.StringValue([]string{"", "é", "a\x00b"}[i%3])
	case feature.KindBytes:
		return feature.BytesValue([]byte{0xff, byte(i)})
	case feature.KindTimestamp:
		return feature.TimestampValue(feature.MinTimestamp + feature.Timestamp(i))
	case feature.KindInvalid:
	}
	return feature.Value{}
}

// values returns twelve values of a type, every third one null.
func values(t feature.Type) []feature.Value {
	out := make([]feature.Value, 12)
	for i := range out {
		switch {
		case i%3 == 1:
			out[i] = feature.Null(t)
		case t.IsScalar():
			out[i] = scalarValue(t, i)
		default:
			n := i % 4
			if t.IsVector() {
				n = int(t.Dim)
			}
			elems := make([]feature.Value, n)
			for j := range elems {
				elems[j] = scalarValue(t.Elem(), i+j)
				if t.List && j == 1 {
					elems[j] = feature.Null(t.Elem())
				}
			}
			out[i] = feature.ListValue(t, elems)
		}
	}
	return out
}

func build(t feature.Type, in []feature.Value) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, columns.DataType(t))
	for _, v := range in {
		columns.Append(b, v)
	}
	return b.NewArray()
}

// TestRoundTrip is T12 for every type: exact, nulls stay nulls, also in lists,
// and a slice of an array gives the values of its own rows.
func TestRoundTrip(t *testing.T) {
	types := append([]feature.Type{feature.Vector(1), feature.Vector(3)}, scalars...)
	for _, s := range scalars {
		types = append(types, feature.ListOf(s))
	}
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			in := values(typ)
			arr := build(typ, in)
			require.Equal(t, len(in), arr.Len())
			require.True(t, arrow.TypeEqual(columns.DataType(typ), arr.DataType()))
			rapid.Check(t, func(rt *rapid.T) {
				from := rapid.IntRange(0, len(in)).Draw(rt, "from")
				to := rapid.IntRange(from, len(in)).Draw(rt, "to")
				slice := array.NewSlice(arr, int64(from), int64(to))
				for i := range slice.Len() {
					got, err := columns.Value(slice, i, typ)
					require.NoError(rt, err)
					require.True(rt, in[from+i].Equal(got), "row %d: %s is read as %s", from+i, in[from+i], got)
				}
			})
		})
	}
}

func TestTableSchema(t *testing.T) {
	v := &feature.BoundView{
		View: feature.View{
			Name: "stats", CreatedTimestamp: "known",
			Features: []feature.Feature{{Name: "trips", Type: feature.ListOf(feature.Int64)}, {Name: "profile", Type: feature.Vector(2)}},
		},
		Keys: []feature.JoinKey{{Name: "driver_id", Type: feature.Int32}},
	}
	schema := columns.TableSchema(v)
	want := []string{
		"driver_id: type=int32", "event_timestamp: type=timestamp[us, tz=UTC]", "known: type=timestamp[us, tz=UTC]",
		"trips: type=list<element: int64, nullable>, nullable", "profile: type=fixed_size_list<element: float32>[2], nullable",
	}
	require.Equal(t, len(want), schema.NumFields())
	for i, f := range schema.Fields() {
		require.Equal(t, want[i], f.String())
		require.Equal(t, v.Columns()[i], f.Name)
	}
}

func TestValueRefusesOtherArrays(t *testing.T) {
	b := array.NewUint8Builder(memory.DefaultAllocator)
	b.Append(1)
	_, err := columns.Value(b.NewArray(), 0, feature.Int64)
	require.ErrorContains(t, err, "arrow type uint8 where int64 is expected")
}
