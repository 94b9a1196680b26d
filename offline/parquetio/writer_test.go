package parquetio

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

func TestRoundTripOfEveryType(t *testing.T) {
	for _, codec := range []Codec{Zstd, Snappy, Uncompressed} {
		for _, rows := range []int{0, 1, 7, 100, 1000} {
			t.Run(fmt.Sprintf("codec=%d/rows=%d", codec, rows), func(t *testing.T) {
				rec := randomRecord(uint64(rows), rows)
				data, sum := write(t, rec.Schema(), WriterOptions{Codec: codec, RowGroupRows: 300}, rec)
				require.EqualValues(t, rows, sum.Rows)
				f := open(t, data)
				require.True(t, rec.Schema().Equal(f.Schema()), "%s", f.Schema())
				require.EqualValues(t, rows, f.Rows())
				require.Equal(t, (rows+299)/300, f.RowGroups())
				at := int64(0)
				for i := range f.RowGroups() {
					got, err := f.ReadRowGroup(t.Context(), i, nil)
					require.NoError(t, err)
					require.Equal(t, f.RowGroupRows(i), got.NumRows())
					requireRows(t, rec.NewSlice(at, at+got.NumRows()), got)
					at += got.NumRows()
				}
				require.EqualValues(t, rows, at)
			})
		}
	}
}

// TestRowGroupsAreExact writes records and slices of many sizes; the groups do
// not depend on them.
func TestRowGroupsAreExact(t *testing.T) {
	rec := randomRecord(5, 1000)
	for _, step := range []int64{1, 3, 128, 129, 1000} {
		var parts []arrow.Record
		for at := int64(0); at < rec.NumRows(); at += step {
			parts = append(parts, rec.NewSlice(at, min(at+step, rec.NumRows())))
		}
		data, _ := write(t, rec.Schema(), WriterOptions{RowGroupRows: 128}, parts...)
		f := open(t, data)
		require.Equal(t, 8, f.RowGroups())
		at := int64(0)
		for i := range f.RowGroups() {
			require.Equal(t, min(128, 1000-at), f.RowGroupRows(i))
			got, err := f.ReadRowGroup(t.Context(), i, nil)
			require.NoError(t, err)
			requireRows(t, rec.NewSlice(at, at+got.NumRows()), got)
			at += got.NumRows()
		}
	}
}

func TestRoundTripOfNestedForms(t *testing.T) {
	point := arrow.StructOf(
		arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "struct", Type: point, Nullable: true},
		{Name: "required", Type: arrow.StructOf(arrow.Field{Name: "y", Type: arrow.PrimitiveTypes.Int32})},
		{Name: "structs", Type: arrow.ListOf(point), Nullable: true},
		{Name: "lists", Type: arrow.ListOf(arrow.ListOf(arrow.PrimitiveTypes.Int32)), Nullable: true},
		{Name: "map", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.BinaryTypes.String), Nullable: true},
		{Name: "deep", Type: arrow.ListOf(arrow.ListOf(arrow.StructOf(arrow.Field{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Float64), Nullable: true}))), Nullable: true},
	}, nil)
	rec := fromJSON(t, schema, `[
		{"struct": null, "required": {"y": 1}, "structs": null, "lists": null, "map": null, "deep": null},
		{"struct": {"x": null, "tags": null}, "required": {"y": 2}, "structs": [], "lists": [], "map": [], "deep": []},
		{"struct": {"x": 1, "tags": []}, "required": {"y": 3}, "structs": [null], "lists": [null], "map": [{"key": "a", "value": null}], "deep": [null]},
		{"struct": {"x": null, "tags": [null, "a"]}, "required": {"y": 4}, "structs": [{"x": 5, "tags": null}, null, {"x": null, "tags": ["", null]}],
		 "lists": [[], [null], [1, 2, null], null, [3]], "map": [{"key": "a", "value": "1"}, {"key": "", "value": ""}], "deep": [[], [null], [{"l": null}, {"l": [1.5, null]}], null]},
		{"struct": null, "required": {"y": 5}, "structs": [], "lists": [[]], "map": [], "deep": [[{"l": []}]]}
	]`)
	want, err := rec.MarshalJSON()
	require.NoError(t, err)
	data, sum := write(t, schema, WriterOptions{}, rec)
	require.Empty(t, sum.Columns)
	f := open(t, data)
	got, err := f.ReadRowGroup(t.Context(), 0, nil)
	require.NoError(t, err)
	text, err := got.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(text))
	for batch := 1; batch < 6; batch++ {
		var all []arrow.Record
		for part, err := range f.Records(t.Context(), ScanOptions{BatchRows: batch}) {
			require.NoError(t, err)
			all = append(all, part)
		}
		require.JSONEq(t, string(want), string(marshal(t, all)), "batches of %d", batch)
	}
}

// marshal joins records into one and prints it.
func marshal(t *testing.T, records []arrow.Record) []byte {
	t.Helper()
	table := array.NewTableFromRecords(records[0].Schema(), records)
	columns := make([]arrow.Array, table.NumCols())
	for i := range columns {
		joined, err := array.Concatenate(table.Column(i).Data().Chunks(), memory.DefaultAllocator)
		require.NoError(t, err)
		columns[i] = joined
	}
	out, err := array.NewRecord(records[0].Schema(), columns, table.NumRows()).MarshalJSON()
	require.NoError(t, err)
	return out
}

func TestWriterRecordsItsMetadata(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "t", Type: columns.Timestamp}}, nil)
	o := WriterOptions{SortedBy: []string{"k", "t"}, Metadata: map[string]string{"granary.view": "a/b-1", "other": "x"}}
	data, _ := write(t, schema, o, fromJSON(t, schema, `[{"k": 1, "t": "2024-01-01T00:00:00Z"}]`))
	f := open(t, data)
	require.Equal(t, []string{"k", "t"}, f.SortedBy())
	require.Equal(t, "a/b-1", f.Metadata("granary.view"))
	require.Equal(t, "x", f.Metadata("other"))
	require.Equal(t, "1", f.Metadata(keyFormat))
	require.Empty(t, f.Metadata("none"))

	unsorted, _ := write(t, schema, WriterOptions{})
	require.Nil(t, open(t, unsorted).SortedBy())
	for _, key := range []string{keyFormat, keySortedBy} {
		_, err := NewWriter(nil, schema, WriterOptions{Metadata: map[string]string{key: "k"}})
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
	}
}

func TestWriterVerifiesTheOrder(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "k", Type: arrow.PrimitiveTypes.Int64},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "y", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "t", Type: columns.Timestamp, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	tests := []struct {
		by   []string
		rows string
		bad  string // the column of the fault; "" if the order holds
		at   int    // its row
	}{
		{by: []string{"k"}, rows: `[{"k": -2}, {"k": -1}, {"k": -1}, {"k": 5}]`},
		{by: []string{"k"}, rows: `[{"k": 1}, {"k": 2}, {"k": 1}]`, bad: "k", at: 2},
		{by: []string{"i"}, rows: `[{"k": 1, "i": null}, {"k": 1, "i": -5}, {"k": 1, "i": 5}]`},
		{by: []string{"i"}, rows: `[{"k": 1, "i": 1}, {"k": 1, "i": null}]`, bad: "i", at: 1},
		{by: []string{"b"}, rows: `[{"k": 1}, {"k": 1, "b": false}, {"k": 1, "b": true}]`},
		{by: []string{"b"}, rows: `[{"k": 1, "b": true}, {"k": 1, "b": false}]`, bad: "b", at: 1},
		{by: []string{"s"}, rows: `[{"k": 1, "s": ""}, {"k": 1, "s": "B"}, {"k": 1, "s": "a"}, {"k": 1, "s": "a"}, {"k": 1, "s": "é"}]`},
		{by: []string{"s"}, rows: `[{"k": 1, "s": "a"}, {"k": 1, "s": "B"}]`, bad: "s", at: 1},
		{by: []string{"y"}, rows: `[{"k": 1, "y": "fw=="}, {"k": 1, "y": "gA=="}, {"k": 1, "y": "gAA="}]`},
		{by: []string{"y"}, rows: `[{"k": 1, "y": "gA=="}, {"k": 1, "y": "fw=="}]`, bad: "y", at: 1},
		{by: []string{"k", "t"}, rows: `[{"k": 1, "t": "2024-01-02T00:00:00Z"}, {"k": 2, "t": "2024-01-01T00:00:00Z"}, {"k": 2, "t": "2024-01-01T00:00:00Z"}]`},
		{by: []string{"k", "t"}, rows: `[{"k": 1, "t": "2024-01-02T00:00:00Z"}, {"k": 1, "t": "2024-01-01T00:00:00Z"}]`, bad: "t", at: 1},
		{by: []string{"t", "k"}, rows: `[{"k": 9}, {"k": 1, "t": "1969-12-31T23:59:59Z"}, {"k": 0, "t": "1970-01-01T00:00:00Z"}]`},
	}
	for i, tt := range tests {
		for _, split := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/split=%t", i, split), func(t *testing.T) {
				rec := fromJSON(t, schema, tt.rows)
				parts := []arrow.Record{rec}
				if split {
					parts = nil
					for r := range rec.NumRows() {
						parts = append(parts, rec.NewSlice(r, r+1), rec.NewSlice(r, r))
					}
				}
				w, err := NewWriter(&failingSink{left: math.MaxInt}, schema, WriterOptions{SortedBy: tt.by})
				require.NoError(t, err)
				for _, p := range parts {
					if err = w.Write(p); err != nil {
						break
					}
				}
				if tt.bad == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, fmt.Sprintf("column %s: row %d is out of the order", tt.bad, tt.at))
				require.Equal(t, feature.CodeInternal, feature.CodeOf(err))
				_, again := w.Close()
				require.Equal(t, err, again, "nothing is written after a fault")
			})
		}
	}
	for _, by := range []string{"f", "nope"} {
		_, err := NewWriter(&failingSink{}, schema, WriterOptions{SortedBy: []string{by}})
		require.ErrorContains(t, err, "column "+by)
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
	}
}

// failingSink takes some bytes and then fails.
type failingSink struct{ left int }

var errSink = feature.Errorf(feature.CodeResourceExhausted, "sink", "", "full")

func (s *failingSink) Write(p []byte) (int, error) {
	if len(p) > s.left {
		return 0, errSink
	}
	s.left -= len(p)
	return len(p), nil
}

// TestSinkFailures cuts the sink off at every place: the writer never says that
// all is well, and the sink's code comes through.
func TestSinkFailures(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	rec := fromJSON(t, schema, `[{"k": 1, "s": "a"}, {"k": 2}, {"k": 3, "s": "c"}]`)
	whole, _ := write(t, rec.Schema(), WriterOptions{RowGroupRows: 2}, rec)
	for left := 0; left < len(whole); left += 29 {
		w, err := NewWriter(&failingSink{left: left}, rec.Schema(), WriterOptions{RowGroupRows: 2})
		if err == nil {
			err = errors.Join(w.Write(rec), second(w.Close()))
		}
		require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(err), "after %d bytes: %v", left, err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestWriterRefusesWhatItCannotHold(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	nullable := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)

	w, err := NewWriter(&failingSink{left: math.MaxInt}, schema, WriterOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, w.Write(fromJSON(t, nullable, `[{"k": 1}]`)), "schema")

	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).AppendNull()
	w, err = NewWriter(&failingSink{left: math.MaxInt}, schema, WriterOptions{})
	require.NoError(t, err)
	require.ErrorContains(t, w.Write(b.NewRecord()), "column k: 1 nulls")

	_, err = NewWriter(&failingSink{}, arrow.NewSchema([]arrow.Field{{Name: "u", Type: arrow.SparseUnionOf(nil, nil)}}, nil), WriterOptions{})
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))

	w, err = NewWriter(&failingSink{left: math.MaxInt}, schema, WriterOptions{})
	require.NoError(t, err)
	_, err = w.Close()
	require.NoError(t, err)
	require.ErrorContains(t, second(w.Close()), "closed")
}

func TestSummaryAndRanges(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
		{Name: "i", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true},
		{Name: "d", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "y", Type: arrow.BinaryTypes.Binary, Nullable: true},
		{Name: "t", Type: columns.Timestamp, Nullable: true},
		{Name: "none", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "list", Type: columns.DataType(feature.ListOf(feature.Int64)), Nullable: true},
	}, nil)
	rec := fromJSON(t, schema, `[
		{"b": true, "i": 5, "k": -9223372036854775808, "f": 0, "d": 1.5, "s": "é", "y": "gA==", "t": "1969-12-31T23:59:59.999999Z", "list": [1]},
		{"b": null, "i": -7, "k": 9007199254740992, "f": -2.5, "d": -1e300, "s": "Z", "y": "fw==", "t": null},
		{"b": false, "i": null, "k": null, "f": null, "d": 0, "s": null, "y": null, "t": "9999-12-31T23:59:59.999999Z"}
	]`)
	data, sum := write(t, schema, WriterOptions{}, rec)
	want := map[string]ColumnStats{
		"b":    {feature.BoolValue(false), feature.BoolValue(true), 1},
		"i":    {feature.Int32Value(-7), feature.Int32Value(5), 1},
		"k":    {feature.Int64Value(math.MinInt64), feature.Int64Value(9007199254740992), 1},
		"f":    {feature.Float32Value(-2.5), feature.Float32Value(0), 1},
		"d":    {feature.Float64Value(-1e300), feature.Float64Value(1.5), 0},
		"s":    {feature.StringValue("Z"), feature.StringValue("é"), 1},
		"y":    {feature.BytesValue([]byte{0x7f}), feature.BytesValue([]byte{0x80}), 1},
		"t":    {feature.TimestampValue(-1), feature.TimestampValue(feature.MaxTimestamp), 1},
		"none": {feature.Null(feature.Int64), feature.Null(feature.Int64), 3},
	}
	require.Equal(t, want, sum.Columns)
	f := open(t, data)
	for name, stats := range want {
		got, ok := f.Range(0, name)
		require.True(t, ok, name)
		require.Equal(t, stats, got, name)
	}
	for _, name := range []string{"list", "nope"} {
		_, ok := f.Range(0, name)
		require.False(t, ok, name)
	}
}

// TestBoundsOfFloats holds that NaN bounds nothing, and zeros bound both zeros.
func TestBoundsOfFloats(t *testing.T) {
	nan, negative := math.NaN(), math.Copysign(0, -1)
	tests := []struct {
		values   []float64
		min, max feature.Value
	}{
		{[]float64{1, nan, 3}, feature.Float64Value(1), feature.Null(feature.Float64)},
		{[]float64{nan}, feature.Null(feature.Float64), feature.Null(feature.Float64)},
		{[]float64{0}, feature.Float64Value(negative), feature.Float64Value(0)},
		{[]float64{negative, 5}, feature.Float64Value(negative), feature.Float64Value(5)},
		{[]float64{-5, negative}, feature.Float64Value(-5), feature.Float64Value(0)},
		{[]float64{math.Inf(-1), math.Inf(1)}, feature.Float64Value(math.Inf(-1)), feature.Float64Value(math.Inf(1))},
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "d", Type: arrow.PrimitiveTypes.Float64}, {Name: "f", Type: arrow.PrimitiveTypes.Float32}}, nil)
	for _, tt := range tests {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		for _, v := range tt.values {
			columns.Append(b.Field(0), feature.Float64Value(v))
			columns.Append(b.Field(1), feature.Float32Value(float32(v)))
		}
		data, sum := write(t, schema, WriterOptions{}, b.NewRecord())
		require.True(t, tt.min.Equal(sum.Columns["d"].Min), "%v: %s", tt.values, sum.Columns["d"].Min)
		require.True(t, tt.max.Equal(sum.Columns["d"].Max), "%v: %s", tt.values, sum.Columns["d"].Max)
		require.Equal(t, tt.max.IsNull(), sum.Columns["f"].Max.IsNull())
		if got, ok := open(t, data).Range(0, "d"); ok && !tt.min.IsNull() {
			require.True(t, tt.min.Equal(got.Min), "%v: %s", tt.values, got.Min)
		}
	}
}
