package feature_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
)

var scalars = []feature.Type{
	feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes, feature.TimestampType,
}

// drawType draws any type.
func drawType(rt *rapid.T) feature.Type {
	t := rapid.SampledFrom(scalars).Draw(rt, "scalar")
	switch rapid.IntRange(0, 2).Draw(rt, "shape") {
	case 1:
		return feature.ListOf(t)
	case 2:
		return feature.Vector(uint32(rapid.IntRange(1, 5).Draw(rt, "dim")))
	}
	return t
}

func TestParseType(t *testing.T) {
	for text, want := range map[string]feature.Type{
		"bool":                    feature.Bool,
		"int32":                   feature.Int32,
		" int64 ":                 feature.Int64,
		"timestamp":               feature.TimestampType,
		"list<string>":            feature.ListOf(feature.String),
		"list< bytes >":           feature.ListOf(feature.Bytes),
		"vector<float32,128>":     feature.Vector(128),
		"vector < float32 , 1 > ": feature.Vector(1),
		"vector<float32,65536>":   feature.Vector(65536),
	} {
		got, err := feature.ParseType(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{
		"", "invalid", "int", "Int64", "i n t 6 4", "list", "list<>", "list<int64", "list<int64>>", "list<list<int64>>", "list<invalid>",
		"vector<float64,3>", "vector<float32>", "vector<float32,0>", "vector<float32,65537>", "vector<float32,-1>", "vector<float32,1", "vector<>",
		"vector<float32,4294967297>", "set<int64>", "<int64>", "int64>", "list<in t64>",
	} {
		got, err := feature.ParseType(text)
		require.Error(t, err, text)
		require.Zero(t, got)
	}
	rapid.Check(t, func(rt *rapid.T) {
		typ := drawType(rt)
		text, err := typ.MarshalText()
		require.NoError(rt, err)
		var back feature.Type
		require.NoError(rt, back.UnmarshalText(text))
		require.Equal(rt, typ, back)
	})
}

func TestTypeShape(t *testing.T) {
	list, vector := feature.ListOf(feature.Float32), feature.Vector(3)
	require.True(t, feature.Float32.IsScalar())
	require.False(t, list.IsScalar())
	require.False(t, list.IsVector())
	require.False(t, vector.IsScalar())
	require.True(t, vector.IsVector())
	require.Equal(t, feature.Float32, list.Elem())
	require.Equal(t, feature.Float32, vector.Elem())
	require.Equal(t, feature.Float32, feature.Float32.Elem())
	keys := 0
	for _, s := range scalars {
		if s.CanBeKey() {
			keys++
		}
		require.False(t, feature.ListOf(s).CanBeKey())
	}
	require.Equal(t, 6, keys)
	require.False(t, feature.Type{}.CanBeKey())
	require.False(t, feature.Type{Kind: 99}.CanBeKey())
	require.False(t, feature.Float64.CanBeKey())
	require.Equal(t, "invalid", feature.Kind(99).String())
}

func TestRef(t *testing.T) {
	ref, err := feature.ParseRef("driver_stats:trips")
	require.NoError(t, err)
	require.Equal(t, feature.Ref{View: "driver_stats", Feature: "trips"}, ref)
	require.Equal(t, "driver_stats__trips", ref.FullName())
	text, err := ref.MarshalText()
	require.NoError(t, err)
	var back feature.Ref
	require.NoError(t, back.UnmarshalText(text))
	require.Equal(t, ref, back)
	require.Error(t, back.UnmarshalText([]byte("nothing")))
	require.Equal(t, ref, back, "an error leaves it as it was")
	for _, bad := range []string{"", ":", "f", "f:", ":v", "f:v:w", "f v:w", "f:v ", "f@latest:v", "1f:v", "f:é"} {
		_, err := feature.ParseRef(bad)
		require.Error(t, err, bad)
	}
}

// TestCheckName is the alphabet of names, H50.
func TestCheckName(t *testing.T) {
	longest := strings.Repeat("a", feature.MaxNameBytes)
	for _, name := range []string{"a", "_", "A-1_b", "__x", longest} {
		require.NoError(t, feature.CheckName(name), name)
	}
	for _, name := range []string{"", "1a", "-a", "a b", "a,b", "a.b", "a/b", "a:b", "é", "a\x00", "a\n", longest + "a"} {
		require.Error(t, feature.CheckName(name), name)
	}
}

func TestServiceItem(t *testing.T) {
	for _, c := range []struct {
		json, text string
		want       feature.ServiceItem
	}{
		{`"f"`, "f", feature.ServiceItem{View: "f"}},
		{`"f:v"`, "f:v", feature.ServiceItem{View: "f", Feature: "v"}},
		{`{"ref":"f:v","as":"w"}`, "f:v as w", feature.ServiceItem{View: "f", Feature: "v", As: "w"}},
	} {
		var item feature.ServiceItem
		require.NoError(t, item.UnmarshalJSON([]byte(c.json)))
		require.Equal(t, c.want, item)
		require.Equal(t, c.text, item.String())
		out, err := item.MarshalJSON()
		require.NoError(t, err)
		require.JSONEq(t, c.json, string(out))
	}
	for _, bad := range []string{
		`""`, `":v"`, `"f:"`, `"f:v:w"`, `"f v"`, `1`, `null`, `[]`, `{}`, `{"ref":"f:v","as":1}`, `{"as":"w"}`, `{"ref":null}`,
		`{"Ref":"f:v"}`, `{"ref":"f:v","AS":"w"}`, `{"ref":"f:v","as":"w","x":"y"}`, `{"ref":"f:v","as":"a b"}`, `{"ref":`,
	} {
		item := feature.ServiceItem{View: "before"}
		require.Error(t, item.UnmarshalJSON([]byte(bad)), bad)
		require.Equal(t, "before", item.View, "an error leaves it as it was")
	}
}

func TestError(t *testing.T) {
	cause := errors.New("disk full")
	err := feature.Errorf(feature.CodeResourceExhausted, "offline.Append", "view weather", "commit: %w", cause)
	require.EqualError(t, err, "offline.Append view weather: commit: disk full")
	require.ErrorIs(t, err, cause)
	require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(err))
	require.Equal(t, "commit: disk full", err.Detail())

	faults := []feature.Fault{{Field: "a", Detail: "is missing"}, {Detail: "and more"}}
	invalid := feature.Invalid("op", "request", faults)
	require.EqualError(t, invalid, "op request: a: is missing; and more")
	require.Equal(t, faults, feature.FaultsOf(invalid))
	require.NoError(t, feature.Invalid("op", "request", nil))
	require.EqualError(t, &feature.Error{Code: feature.CodeNotFound}, "not_found")
	require.Nil(t, feature.FaultsOf(cause))
}

func TestCode(t *testing.T) {
	seen := map[string]bool{}
	for c := feature.CodeInternal; c <= feature.CodeCanceled; c++ {
		name := c.String()
		require.False(t, seen[name], name)
		seen[name] = true
		back, ok := feature.ParseCode(name)
		require.True(t, ok)
		require.Equal(t, c, back)
		require.GreaterOrEqual(t, c.HTTPStatus(), 400)
	}
	_, ok := feature.ParseCode("nothing")
	require.False(t, ok)
	require.Equal(t, "internal", feature.Code(200).String())
	require.Equal(t, 500, feature.Code(200).HTTPStatus())
	require.Equal(t, feature.CodeInternal, feature.CodeOf(errors.New("any")))
	require.Equal(t, feature.CodeCanceled, feature.CodeOf(canceled(t)))
}

func FuzzParseRef(f *testing.F) {
	for _, text := range []string{"f:v", "f", ":", "f:v:w", "_-:_"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ref, err := feature.ParseRef(text)
		if err == nil {
			require.Equal(t, text, ref.String())
		}
		if item, err := feature.ParseServiceItem(text, ""); err == nil {
			require.Equal(t, text, item.String())
		}
		if typ, err := feature.ParseType(text); err == nil {
			back, err := feature.ParseType(typ.String())
			require.NoError(t, err)
			require.Equal(t, typ, back)
		}
	})
}
