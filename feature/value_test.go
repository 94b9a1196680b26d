package feature_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/strictjson"
)

func canceled(t *testing.T) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx.Err()
}

// drawValue draws a value of a type, or null; scalars include what is at the
// ends and what is not finite.
func drawValue(rt *rapid.T, t feature.Type, null bool) feature.Value {
	if null && rapid.IntRange(0, 4).Draw(rt, "null") == 0 {
		return feature.Null(t)
	}
	if !t.IsScalar() {
		n := int(t.Dim)
		if t.List {
			n = rapid.IntRange(0, 4).Draw(rt, "n")
		}
		elems := make([]feature.Value, n)
		for i := range elems {
			elems[i] = drawValue(rt, t.Elem(), t.List)
		}
		return feature.ListValue(t, elems)
	}
	switch t.Kind {
	case feature.KindBool:
		return feature.BoolValue(rapid.Bool().Draw(rt, "bool"))
	case feature.KindInt32:
		return feature.Int32Value(rapid.Int32().Draw(rt, "int32"))
	case feature.KindInt64:
		return feature.Int64Value(rapid.Int64().Draw(rt, "int64"))
	case feature.KindFloat32:
		return feature.Float32Value(rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{
			float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.Copysign(0, -1)), math.MaxFloat32, math.SmallestNonzeroFloat32, 1e21, 16777216,
		})).Draw(rt, "float32"))
	case feature.KindFloat64:
		return feature.Float64Value(rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{
			math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), math.MaxFloat64, math.SmallestNonzeroFloat64, 1e21, 1e-6, 1e-7, 100,
		})).Draw(rt, "float64"))
	case feature.KindString:
		return feature.StringValue(rapid.String().Draw(rt, "string"))
	case feature.KindBytes:
		return feature.BytesValue(rapid.SliceOf(rapid.Byte()).Draw(rt, "bytes"))
	case feature.KindTimestamp:
		return feature.TimestampValue(feature.Timestamp(rapid.Int64Range(int64(feature.MinTimestamp), int64(feature.MaxTimestamp)).Draw(rt, "timestamp")))
	case feature.KindInvalid:
	}
	rt.Fatalf("no such type: %s", t)
	return feature.Value{}
}

// TestValueJSON: every value is valid JSON that reads back the same, bit by
// bit, but for the payload of a NaN.
func TestValueJSON(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := drawValue(rt, drawType(rt), true)
		text, err := v.MarshalJSON()
		require.NoError(rt, err)
		require.True(rt, json.Valid(text), "%s", text)
		require.True(rt, utf8.Valid(text))
		back, err := strictjson.Value(v.Type(), text)
		require.NoError(rt, err, "%s", text)
		require.True(rt, v.Equal(back), "%s is read as %s", text, back)
		require.Equal(rt, string(text), v.String())
	})
}

// TestParseTextRoundTrip: what a CSV cell would hold.
func TestParseTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := drawValue(rt, rapid.SampledFrom(scalars).Draw(rt, "type"), false)
		text := v.String()
		if v.Type() == feature.String {
			text = v.Text()
		} else {
			text = strings.Trim(text, `"`)
		}
		back, err := feature.ParseText(v.Type(), text)
		require.NoError(rt, err)
		require.True(rt, v.Equal(back), "%s is read as %s", text, back)
	})
}

func TestFloatJSON(t *testing.T) {
	for _, c := range []struct {
		v    float64
		bits int
		want string
	}{
		{1, 64, "1.0"},
		{0, 64, "0.0"},
		{math.Copysign(0, -1), 64, "-0.0"},
		{0.1, 64, "0.1"},
		{float64(float32(0.1)), 32, "0.1"},
		{float64(float32(0.1)), 64, "0.10000000149011612"},
		{1e20, 64, "100000000000000000000.0"},
		{1e21, 64, "1e+21"},
		{1e-6, 64, "0.000001"},
		{1e-7, 64, "1e-07"},
		{math.MaxFloat64, 64, "1.7976931348623157e+308"},
		{math.NaN(), 64, `"NaN"`},
		{math.Inf(1), 32, `"Infinity"`},
		{math.Inf(-1), 64, `"-Infinity"`},
	} {
		require.Equal(t, c.want, string(feature.AppendFloatJSON(nil, c.v, c.bits)))
	}
	require.Equal(t, `x1.0`, string(feature.AppendFloatJSON([]byte("x"), 1, 64)), "it appends")
}

func TestStringJSON(t *testing.T) {
	for in, want := range map[string]string{
		"": `""`, "plain": `"plain"`, `q"b\`: `"q\"b\\"`, "a\n\r\t\x00\x1f": `"a\n\r\t\u0000\u001f"`,
		"<&>\u2028日😀\x7f": "\"<&>\u2028日😀\x7f\"",
	} {
		require.Equal(t, want, string(feature.AppendStringJSON(nil, in)))
	}
}

func TestParseText(t *testing.T) {
	for _, c := range []struct {
		typ        feature.Type
		text, want string
		bad        string
	}{
		{typ: feature.Bool, text: "true", want: "true"},
		{typ: feature.Bool, text: "FALSE", want: "false"},
		{typ: feature.Bool, text: "1", bad: "not a bool"},
		{typ: feature.Bool, text: "tRUE", bad: "not a bool"},
		{typ: feature.Int32, text: "7.0", want: "7"},
		{typ: feature.Int64, text: "", bad: "not a number"},
		{typ: feature.String, text: " as it is ", want: `" as it is "`},
		{typ: feature.String, text: "", want: `""`},
		{typ: feature.String, text: "\xff", bad: "UTF-8"},
		{typ: feature.String, text: "\xed\xa0\x80", bad: "UTF-8"}, // a surrogate in UTF-8
		{typ: feature.String, text: "\uFFFD", want: "\"\uFFFD\""},
		{typ: feature.Bytes, text: "AP8=", want: `"AP8="`},
		{typ: feature.Bytes, text: "AP8", bad: "base64"},
		{typ: feature.Bytes, text: "AP9=", bad: "base64"}, // bits beyond the last byte
		{typ: feature.TimestampType, text: "2024-01-01", want: `"2024-01-01T00:00:00Z"`},
		{typ: feature.TimestampType, text: "1704067200", bad: "not a timestamp"},
		{typ: feature.ListOf(feature.Int64), text: "[1]", bad: "plain text"},
		{typ: feature.Type{}, text: "x", bad: "no such type"},
	} {
		v, err := feature.ParseText(c.typ, c.text)
		if c.bad != "" {
			require.ErrorContains(t, err, c.bad, "%s from %q", c.typ, c.text)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, v.String())
		require.Equal(t, c.typ, v.Type())
	}
}

// TestParseString: T11, a number in quotes is not a number.
func TestParseString(t *testing.T) {
	for _, typ := range []feature.Type{feature.Int32, feature.Int64, feature.Float64, feature.Bool, feature.ListOf(feature.String)} {
		_, err := feature.ParseString(typ, "7")
		require.ErrorContains(t, err, "where "+typ.String()+" is expected")
	}
	v, err := feature.ParseString(feature.Float32, "-Infinity")
	require.NoError(t, err)
	require.True(t, math.IsInf(v.Float(), -1))
	_, err = feature.ParseString(feature.Int64, "NaN")
	require.Error(t, err)
	for _, typ := range []feature.Type{feature.String, feature.Bytes, feature.TimestampType, feature.Bool, feature.Vector(2)} {
		_, err := feature.ParseNumber(typ, "7")
		require.ErrorContains(t, err, "number 7 where "+typ.String()+" is expected")
	}
	_, err = feature.ParseNumber(feature.Int64, "7.5")
	require.Error(t, err)
}

func TestValueEqual(t *testing.T) {
	nan := feature.Float64Value(math.NaN())
	require.True(t, nan.Equal(feature.Float64Value(math.NaN())))
	require.False(t, feature.Float64Value(0).Equal(feature.Float64Value(math.Copysign(0, -1))))
	require.False(t, feature.Int32Value(1).Equal(feature.Int64Value(1)))
	require.False(t, feature.Int64Value(0).Equal(feature.Null(feature.Int64)))
	require.True(t, feature.Null(feature.Int64).Equal(feature.Null(feature.Int64)))
	list := feature.ListOf(feature.Int64)
	require.False(t, feature.ListValue(list, nil).Equal(feature.Null(list)), "an empty list is no null")
	require.True(t, feature.ListValue(list, nil).Equal(feature.ListValue(list, []feature.Value{})))
	require.Equal(t, feature.Vector(2), feature.VectorValue([]float32{1, 2}).Type())
	data := []byte("ab")
	v := feature.BytesValue(data)
	data[0] = 'x'
	require.Equal(t, "ab", v.Text(), "bytes are copied")
}

// keyTypes are the types of join keys.
var keyTypes = slices.DeleteFunc(slices.Clone(scalars), func(t feature.Type) bool { return !t.CanBeKey() })

// drawKeys draws join keys and two lists of their values.
func drawKeys(rt *rapid.T) (keys []feature.JoinKey, a, b []feature.Value) {
	for range rapid.IntRange(1, 3).Draw(rt, "keys") {
		typ := rapid.SampledFrom(keyTypes).Draw(rt, "type")
		keys = append(keys, feature.JoinKey{Name: "k", Type: typ})
		v := drawValue(rt, typ, false)
		w := v
		if rapid.Bool().Draw(rt, "differ") {
			w = drawValue(rt, typ, false)
		}
		a, b = append(a, v), append(b, w)
	}
	return keys, a, b
}

// TestEntityKeyOrder: keys decode to their values, and order as these do.
func TestEntityKeyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys, a, b := drawKeys(rt)
		x, err := feature.MakeEntityKey(keys, a)
		require.NoError(rt, err)
		y, err := feature.MakeEntityKey(keys, b)
		require.NoError(rt, err)
		values, err := x.Values(keys)
		require.NoError(rt, err)
		require.True(rt, slices.EqualFunc(a, values, feature.Value.Equal))
		require.Equal(rt, slices.CompareFunc(a, b, feature.Value.Compare), strings.Compare(string(x), string(y)))
	})
}

// TestEntityKeyApart is T6: values do not run into one another.
func TestEntityKeyApart(t *testing.T) {
	keys := []feature.JoinKey{{Name: "a", Type: feature.String}, {Name: "b", Type: feature.String}}
	seen := map[feature.EntityKey]bool{}
	for _, pair := range [][2]string{{"1", "23"}, {"12", "3"}, {"a|b", "c"}, {"a", "b|c"}, {"", "123"}, {"123", ""}, {"a\x00", "b"}, {"a", "\x00b"}} {
		key, err := feature.MakeEntityKey(keys, []feature.Value{feature.StringValue(pair[0]), feature.StringValue(pair[1])})
		require.NoError(t, err)
		require.False(t, seen[key], "%q", pair)
		seen[key] = true
	}
}

func TestEntityKeyRefuses(t *testing.T) {
	keys := []feature.JoinKey{{Name: "a", Type: feature.String}}
	make1 := func(v feature.Value) error {
		_, err := feature.MakeEntityKey(keys, []feature.Value{v})
		return err
	}
	require.ErrorContains(t, make1(feature.Null(feature.String)), "join key a is null")
	require.ErrorContains(t, make1(feature.Int64Value(1)), "int64 where string is expected")
	require.ErrorContains(t, make1(feature.StringValue("\xff")), "UTF-8")
	require.NoError(t, make1(feature.StringValue(strings.Repeat("x", feature.MaxEntityKeyBytes-2))))
	require.Equal(t, feature.CodeTooLarge, feature.CodeOf(make1(feature.StringValue(strings.Repeat("x", feature.MaxEntityKeyBytes-1)))))
	_, err := feature.MakeEntityKey(keys, nil)
	require.ErrorContains(t, err, "0 key values where 1")
	empty, err := feature.MakeEntityKey(nil, nil)
	require.NoError(t, err)
	require.Empty(t, empty)

	_, err = feature.EntityKey("x").Values(keys)
	require.ErrorContains(t, err, "join key a")
	_, err = feature.EntityKey("x").Values(nil)
	require.ErrorContains(t, err, "after the last join key")
	_, err = feature.EntityKey("x").Values([]feature.JoinKey{{Name: "f", Type: feature.Float64}})
	require.ErrorContains(t, err, "cannot be a join key")
}

// TestNewer is T3 and T7: event, then created, then written later.
func TestNewer(t *testing.T) {
	stored := feature.Version{Event: 10, Created: 5}
	for written, want := range map[feature.Version]bool{
		{Event: 11, Created: 0}: true,
		{Event: 10, Created: 6}: true,
		{Event: 10, Created: 5}: true, // a correction lands
		{Event: 10, Created: 4}: false,
		{Event: 9, Created: 99}: false,
	} {
		require.Equal(t, want, feature.Newer(written, stored), "%+v", written)
	}
	require.Equal(t, stored, feature.Row{Event: 10, Created: 5}.Version())
}

func FuzzEntityKeyValues(f *testing.F) {
	f.Add([]byte("\x80\x00\x00\x00\x00\x00\x00\x01ab\x00\x01\x01"))
	keys := []feature.JoinKey{
		{Name: "a", Type: feature.Int64}, {Name: "b", Type: feature.Bytes}, {Name: "c", Type: feature.Bool},
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := feature.EntityKey(data).Values(keys)
		if err != nil {
			return
		}
		back, err := feature.MakeEntityKey(keys, values)
		if err != nil {
			require.Equal(t, feature.CodeTooLarge, feature.CodeOf(err))
			return
		}
		require.Equal(t, string(data), string(back), "one key has one encoding")
	})
}

func TestParseTextTakesTheWordsOfOtherPrograms(t *testing.T) {
	for text, want := range map[string]float64{
		"nan": math.NaN(), "NaN": math.NaN(), "NAN": math.NaN(), "inf": math.Inf(1), "+Inf": math.Inf(1), "-inf": math.Inf(-1),
		"Infinity": math.Inf(1), "-INFINITY": math.Inf(-1),
	} {
		v, err := feature.ParseText(feature.Float64, text)
		require.NoError(t, err, text)
		require.True(t, v.Equal(feature.Float64Value(want)), text)
	}
	for _, text := range []string{"-nan", "na", "infin", "--inf", "", "+1"} {
		_, err := feature.ParseText(feature.Float64, text)
		require.Error(t, err, text)
	}
	_, err := feature.ParseString(feature.Float64, "nan")
	require.Error(t, err, "JSON has one spelling of each")
}
