package gather_test

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/internal/gather"
)

// types are all types of features.
func types() []feature.Type {
	scalars := []feature.Type{
		feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64,
		feature.String, feature.Bytes, feature.TimestampType,
	}
	all := append([]feature.Type{}, scalars...)
	for _, t := range scalars {
		all = append(all, feature.ListOf(t))
	}
	return append(all, feature.Vector(3))
}

// randomValue draws a value of a type, null one time in five.
func randomValue(r *rand.Rand, t feature.Type, nullable bool) feature.Value {
	if nullable && r.IntN(5) == 0 {
		return feature.Null(t)
	}
	switch {
	case t.List:
		return feature.ListValue(t, randomElems(r, t.Elem(), r.IntN(4), true))
	case t.IsVector():
		return feature.ListValue(t, randomElems(r, t.Elem(), int(t.Dim), false))
	}
	text := strconv.Itoa(r.IntN(1000))
	switch t.Kind {
	case feature.KindBool:
		return feature.BoolValue(r.IntN(2) == 0)
	case feature.KindInt32:
		return feature.Int32Value(r.Int32())
	case feature.KindInt64:
		return feature.Int64Value(r.Int64())
	case feature.KindFloat32:
		return feature.Float32Value(r.Float32())
	case feature.KindFloat64:
		return feature.Float64Value([]float64{r.Float64(), math.NaN(), math.Copysign(0, -1)}[r.IntN(3)])
	case feature.KindString:
		return feature.StringValue(text[:r.IntN(len(text)+1)])
	case feature.KindBytes:
		return feature.BytesValue([]byte(text))
	case feature.KindTimestamp:
		return feature.TimestampValue(feature.Timestamp(r.Int64N(1e15)))
	case feature.KindInvalid:
	}
	return feature.Null(t)
}

func randomElems(r *rand.Rand, t feature.Type, n int, nullable bool) []feature.Value {
	out := make([]feature.Value, n)
	for i := range out {
		out[i] = randomValue(r, t, nullable)
	}
	return out
}

// TestTake holds every type to the plain loop over values, from sources that
// are slices of larger arrays.
func TestTake(t *testing.T) {
	for _, typ := range types() {
		t.Run(typ.String(), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
				nullable := rapid.Bool().Draw(rt, "nullable")
				var sources []arrow.Array
				var values [][]feature.Value
				for range 1 + r.IntN(3) {
					all := randomElems(r, typ, 1+r.IntN(20), nullable)
					from := r.IntN(len(all))
					sources = append(sources, array.NewSlice(build(typ, all), int64(from), int64(len(all))))
					values = append(values, all[from:])
				}
				var refs []gather.Ref
				var want []feature.Value
				for range r.IntN(30) {
					s := r.IntN(len(sources))
					row := r.IntN(len(values[s]))
					if nullable && r.IntN(6) == 0 {
						refs, want = append(refs, gather.None()), append(want, feature.Null(typ))
						continue
					}
					refs = append(refs, gather.Ref{Source: int32(s), Row: int32(row)})
					want = append(want, values[s][row])
				}
				got, err := gather.Take(columns.DataType(typ), sources, refs)
				require.NoError(rt, err)
				require.Equal(rt, len(want), got.Len())
				for i := range want {
					v, err := columns.Value(got, i, typ)
					require.NoError(rt, err)
					require.True(rt, v.Equal(want[i]), "row %d: %v where %v is expected", i, v, want[i])
				}
			})
		})
	}
}

func build(t feature.Type, values []feature.Value) arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, columns.DataType(t))
	for _, v := range values {
		columns.Append(b, v)
	}
	return b.NewArray()
}

func TestTakeRefusesForeignTypes(t *testing.T) {
	_, err := gather.Take(arrow.FixedWidthTypes.Date32, nil, nil)
	require.ErrorContains(t, err, "date32 is not that of a feature")
}

// TestTakeRefusesOverflow gathers one large text until 32-bit offsets end.
func TestTakeRefusesOverflow(t *testing.T) {
	source := build(feature.Bytes, []feature.Value{feature.BytesValue(make([]byte, 1<<20))})
	_, err := gather.Take(arrow.BinaryTypes.Binary, []arrow.Array{source}, make([]gather.Ref, 2048))
	require.ErrorContains(t, err, "2047 rows hold more than 2147483647 bytes")
}

func TestRecord(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "b", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	const n = 10000
	refs := make([]gather.Ref, n)
	for i := range n {
		columns.Append(b.Field(0), feature.Int64Value(int64(i)))
		columns.Append(b.Field(1), feature.StringValue(strconv.Itoa(i)))
		refs[i] = gather.Ref{Row: int32(n - 1 - i)}
	}
	out, err := gather.Record(t.Context(), schema, []arrow.Record{b.NewRecord()}, refs)
	require.NoError(t, err)
	require.EqualValues(t, n, out.NumRows())
	require.Equal(t, "9999", out.Column(0).ValueStr(0))
	require.Equal(t, "0", out.Column(1).ValueStr(n-1))
}

// TestBytes counts the rows of slices, not the arrays behind them.
func TestBytes(t *testing.T) {
	for _, typ := range types() {
		r := rand.New(rand.NewPCG(1, 1))
		values := randomElems(r, typ, 100, false)
		values[0] = feature.Null(typ)
		arr := build(typ, values)
		schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arr.DataType(), Nullable: true}}, nil)
		whole := array.NewRecord(schema, []arrow.Array{arr}, 100)
		size := gather.Bytes(whole)
		require.Positive(t, size, typ)
		half := gather.Bytes(whole.NewSlice(0, 50)) + gather.Bytes(whole.NewSlice(50, 100))
		require.InDelta(t, size, half, 4, typ)
		require.Zero(t, gather.Bytes(whole.NewSlice(7, 7)), typ)
	}
	empty := build(feature.Bytes, []feature.Value{feature.BytesValue(nil)})
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: empty.DataType()}}, nil)
	require.Positive(t, gather.Bytes(array.NewRecord(schema, []arrow.Array{empty}, 1)))
}
