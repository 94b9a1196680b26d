package delta

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
)

func mustTime(t *testing.T, text string) feature.Timestamp {
	t.Helper()
	at, err := feature.ParseTimestamp(text)
	require.NoError(t, err)
	return at
}

// TestStatsTimestampBounds: H24. What other writers cut off a bound is given
// back to it when it is read; what nobody can know is no bound.
func TestStatsTimestampBounds(t *testing.T) {
	for _, c := range []struct{ text, low, high string }{
		{"2024-01-01T10:00:00.123Z", "2024-01-01T10:00:00.123Z", "2024-01-01T10:00:00.124Z"},
		{"2024-01-01 10:00:00.123456Z", "2024-01-01T10:00:00.123456Z", "2024-01-01T10:00:00.124456Z"},
		{"2024-01-01T10:00:00+00:00", "2024-01-01T10:00:00Z", "2024-01-01T10:00:00.001Z"},
		{"1900-01-01T05:53:00.000+05:53", "1899-12-31T23:59:01Z", "1900-01-01T00:00:59.001Z"},
		{"1900-01-01T00:00:00.000-04:56", "1900-01-01T04:55:01Z", "1900-01-01T04:56:59.001Z"},
		{"2024-01-01T10:00:00.123", "", ""},
		{"2024-01-01", "", ""},
		{"1900-01-01T05:53:28.000+05:53:28", "", ""},
		{"yesterday", "", ""},
	} {
		low, high := readTimestampBound(c.text, -1), readTimestampBound(c.text, 1)
		if c.low == "" {
			require.True(t, low.IsNull() && high.IsNull(), c.text)
			continue
		}
		require.Equal(t, mustTime(t, c.low).String(), low.Timestamp().String(), c.text)
		require.Equal(t, mustTime(t, c.high).String(), high.Timestamp().String(), c.text)
	}
}

// TestStatsBoundsHold: whatever is written, no value lies outside of what is
// read again.
func TestStatsBoundsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var values []feature.Value
		typ := rapid.SampledFrom([]feature.Type{
			feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.TimestampType,
		}).Draw(t, "type")
		for range rapid.IntRange(1, 5).Draw(t, "n") {
			values = append(values, drawValue(t, typ))
		}
		low, high := values[0], values[0]
		for _, v := range values {
			if less(v, low) {
				low = v
			}
			if less(high, v) {
				high = v
			}
		}
		text, err := encodeStats(&Stats{Rows: 5, Columns: map[string]ColumnStats{"c": {Min: low, Max: high, Nulls: 2}}})
		require.NoError(t, err)
		got := decodeStats(text, map[string]feature.Type{"c": typ})
		require.EqualValues(t, 5, got.Rows)
		c := got.Columns["c"]
		require.EqualValues(t, 2, c.Nulls)
		for _, v := range values {
			require.False(t, !c.Min.IsNull() && less(v, c.Min), "%s below %s", v, c.Min)
			require.False(t, !c.Max.IsNull() && less(c.Max, v), "%s above %s", v, c.Max)
		}
		if typ.Kind == feature.KindInt64 {
			require.True(t, c.Min.Equal(low) && c.Max.Equal(high), "integers are exact")
		}
	})
}

func drawValue(t *rapid.T, typ feature.Type) feature.Value {
	switch typ {
	case feature.Int32:
		return feature.Int32Value(rapid.Int32().Draw(t, "v"))
	case feature.Int64:
		return feature.Int64Value(rapid.Int64().Draw(t, "v"))
	case feature.Float32:
		return feature.Float32Value(rapid.Float32().Draw(t, "v"))
	case feature.Float64:
		return feature.Float64Value(rapid.Float64().Draw(t, "v"))
	case feature.String:
		unit := rapid.SampledFrom([]string{"a", "é", "\U0010FFFF", "ab\U0010FFFF"}).Draw(t, "unit")
		return feature.StringValue(strings.Repeat(unit, rapid.IntRange(0, 80).Draw(t, "times")) + rapid.String().Draw(t, "tail"))
	}
	return feature.TimestampValue(feature.Timestamp(rapid.Int64Range(int64(feature.MinTimestamp), int64(feature.MaxTimestamp)).Draw(t, "v")))
}

func less(a, b feature.Value) bool {
	if k := a.Type().Kind; k == feature.KindFloat32 || k == feature.KindFloat64 {
		return a.Float() < b.Float()
	}
	return a.Compare(b) < 0
}

func TestStatsLeaveOut(t *testing.T) {
	text, err := encodeStats(&Stats{Rows: -1})
	require.NoError(t, err)
	require.Nil(t, text)
	text, err = encodeStats(&Stats{Rows: 3, Columns: map[string]ColumnStats{
		"nan":   {Min: feature.Float64Value(math.NaN()), Max: feature.Float64Value(math.Inf(1)), Nulls: 1},
		"bytes": {Min: feature.BytesValue([]byte{1}), Max: feature.BytesValue([]byte{2}), Nulls: -1},
		"bool":  {Min: feature.BoolValue(false), Max: feature.BoolValue(true)},
		"ts":    {Min: feature.TimestampValue(feature.MinTimestamp), Max: feature.TimestampValue(feature.MaxTimestamp)},
	}})
	require.NoError(t, err)
	require.JSONEq(t, `{"numRecords": 3, "minValues": {"ts": "0001-01-01T00:00:00.000Z"}, "maxValues": {},
		"nullCount": {"nan": 1, "bool": 0, "ts": 0}}`, *text)
}

// TestStatsNeverFail: statistics only help.
func TestStatsNeverFail(t *testing.T) {
	types := map[string]feature.Type{"k": feature.Int64, "s": feature.String, "l": feature.ListOf(feature.Int64)}
	for _, text := range []string{
		"", "{", "[]", `{"numRecords":"many"}`, `{"numRecords":1,"minValues":{"k":1.5,"s":1,"l":[1]}}`,
		`{"minValues":{"k":99999999999999999999}}`, `{"nullCount":{"k":{"nested":1},"s":-1}}`,
	} {
		s := decodeStats(&text, types)
		for name, c := range s.Columns {
			require.True(t, c.Min.IsNull() && c.Max.IsNull(), "%s: %s", text, name)
			require.EqualValues(t, -1, c.Nulls, text)
		}
	}
	loose := `{"numRecords":9,"tightBounds":false,"minValues":{"k":1},"maxValues":{"k":5},"nullCount":{"k":3}}`
	s := decodeStats(&loose, types)
	require.Equal(t, feature.Int64Value(5), s.Columns["k"].Max)
	require.EqualValues(t, -1, s.Columns["k"].Nulls, "a count before deletions is none")
}

func TestPaths(t *testing.T) {
	for _, key := range []string{"a", "a/b c", "p=x%20y/f", "日本/語", "a:b", "c#d?e", "dots../x"} {
		encoded := encodePath(key)
		require.NotContains(t, encoded, ":")
		got, err := decodePath(encoded)
		require.NoError(t, err)
		require.Equal(t, key, got)
	}
	for path, code := range map[string]feature.Code{
		"s3://other/table/f": feature.CodeFailedPrecondition, "file:/x": feature.CodeFailedPrecondition,
		"/abs": feature.CodeFailedPrecondition, "a%2": feature.CodeDataLoss, "../up": feature.CodeInvalidArgument,
		"%2e%2e/up": feature.CodeInvalidArgument, "": feature.CodeInvalidArgument,
	} {
		_, err := decodePath(path)
		require.Equal(t, code.String(), feature.CodeOf(err).String(), path)
	}
}

func TestProtocol(t *testing.T) {
	m := &Metadata{Fields: []Field{{Name: "k", Type: feature.Int64}}}
	mapped := &Metadata{Configuration: map[string]string{"delta.columnMapping.mode": "name"}}
	for _, c := range []struct {
		p           Protocol
		m           *Metadata
		read, write string // what is refused; empty: nothing
	}{
		{Protocol{MinReaderVersion: 1, MinWriterVersion: 1}, m, "", ""},
		{Protocol{MinReaderVersion: 1, MinWriterVersion: 2}, m, "", ""},
		{Protocol{MinReaderVersion: 1, MinWriterVersion: 3}, m, "", "checkConstraints"},
		{Protocol{MinReaderVersion: 1, MinWriterVersion: 4}, m, "", "checkConstraints, changeDataFeed, generatedColumns"},
		{Protocol{MinReaderVersion: 2, MinWriterVersion: 5}, m, "", "columnMapping"},
		{Protocol{MinReaderVersion: 2, MinWriterVersion: 5}, mapped, "columnMapping", "columnMapping"},
		{Protocol{MinReaderVersion: 3, MinWriterVersion: 7, ReaderFeatures: []string{"deletionVectors", "v2Checkpoint"}}, m, "deletionVectors, v2Checkpoint", ""},
		{Protocol{MinReaderVersion: 3, MinWriterVersion: 7, WriterFeatures: []string{"appendOnly", "inCommitTimestamp"}}, m, "", "inCommitTimestamp"},
		{Protocol{MinReaderVersion: 4, MinWriterVersion: 8}, m, "reader version 4", "writer version 8"},
		{
			Protocol{MinReaderVersion: 1, MinWriterVersion: 2},
			&Metadata{Fields: []Field{{Name: "k", Metadata: map[string]string{"delta.invariants": "{}"}}}}, "", "invariants (of column k)",
		},
	} {
		for want, err := range map[string]error{"read " + c.read: c.p.checkRead("t", c.m), "write " + c.write: c.p.checkWrite("t", c.m)} {
			_, says, _ := strings.Cut(want, " ")
			if says == "" {
				require.NoError(t, err, "%+v", c.p)
				continue
			}
			require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
			require.ErrorContains(t, err, says)
		}
	}
}

func TestSchemaRoundTrip(t *testing.T) {
	var fields []Field
	for kind := feature.KindBool; kind <= feature.KindTimestamp; kind++ {
		scalar := feature.Type{Kind: kind}
		fields = append(fields,
			Field{Name: kind.String(), Type: scalar, Nullable: true, Metadata: map[string]string{"comment": "é\"\n"}},
			Field{Name: kind.String() + " list", Type: feature.ListOf(scalar)})
	}
	fields = append(fields, Field{Name: "vector", Type: feature.Vector(768), Nullable: true})
	text, err := encodeSchema(fields)
	require.NoError(t, err)
	got, err := decodeSchema(text)
	require.NoError(t, err)
	require.Equal(t, fields, got)
}

func TestSchemaRefusesByName(t *testing.T) {
	for typ, says := range map[string]string{
		`"date"`: "date", `"decimal(9,2)"`: "decimal(9,2)", `"short"`: "short", `"timestamp_ntz"`: "timestamp_ntz", `"variant"`: "variant",
		`{"type":"struct","fields":[]}`: "struct", `{"type":"map","keyType":"string","valueType":"long","valueContainsNull":true}`: "map",
		`{"type":"array","elementType":{"type":"array","elementType":"long","containsNull":true},"containsNull":true}`: "array", `5`: "5",
	} {
		_, err := decodeSchema(`{"type":"struct","fields":[{"name":"odd","type":` + typ + `,"nullable":true,"metadata":{}}]}`)
		require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err), typ)
		require.ErrorContains(t, err, "column odd")
		require.ErrorContains(t, err, says)
	}
	_, err := decodeSchema("{")
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
}

// FuzzCommit: a log entry is read or refused, and what is read is written and
// read again as the same.
func FuzzCommit(f *testing.F) {
	for _, text := range []string{
		`{"commitInfo":{"timestamp":1,"operation":"WRITE"}}` + "\n" + `{"add":{"path":"a%20b","partitionValues":{"p":null},"size":1,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":1}"}}`,
		`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}` + "\n" + `{"metaData":{"id":"x","format":{"provider":"parquet"},"schemaString":"{\"type\":\"struct\",\"fields\":[]}","partitionColumns":[]}}`,
		`{"remove":{"path":"x","dataChange":true}}`, `{"txn":{"appId":"a","version":1}}`, `{"cdc":{}}`, "{}", "\n\n", `{"add":null}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := parseCommit(3, "entry", data)
		if err != nil {
			require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
			return
		}
		text, err := c.append(nil)
		require.NoError(t, err)
		again, err := parseCommit(3, "entry", text)
		require.NoError(t, err)
		twice, err := again.append(nil)
		require.NoError(t, err)
		require.Equal(t, string(text), string(twice))
		_ = newState("t").apply(c) // refused or not, it does not panic
	})
}

// FuzzStats: statistics of other writers never fail.
func FuzzStats(f *testing.F) {
	f.Add(`{"numRecords":1,"minValues":{"k":1,"ts":"2024-01-01T10:00:00.123Z","s":"a"},"maxValues":{"k":2},"nullCount":{"k":0}}`)
	f.Add(`{"minValues":{"ts":"9999-12-31T23:59:59.999+00:01"}}`)
	types := map[string]feature.Type{"k": feature.Int64, "f": feature.Float32, "s": feature.String, "ts": feature.TimestampType, "b": feature.Bytes}
	f.Fuzz(func(_ *testing.T, text string) { decodeStats(&text, types) })
}
