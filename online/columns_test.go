package online_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/online/onlinetest"
)

// TestColumnsEqualLayout: rows packed from columns, sliced ones too, are byte
// for byte those that are packed from values.
func TestColumnsEqualLayout(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		first := drawRow(t, rt)
		rows := []drawnRow{first}
		for range rapid.IntRange(0, 5).Draw(rt, "rows") {
			row := drawnRow{view: first.view, event: drawTime(rt), created: drawTime(rt)}
			for _, typ := range first.types() {
				row.values = append(row.values, drawValue(rt, typ))
			}
			rows = append(rows, row)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, columns.TableSchema(first.view.BoundView))
		for i, row := range rows {
			columns.Append(b.Field(0), feature.Int64Value(int64(i)))
			columns.Append(b.Field(1), feature.TimestampValue(row.event))
			columns.Append(b.Field(2), feature.TimestampValue(row.created))
			for j, v := range row.values {
				columns.Append(b.Field(3+j), v)
			}
		}
		from := rapid.IntRange(0, len(rows)-1).Draw(rt, "from")
		c, err := first.view.Layout.Columns(b.NewRecord().NewSlice(int64(from), int64(len(rows))))
		require.NoError(rt, err)
		require.Equal(rt, len(rows)-from, c.Rows())
		for i, row := range rows[from:] {
			packed, err := c.AppendRow([]byte("x"), i)
			require.NoError(rt, err)
			require.Equal(rt, append([]byte("x"), row.pack(t)...), packed)
			key, err := c.AppendKey([]byte("x"), i)
			require.NoError(rt, err)
			require.Equal(rt, "x"+string(row.view.Key(t, feature.Int64Value(int64(from+i)))), string(key))
			require.Equal(rt, feature.Version{Event: row.event, Created: row.created}, c.Version(i))
		}
	})
}

// keyed is a view with a key of every type, and a record of one row of it.
func keyed(tb testing.TB, values ...feature.Value) (onlinetest.View, arrow.Record) {
	tb.Helper()
	v := onlinetest.MakeView(tb, 1, []string{"a bool", "b int32", "c int64", "d string", "e bytes", "f timestamp"}, []string{"v int64"})
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns.TableSchema(v.BoundView))
	for i, value := range values {
		columns.Append(b.Field(i), value)
	}
	columns.Append(b.Field(6), feature.TimestampValue(1))
	columns.Append(b.Field(7), feature.TimestampValue(1))
	columns.Append(b.Field(8), feature.Int64Value(1))
	return v, b.NewRecord()
}

func keyValues() []feature.Value {
	return []feature.Value{
		feature.BoolValue(true), feature.Int32Value(-7), feature.Int64Value(-1 << 63), feature.StringValue("a\x00ü"),
		feature.BytesValue([]byte{0, 0xff}), feature.TimestampValue(-1),
	}
}

func TestColumnsKey(t *testing.T) {
	v, rec := keyed(t, keyValues()...)
	c, err := v.Layout.Columns(rec)
	require.NoError(t, err)
	key, err := c.AppendKey(nil, 0)
	require.NoError(t, err)
	require.Equal(t, string(v.Key(t, keyValues()...)), string(key))
}

func TestColumnsKeyRefused(t *testing.T) {
	for name, c := range map[string]struct {
		at    int
		value feature.Value
		code  feature.Code
		why   string
	}{
		"null":      {1, feature.Null(feature.Int32), feature.CodeInvalidArgument, "join key b is null"},
		"not UTF-8": {3, feature.StringValue("\xff"), feature.CodeInvalidArgument, "join key d"},
		"too large": {3, feature.StringValue(strings.Repeat("k", feature.MaxEntityKeyBytes)), feature.CodeTooLarge, "more than 32768"},
	} {
		values := keyValues()
		values[c.at] = c.value
		v, rec := keyed(t, values...)
		cols, err := v.Layout.Columns(rec)
		require.NoError(t, err, name)
		out, err := cols.AppendKey([]byte("before"), 0)
		require.Equal(t, c.code, feature.CodeOf(err), name)
		require.ErrorContains(t, err, c.why, name)
		require.Equal(t, "before", string(out), name)
	}
}

// TestColumnsRowRefused: text that is not UTF-8 and a null in a vector are not
// packed, wherever they stand.
func TestColumnsRowRefused(t *testing.T) {
	bad := feature.StringValue("\xff")
	text, vector := feature.ListOf(feature.String), feature.Vector(2)
	for name, value := range map[string]feature.Value{
		"text":   bad,
		"list":   feature.ListValue(text, []feature.Value{feature.StringValue("ok"), bad}),
		"vector": feature.ListValue(vector, []feature.Value{feature.Float32Value(1), feature.Null(feature.Float32)}),
	} {
		v := viewOf(t, []feature.Type{value.Type()})
		schema := columns.TableSchema(v.BoundView)
		if value.Type() == vector { // a builder of the right schema would not take the null
			field := schema.Field(3)
			field.Type = arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)
			schema = arrow.NewSchema([]arrow.Field{schema.Field(0), schema.Field(1), schema.Field(2), field}, nil)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		columns.Append(b.Field(0), feature.Int64Value(1))
		columns.Append(b.Field(1), feature.TimestampValue(1))
		columns.Append(b.Field(2), feature.TimestampValue(1))
		columns.Append(b.Field(3), value)
		c, err := v.Layout.Columns(b.NewRecord())
		require.NoError(t, err, name)
		out, err := c.AppendRow([]byte("before"), 0)
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), name)
		require.Equal(t, "before", string(out), name)
	}
}

// TestColumnsBind: every column that is missing or of another type is told at
// once; nanoseconds are not taken for microseconds.
func TestColumnsBind(t *testing.T) {
	v := onlinetest.MakeView(t, 1, []string{"k int64"}, []string{"a int64", "b float32", "c list<int64>", "d vector<float32,3>", "e string"})
	fields := []arrow.Field{
		{Name: "event_timestamp", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}},
		{Name: "created_timestamp", Type: columns.Timestamp},
		{Name: "a", Type: arrow.PrimitiveTypes.Float64},
		{Name: "b", Type: arrow.PrimitiveTypes.Int32},
		{Name: "c", Type: arrow.PrimitiveTypes.Int64},
		{Name: "d", Type: arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float32)},
		{Name: "e", Type: arrow.BinaryTypes.LargeString},
	}
	rec := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil)).NewRecord()
	_, err := v.Layout.Columns(rec)
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
	var named []string
	for _, f := range feature.FaultsOf(err) {
		named = append(named, f.Field)
	}
	require.Equal(t, []string{"columns[k]", "columns[event_timestamp]", "columns[a]", "columns[b]", "columns[c]", "columns[d]", "columns[e]"}, named)
}

func BenchmarkColumnsAppendRow(b *testing.B) {
	v, rec := tenFloats(b, 1000)
	c, err := v.Layout.Columns(rec)
	require.NoError(b, err)
	var buf []byte
	for b.Loop() {
		buf = buf[:0]
		for i := range c.Rows() {
			if buf, err = c.AppendRow(buf, i); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/row")
}

// tenFloats is a view of ten float64 and a record of it.
func tenFloats(tb testing.TB, rows int) (onlinetest.View, arrow.Record) {
	tb.Helper()
	types := make([]feature.Type, 10)
	for i := range types {
		types[i] = feature.Float64
	}
	v := viewOf(tb, types)
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns.TableSchema(v.BoundView))
	for i := range rows {
		columns.Append(b.Field(0), feature.Int64Value(int64(i)))
		columns.Append(b.Field(1), feature.TimestampValue(1))
		columns.Append(b.Field(2), feature.TimestampValue(1))
		for j := range types {
			columns.Append(b.Field(3+j), feature.Float64Value(float64(i*j)/7))
		}
	}
	return v, b.NewRecord()
}
