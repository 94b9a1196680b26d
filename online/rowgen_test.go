package online_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online/onlinetest"
)

// scalars are the scalar types.
var scalars = []feature.Type{
	feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64,
	feature.String, feature.Bytes, feature.TimestampType,
}

// drawType draws a type of a feature.
func drawType(t *rapid.T) feature.Type {
	scalar := rapid.SampledFrom(scalars).Draw(t, "scalar")
	switch rapid.IntRange(0, 3).Draw(t, "shape") {
	case 0:
		return feature.ListOf(scalar)
	case 1:
		return feature.Vector(rapid.Uint32Range(1, 5).Draw(t, "dim"))
	}
	return scalar
}

// drawValue draws a value of a type, a null among them.
func drawValue(t *rapid.T, typ feature.Type) feature.Value {
	if rapid.IntRange(0, 3).Draw(t, "null") == 0 {
		return feature.Null(typ)
	}
	switch {
	case typ.List:
		elems := make([]feature.Value, rapid.IntRange(0, 20).Draw(t, "length"))
		for i := range elems {
			elems[i] = drawValue(t, typ.Elem())
		}
		return feature.ListValue(typ, elems)
	case typ.IsVector():
		elems := make([]feature.Value, typ.Dim)
		for i := range elems {
			elems[i] = feature.Float32Value(drawFloat32(t))
		}
		return feature.ListValue(typ, elems)
	}
	return drawScalar(t, typ.Kind)
}

func drawFloat32(t *rapid.T) float32 { return math.Float32frombits(rapid.Uint32().Draw(t, "bits")) }

func drawScalar(t *rapid.T, k feature.Kind) feature.Value {
	switch k {
	case feature.KindBool:
		return feature.BoolValue(rapid.Bool().Draw(t, "bool"))
	case feature.KindInt32:
		return feature.Int32Value(rapid.Int32().Draw(t, "int32"))
	case feature.KindInt64:
		return feature.Int64Value(rapid.Int64().Draw(t, "int64"))
	case feature.KindFloat32:
		return feature.Float32Value(drawFloat32(t))
	case feature.KindFloat64:
		return feature.Float64Value(math.Float64frombits(rapid.Uint64().Draw(t, "bits")))
	case feature.KindString:
		return feature.StringValue(rapid.String().Draw(t, "string"))
	case feature.KindBytes:
		return feature.BytesValue(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))
	case feature.KindTimestamp:
		return feature.TimestampValue(drawTime(t))
	case feature.KindInvalid:
	}
	return feature.Value{}
}

func drawTime(t *rapid.T) feature.Timestamp {
	return feature.Timestamp(rapid.Int64Range(int64(feature.MinTimestamp), int64(feature.MaxTimestamp)).Draw(t, "time"))
}

// drawnRow is a row of a view with random columns.
type drawnRow struct {
	view           onlinetest.View
	values         []feature.Value
	event, created feature.Timestamp
}

func drawRow(tb testing.TB, t *rapid.T) drawnRow {
	tb.Helper()
	types := make([]feature.Type, rapid.IntRange(0, 20).Draw(t, "slots"))
	row := drawnRow{values: make([]feature.Value, len(types)), event: drawTime(t), created: drawTime(t)}
	for i := range types {
		types[i] = drawType(t)
		row.values[i] = drawValue(t, types[i])
	}
	row.view = viewOf(tb, types)
	return row
}

// viewOf returns a view with features f0, f1, … of the types.
func viewOf(tb testing.TB, types []feature.Type) onlinetest.View {
	tb.Helper()
	features := make([]string, len(types))
	for i, t := range types {
		features[i] = "f" + strings.Repeat("x", i) + " " + t.String()
	}
	return onlinetest.MakeView(tb, 1, []string{"k int64"}, features)
}

// pack packs the row.
func (r drawnRow) pack(tb testing.TB) []byte {
	tb.Helper()
	packed, err := r.view.Append(nil, r.event, r.created, r.values)
	require.NoError(tb, err)
	return packed
}

// types returns the types of the slots.
func (r drawnRow) types() []feature.Type { return slices.Clone(r.view.SlotTypes) }
