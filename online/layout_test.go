package online_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// TestLayoutRoundTrip: what is packed comes back, slot by slot, as a value and
// as JSON, and the same row always gives the same bytes.
func TestLayoutRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		row := drawRow(t, rt)
		packed := row.pack(t)
		require.NoError(rt, online.Check(packed))
		require.Equal(rt, packed, row.pack(t))
		version, err := online.VersionOf(packed)
		require.NoError(rt, err)
		require.Equal(rt, feature.Version{Event: row.event, Created: row.created}, version)
		for slot, want := range row.values {
			got, err := row.view.Value(packed, slot)
			require.NoError(rt, err)
			require.True(rt, want.Equal(got), "slot %d: %s, packed %s", slot, got, want)
			require.Equal(rt, want.IsNull(), online.IsNull(packed, slot))
			text, err := row.view.AppendJSON([]byte("x"), packed, slot)
			require.NoError(rt, err)
			require.Equal(rt, "x"+want.String(), string(text))
		}
	})
}

// TestLayoutGrows: a layout reads rows with fewer slots, whose missing features
// are null, and rows with more, as during an upgrade of several servers.
func TestLayoutGrows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		row := drawRow(t, rt)
		known := rapid.IntRange(0, len(row.values)).Draw(rt, "known")
		older := drawnRow{view: viewOf(t, row.types()[:known]), values: row.values[:known]}
		for slot, want := range row.values {
			got, err := row.view.Value(older.pack(t), slot)
			require.NoError(rt, err)
			if slot >= known {
				want = feature.Null(row.view.SlotTypes[slot])
			}
			require.True(rt, want.Equal(got), "newer layout, slot %d: %s where %s is expected", slot, got, want)
		}
		for slot, want := range older.values {
			got, err := older.view.Value(row.pack(t), slot)
			require.NoError(rt, err)
			require.True(rt, want.Equal(got), "older layout, slot %d: %s where %s is expected", slot, got, want)
		}
	})
}

// TestLayoutSlots: the order of the features is not the order of the slots, and
// a slot without a feature is null.
func TestLayoutSlots(t *testing.T) {
	v := &feature.BoundView{
		View: feature.View{Name: "f", Features: []feature.Feature{{Name: "c", Type: feature.String}, {Name: "a", Type: feature.String}}},
		ID:   1, Slots: []int{2, 0}, SlotTypes: []feature.Type{feature.String, feature.Int64, feature.String},
	}
	l := online.NewLayout(v)
	packed, err := l.Append(nil, 1, 2, []feature.Value{feature.StringValue("of c"), feature.StringValue("of a")})
	require.NoError(t, err)
	for slot, want := range []feature.Value{feature.StringValue("of a"), feature.Null(feature.Int64), feature.StringValue("of c")} {
		got, err := l.Value(packed, slot)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestLayoutAppendsBehind(t *testing.T) {
	v := viewOf(t, []feature.Type{feature.String, feature.ListOf(feature.String)})
	values := []feature.Value{feature.StringValue("text"), feature.ListValue(feature.ListOf(feature.String), []feature.Value{feature.StringValue("elem")})}
	alone, err := v.Append(nil, 1, 2, values)
	require.NoError(t, err)
	buf := bytes.Repeat([]byte{0xAA}, 300)[:3] // memory that is not clean
	behind, err := v.Append(buf, 1, 2, values)
	require.NoError(t, err)
	require.Equal(t, append([]byte{0xAA, 0xAA, 0xAA}, alone...), behind)
}

func TestLayoutRefuses(t *testing.T) {
	vector, list, text := feature.Vector(2), feature.ListOf(feature.Int64), feature.ListOf(feature.String)
	one := feature.Float32Value(1)
	for name, c := range map[string]struct {
		typ   feature.Type
		value feature.Value
		why   string
	}{
		"another type":         {feature.Int64, feature.Int32Value(1), "int32 where int64 is expected"},
		"vector too short":     {vector, feature.ListValue(vector, []feature.Value{one}), "a vector of 1 elements where vector<float32,2> is expected"},
		"null in a vector":     {vector, feature.ListValue(vector, []feature.Value{one, feature.Null(feature.Float32)}), "element 1 of a vector is null"},
		"element of the wrong": {list, feature.ListValue(list, []feature.Value{one}), "element 0 is of type float32 where int64 is expected"},
		"text not UTF-8":       {feature.String, feature.StringValue("a\xff"), "not UTF-8"},
		"element not UTF-8":    {text, feature.ListValue(text, []feature.Value{feature.StringValue("\xff")}), "element 0 is text that is not UTF-8"},
	} {
		out, err := viewOf(t, []feature.Type{c.typ}).Append([]byte("before"), 1, 2, []feature.Value{c.value})
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), name)
		require.ErrorContains(t, err, c.why, name)
		require.ErrorContains(t, err, "view test/f", name)
		require.Equal(t, "before", string(out), name)
	}
	_, err := viewOf(t, []feature.Type{feature.Int64, feature.Int64}).Append(nil, 1, 2, []feature.Value{feature.Int64Value(1)})
	require.ErrorContains(t, err, "1 values, fewer than the view has features")
}

func TestLayoutTooLarge(t *testing.T) {
	v := viewOf(t, []feature.Type{feature.String, feature.String})
	half := feature.StringValue(strings.Repeat("x", online.MaxRowBytes/2))
	out, err := v.Append([]byte("before"), 1, 2, []feature.Value{half, half})
	require.Equal(t, feature.CodeTooLarge, feature.CodeOf(err))
	require.Equal(t, "before", string(out))

	many := &feature.BoundView{SlotTypes: make([]feature.Type, online.MaxSlots+1)}
	for i := range many.SlotTypes {
		many.SlotTypes[i] = feature.Bool
	}
	_, err = online.NewLayout(many).Append(nil, 1, 2, nil)
	require.Equal(t, feature.CodeTooLarge, feature.CodeOf(err))
}

func TestLayoutNoSuchSlot(t *testing.T) {
	v := viewOf(t, []feature.Type{feature.Bool})
	packed, err := v.Append(nil, 1, 2, []feature.Value{feature.BoolValue(true)})
	require.NoError(t, err)
	for _, slot := range []int{-1, 1} {
		_, err := v.Value(packed, slot)
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
		require.True(t, online.IsNull(packed, slot))
	}
}

// TestLayoutAllocations: packing into a buffer, and reading scalars as JSON,
// cost no memory.
func TestLayoutAllocations(t *testing.T) {
	v := viewOf(t, []feature.Type{feature.Int64, feature.Float64, feature.String, feature.TimestampType, feature.Vector(2)})
	values := []feature.Value{
		feature.Int64Value(1), feature.Float64Value(0.1), feature.StringValue("a text that is longer than thirty-two bytes"),
		feature.TimestampValue(1), feature.VectorValue([]float32{1, 2}),
	}
	buf := make([]byte, 0, 1024)
	packed, err := v.Append(nil, 1, 2, values)
	require.NoError(t, err)
	require.Zero(t, testing.AllocsPerRun(100, func() { buf, _ = v.Append(buf[:0], 1, 2, values) }))
	for slot := range values {
		require.Zero(t, testing.AllocsPerRun(100, func() { buf, _ = v.AppendJSON(buf[:0], packed, slot) }), "slot %d", slot)
	}
}

// TestCheckEveryBit: whatever bit of a row is turned, it is found.
func TestCheckEveryBit(t *testing.T) {
	v := viewOf(t, []feature.Type{feature.Int64, feature.String})
	packed, err := v.Append(nil, 1, 2, []feature.Value{feature.Int64Value(1), feature.StringValue("text")})
	require.NoError(t, err)
	for bit := range len(packed) * 8 {
		packed[bit/8] ^= 1 << (bit % 8)
		require.Equal(t, feature.CodeDataLoss, feature.CodeOf(online.Check(packed)), "bit %d", bit)
		packed[bit/8] ^= 1 << (bit % 8)
	}
	for n := range packed {
		require.Equal(t, feature.CodeDataLoss, feature.CodeOf(online.Check(packed[:n])), "%d bytes", n)
	}
	require.NoError(t, online.Check(packed))
	_, err = online.VersionOf(nil)
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
}
