package offline_test

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/parquetio"
)

// arrays makes a spine of one batch of Arrow columns.
func arrays(t *testing.T, names []string, cols ...arrow.Array) array.RecordReader {
	t.Helper()
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: names[i], Type: c.DataType(), Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	r, err := array.NewRecordReader(schema, []arrow.Record{array.NewRecord(schema, cols, int64(cols[0].Len()))})
	require.NoError(t, err)
	return r
}

// fromJSON builds an array of any type from JSON.
func fromJSON(t *testing.T, dt arrow.DataType, text string) arrow.Array {
	t.Helper()
	arr, _, err := array.FromJSON(memory.DefaultAllocator, dt, strings.NewReader(text))
	require.NoError(t, err)
	return arr
}

// lastColumn joins a view to a spine and prints its feature.
func lastColumn(t *testing.T, s *offline.Store, v *feature.BoundView, spine array.RecordReader) []string {
	t.Helper()
	reader, err := s.Historical(t.Context(), offline.HistoricalRequest{Spine: spine, TimeColumn: "at", Selection: selectAll(v)})
	require.NoError(t, err)
	defer reader.Release()
	var out []string
	for reader.Next() {
		c := reader.Record().Column(int(reader.Record().NumCols()) - 1)
		for i := range c.Len() {
			out = append(out, c.ValueStr(i))
		}
	}
	require.NoError(t, reader.Err())
	return out
}

// TestSpineKeyTypes asks for keys in every type that can say them.
func TestSpineKeyTypes(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{})
	prims := arrow.PrimitiveTypes
	keyed := func(id feature.ViewID, typ feature.Type, keys ...feature.Value) *feature.BoundView {
		v := numbers(id)
		v.Keys[0].Type = typ
		for i, k := range keys {
			key, err := feature.MakeEntityKey(v.Keys, []feature.Value{k})
			require.NoError(t, err)
			load(t, s, v, []feature.Row{{Key: key, Event: at(0), Created: at(0), Values: []feature.Value{feature.Int64Value(int64(i))}}})
		}
		return v
	}
	i64 := keyed(1, feature.Int64, feature.Int64Value(7), feature.Int64Value(math.MaxInt64), feature.Int64Value(-1))
	i32 := keyed(2, feature.Int32, feature.Int32Value(7), feature.Int32Value(-1))
	str := keyed(3, feature.String, feature.StringValue("a"), feature.StringValue(""))
	raw := keyed(4, feature.Bytes, feature.BytesValue([]byte("ab")), feature.BytesValue([]byte{}))
	flag := keyed(5, feature.Bool, feature.BoolValue(false), feature.BoolValue(true))
	day := keyed(6, feature.TimestampType, feature.TimestampValue(0), feature.TimestampValue(-1))
	dict := func(index, value arrow.DataType) arrow.DataType {
		return &arrow.DictionaryType{IndexType: index, ValueType: value}
	}
	null := array.NullValueStr
	for _, c := range []struct {
		view *feature.BoundView
		dt   arrow.DataType
		keys string
		want []string
	}{
		{i64, prims.Int64, `[7, -1, 8, null]`, []string{"0", "2", null, null}},
		{i64, prims.Int8, `[7, -1]`, []string{"0", "2"}},
		{i64, prims.Uint32, `[7, 4294967295]`, []string{"0", null}},
		{i64, prims.Uint64, `[7, 9223372036854777856, null]`, []string{"0", null, null}},
		{i32, prims.Int64, `[7, -1, 4294967303]`, []string{"0", "1", null}},
		{i32, prims.Int16, `[-1]`, []string{"1"}},
		{str, arrow.BinaryTypes.LargeString, `["a", "", null]`, []string{"0", "1", null}},
		{str, arrow.BinaryTypes.StringView, `["a", "b"]`, []string{"0", null}},
		{str, dict(prims.Int8, arrow.BinaryTypes.String), `["a", null, "", "a"]`, []string{"0", null, "1", "0"}},
		{i64, dict(prims.Int16, prims.Int32), `[-1, 7]`, []string{"2", "0"}},
		{raw, &arrow.FixedSizeBinaryType{ByteWidth: 2}, `["YWI=", null]`, []string{"0", null}},
		{raw, arrow.BinaryTypes.LargeBinary, `["", "YWI="]`, []string{"1", "0"}},
		{flag, arrow.FixedWidthTypes.Boolean, `[true, false, null]`, []string{"1", "0", null}},
		{day, arrow.FixedWidthTypes.Date32, `["1970-01-01"]`, []string{"0"}},
		{day, arrow.FixedWidthTypes.Timestamp_ns, `["1969-12-31T23:59:59.9999999", "1970-01-01T00:00:00"]`, []string{"1", "0"}},
		{i64, arrow.Null, `[null, null]`, []string{null, null}},
		{str, arrow.Null, `[null]`, []string{null}},
	} {
		keys := fromJSON(t, c.dt, c.keys)
		times := strings.TrimSuffix(strings.Repeat(`"2024-01-02T00:00:00",`, keys.Len()), ",")
		got := lastColumn(t, s, c.view, arrays(t, []string{"k", "at"}, keys, fromJSON(t, columns.Timestamp, "["+times+"]")))
		require.Equal(t, c.want, got, "%s for %s", c.dt, c.view.Keys[0].Type)
	}
}

// TestSpineTimeTypes is H07: times of every type, floored and never moved
// forward.
func TestSpineTimeTypes(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{})
	v := numbers(1)
	for i, us := range []feature.Timestamp{-2, -1, 0, 1} {
		load(t, s, v, []feature.Row{row(t, v, 1, us, us, feature.Int64Value(int64(i)-2))})
	}
	null := array.NullValueStr
	unit := func(u arrow.TimeUnit, zone string) arrow.DataType {
		return &arrow.TimestampType{Unit: u, TimeZone: zone}
	}
	for _, c := range []struct {
		dt    arrow.DataType
		times string
		want  []string
	}{
		{unit(arrow.Nanosecond, "UTC"), `[-1, -1001, 999, 1000, -2001, null]`, []string{"-1", "-2", "0", "1", null, null}},
		{unit(arrow.Nanosecond, "Asia/Kolkata"), `[-1000]`, []string{"-1"}},
		{unit(arrow.Microsecond, ""), `[-1, 0]`, []string{"-1", "0"}},
		{unit(arrow.Millisecond, ""), `[-1, 0, 5]`, []string{null, "0", "1"}},
		{unit(arrow.Second, ""), `[-1, 0, 5]`, []string{null, "0", "1"}},
		{arrow.FixedWidthTypes.Date32, `["1969-12-31", "1970-01-01", "1970-01-02"]`, []string{null, "0", "1"}},
		{arrow.FixedWidthTypes.Date64, `["1970-01-01"]`, []string{"0"}},
		{arrow.BinaryTypes.String, `["1969-12-31T23:59:59.9999999Z", "1970-01-01 05:30:00+05:30", "1970-01-01", null]`, []string{"-1", null, "0", null}},
		{arrow.BinaryTypes.LargeString, `["1970-01-01T05:30:00+05:30"]`, []string{"0"}},
		{arrow.Null, `[null]`, []string{null}},
		{
			&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
			`["1970-01-01", null, "1970-01-02", "1970-01-01"]`,
			[]string{"0", null, "1", "0"},
		},
	} {
		if c.dt.ID() == arrow.STRING {
			c.want[1] = "0"
		}
		times := fromJSON(t, c.dt, c.times)
		keys := strings.TrimSuffix(strings.Repeat("1,", times.Len()), ",")
		got := lastColumn(t, s, v, arrays(t, []string{"k", "at"}, fromJSON(t, arrow.PrimitiveTypes.Int64, "["+keys+"]"), times))
		require.Equal(t, c.want, got, "%s", c.dt)
	}
}

// TestSpineRefuses tells every fault of a spine.
func TestSpineRefuses(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{})
	v := numbers(1)
	int64s, times := fromJSON(t, arrow.PrimitiveTypes.Int64, `[1]`), fromJSON(t, columns.Timestamp, `[0]`)
	names := []string{"k", "at"}
	for _, c := range []struct {
		spine array.RecordReader
		want  []string
	}{
		{arrays(t, []string{"x"}, int64s), []string{"spine.at: the time column is missing", "spine.k: the join key is missing"}},
		{arrays(t, names, fromJSON(t, arrow.BinaryTypes.String, `["1"]`), times), []string{"spine.k: utf8 where int64 is expected"}},
		{arrays(t, names, fromJSON(t, arrow.PrimitiveTypes.Float64, `[1]`), times), []string{"spine.k: float64 where int64 is expected"}},
		{arrays(t, names, int64s, int64s), []string{"spine.at: int64 is not a time (expected a timestamp"}},
		{arrays(t, names, fromJSON(t, arrow.ListOf(arrow.PrimitiveTypes.Int64), `[[1]]`), times), []string{"spine.k: list<item: int64, nullable> where int64 is expected"}},
	} {
		_, err := s.Historical(t.Context(), offline.HistoricalRequest{Spine: c.spine, TimeColumn: "at", Selection: selectAll(v)})
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
		for _, want := range c.want {
			require.ErrorContains(t, err, want)
		}
	}
	for _, c := range []struct {
		times arrow.Array
		want  string
	}{
		{fromJSON(t, arrow.BinaryTypes.String, `["yesterday"]`), `spine.at[0]: "yesterday" is not a timestamp`},
		{fromJSON(t, &arrow.TimestampType{Unit: arrow.Second}, `[9223372036854775807]`), "spine.at[0]: timestamp outside"},
	} {
		reader, err := s.Historical(t.Context(), offline.HistoricalRequest{Spine: arrays(t, names, int64s, c.times), TimeColumn: "at", Selection: selectAll(v)})
		require.NoError(t, err)
		require.False(t, reader.Next())
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(reader.Err()))
		require.ErrorContains(t, reader.Err(), c.want)
		reader.Release()
	}
}

// TestSpineColumnsPass keeps columns of types that features do not have.
func TestSpineColumnsPass(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{MemoryLimit: 1})
	v := numbers(1)
	load(t, s, v, []feature.Row{row(t, v, 1, 0, 0, feature.Int64Value(5))})
	others := []arrow.Array{
		fromJSON(t, arrow.PrimitiveTypes.Int64, `[1, 2, null]`),
		fromJSON(t, columns.Timestamp, `[9, 9, 9]`),
		fromJSON(t, &arrow.Decimal128Type{Precision: 9, Scale: 2}, `["1.50", null, "-2.25"]`),
		fromJSON(t, arrow.StructOf(arrow.Field{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}), `[{"a": "x"}, null, {"a": null}]`),
		fromJSON(t, &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String}, `["u", "v", "u"]`),
		fromJSON(t, arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int32), `[[{"key": "a", "value": 1}], null, []]`),
		fromJSON(t, arrow.FixedWidthTypes.Duration_ms, `[1, 2, null]`),
	}
	spine := arrays(t, []string{"k", "at", "dec", "rec", "dict", "map", "dur"}, others...)
	require.True(t, spine.Next())
	want := spine.Record()
	again, err := array.NewRecordReader(spine.Schema(), []arrow.Record{want})
	require.NoError(t, err)
	reader, err := s.Historical(t.Context(), offline.HistoricalRequest{Spine: again, TimeColumn: "at", Selection: selectAll(v)})
	require.NoError(t, err)
	defer reader.Release()
	base := int64(0)
	for reader.Next() {
		rec := reader.Record()
		for c := range others {
			require.True(t, array.SliceEqual(rec.Column(c), 0, rec.NumRows(), others[c], base, base+rec.NumRows()), "column %d", c)
		}
		base += rec.NumRows()
	}
	require.NoError(t, reader.Err())
	require.EqualValues(t, 3, base)
}

// TestHistoricalOfEveryType takes features of every type, null and not, late
// and evolved, of two views with different keys, in an order of their own.
func TestHistoricalOfEveryType(t *testing.T) {
	values := map[feature.Type]feature.Value{
		feature.Bool: feature.BoolValue(true), feature.Int32: feature.Int32Value(-3), feature.Int64: feature.Int64Value(9007199254740993),
		feature.Float32: feature.Float32Value(1.5), feature.Float64: feature.Float64Value(math.Inf(1)),
		feature.String: feature.StringValue("é"), feature.Bytes: feature.BytesValue([]byte{0, 255}),
		feature.TimestampType: feature.TimestampValue(at(1)), feature.Vector(3): feature.VectorValue([]float32{1, 2, 3}),
	}
	for _, elem := range []feature.Type{feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes, feature.TimestampType} {
		values[feature.ListOf(elem)] = feature.ListValue(feature.ListOf(elem), []feature.Value{values[elem], feature.Null(elem), values[elem]})
	}
	v, w := makeView(1), makeView(2, feature.Feature{Name: "w", Type: feature.String})
	w.Keys = []feature.JoinKey{{Name: "k", Type: feature.Int64}, {Name: "a", Type: feature.String}}
	full, nulls, empty := feature.Row{}, feature.Row{}, feature.Row{}
	for typ, value := range values {
		v.Features = append(v.Features, feature.Feature{Name: "f" + strings.NewReplacer("<", "_", ">", "", ",", "_").Replace(typ.String()), Type: typ})
		full.Values, nulls.Values = append(full.Values, value), append(nulls.Values, feature.Null(typ))
		if typ.List {
			value = feature.ListValue(typ, nil)
		}
		empty.Values = append(empty.Values, value)
	}
	for key, r := range []*feature.Row{&full, &nulls, &empty} {
		r.Key, r.Event, r.Created = entity(t, v, int64(key)), at(0), at(0)
	}
	wKey, err := feature.MakeEntityKey(w.Keys, []feature.Value{feature.Int64Value(2), feature.StringValue("x")})
	require.NoError(t, err)
	for name, o := range layouts() {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, memBucket(t), o)
			load(t, s, v, []feature.Row{full, nulls, empty})
			load(t, s, w, []feature.Row{{Key: wKey, Event: at(0), Created: at(0), Values: []feature.Value{feature.StringValue("W")}}})
			sel := selectAll(w, v)
			cols := append([]feature.Feature{{Name: "a", Type: feature.String}}, spineColumns...)
			var rows [][]feature.Value
			for _, key := range []int64{2, 0, 3, 1, 2} {
				rows = append(rows, []feature.Value{feature.StringValue("x"), feature.Int64Value(key), feature.TimestampValue(at(9))})
			}
			reader, err := s.Historical(t.Context(), offline.HistoricalRequest{Spine: spineOf(t, cols, rows, 2), TimeColumn: "at", Selection: sel, FullNames: true})
			require.NoError(t, err)
			require.Equal(t, "v2__w", reader.Schema().Field(3).Name)
			types := []feature.Type{feature.String, feature.Int64, feature.TimestampType}
			for _, f := range sel.Features {
				types = append(types, f.Type())
			}
			got := drain(t, reader, types)
			for i, want := range []feature.Row{empty, full, nulls, nulls, empty} {
				require.Equal(t, i == 0 || i == 4, !got[i][3].IsNull())
				for c, value := range want.Values {
					require.True(t, value.Equal(got[i][4+c]), "row %d: %s: %v where %v is expected", i, v.Features[c].Name, got[i][4+c], value)
				}
			}
		})
	}
}

// TestZones is H11: days are those of UTC, wherever the process runs. A file per
// day, as a partition has, TTL 6 h.
func TestZones(t *testing.T) {
	defer func(z *time.Location) { time.Local = z }(time.Local)
	zone := func(name string) *time.Location {
		z, err := time.LoadLocation(name)
		require.NoError(t, err)
		return z
	}
	ts := func(text string) feature.Timestamp {
		v, err := feature.ParseTimestamp(text)
		require.NoError(t, err)
		return v
	}
	v := numbers(1)
	v.TTL = feature.TTL(6 * time.Hour)
	b := memBucket(t)
	time.Local = zone("Asia/Kolkata")
	s := openStore(t, b, offline.Options{})
	for i, text := range []string{"2023-12-31 20:00", "2023-12-31T23:59:59.999999", "2024-01-01"} {
		load(t, s, v, []feature.Row{row(t, v, int64(i), ts(text), ts(text), feature.Int64Value(int64(i)))})
	}
	time.Local = zone("America/Los_Angeles")
	s = openStore(t, b, offline.Options{})
	spine := arrays(t, []string{"k", "at"}, fromJSON(t, arrow.PrimitiveTypes.Int64, `[0, 1, 2, 0]`),
		fromJSON(t, arrow.BinaryTypes.String, `["2024-01-01", "2024-01-01 00:00", "2024-01-01T00:00:00", "2024-01-01T02:00:00.000001"]`))
	require.Equal(t, []string{"0", "1", "2", array.NullValueStr}, lastColumn(t, s, v, spine))
}

// TestStatisticsOfOthers is H24: the log of another writer cuts the greatest
// timestamp to the millisecond, or its offset to minutes, and the file is not
// pruned for that.
func TestStatisticsOfOthers(t *testing.T) {
	ts, err := feature.ParseTimestamp("2024-01-01T10:00:00.123456Z")
	require.NoError(t, err)
	v := numbers(1)
	v.TTL = feature.TTL(100 * time.Microsecond)
	for _, bound := range []string{"2024-01-01T10:00:00.123Z", "2024-01-01T10:00:00.123+00:00", "2024-01-01T02:07:02.123-07:52"} {
		source := memBucket(t)
		s := openStore(t, source, offline.Options{})
		load(t, s, v, []feature.Row{row(t, v, 1, ts, ts, feature.Int64Value(7))})
		b := memBucket(t)
		restated := false
		for _, key := range keysOf(t, source) {
			data, err := source.Get(t.Context(), key)
			require.NoError(t, err)
			if strings.HasSuffix(key, "1.json") {
				var changed []byte
				changed, restated = restate(data, bound)
				data = changed
			}
			require.NoError(t, b.PutIfAbsent(t.Context(), key, data))
		}
		require.True(t, restated, "the commit has bounds of timestamps")
		spine := arrays(t, []string{"k", "at"}, fromJSON(t, arrow.PrimitiveTypes.Int64, `[1, 1]`),
			fromJSON(t, columns.Timestamp, `["2024-01-01T10:00:00.123500", "2024-01-01T10:00:00.123557"]`))
		require.Equal(t, []string{"7", array.NullValueStr}, lastColumn(t, openStore(t, b, offline.Options{}), v, spine), bound)
	}
}

// restate puts another greatest event timestamp into a commit.
func restate(commit []byte, bound string) ([]byte, bool) {
	mark := []byte(`maxValues\":{`)
	at := bytes.Index(commit, mark)
	if at < 0 {
		return nil, false
	}
	field := []byte(`event_timestamp\":\"`)
	start := bytes.Index(commit[at:], field)
	if start < 0 {
		return nil, false
	}
	start += at + len(field)
	end := start + bytes.IndexByte(commit[start:], '\\')
	return bytes.Join([][]byte{commit[:start], []byte(bound), commit[end:]}, nil), true
}

// foreignFile adds a file to a table as another writer would.
func foreignFile(t *testing.T, b bucket.Bucket, v *feature.BoundView, rec arrow.Record, metadata delta.Metadata, partition map[string]string) {
	t.Helper()
	const name = "day=x/part.parquet"
	log := delta.New(b, offline.TablePath(v), delta.Options{})
	if _, err := log.Snapshot(t.Context()); err != nil {
		_, err = log.Create(t.Context(), metadata)
		require.NoError(t, err)
	}
	var data bytes.Buffer
	w, err := parquetio.NewWriter(&data, rec.Schema(), parquetio.WriterOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Write(rec))
	_, err = w.Close()
	require.NoError(t, err)
	require.NoError(t, b.PutIfAbsent(t.Context(), offline.TablePath(v)+"/"+name, data.Bytes()))
	_, err = log.Commit(t.Context(), delta.Transaction{Operation: "WRITE", Add: []delta.File{{
		Path: name, Size: int64(data.Len()), DataChange: true, PartitionValues: partition, Stats: delta.Stats{Rows: -1},
	}}})
	require.NoError(t, err)
}

// TestTablesOfOthers reads files that are not sorted, lie in partitions, and say
// the same with other types.
func TestTablesOfOthers(t *testing.T) {
	forLayoutOptions(t, func(t *testing.T, o offline.Options) {
		t.Helper()
		b := memBucket(t)
		v := makeView(1, feature.Feature{Name: "v", Type: feature.Int64}, feature.Feature{Name: "l", Type: feature.ListOf(feature.Float64)},
			feature.Feature{Name: "e", Type: feature.Vector(2)}, feature.Feature{Name: "day", Type: feature.String})
		fields := []delta.Field{
			{Name: "k", Type: feature.Int64, Nullable: true},
			{Name: "event_timestamp", Type: feature.TimestampType, Nullable: true},
			{Name: "created_timestamp", Type: feature.TimestampType, Nullable: true},
			{Name: "v", Type: feature.Int64, Nullable: true},
			{Name: "l", Type: feature.ListOf(feature.Float64), Nullable: true},
			{Name: "e", Type: feature.Vector(2), Nullable: true},
			{Name: "day", Type: feature.String, Nullable: true},
		}
		schema := []string{"v", "k", "created_timestamp", "event_timestamp", "l", "e"}
		cols := []arrow.Array{
			fromJSON(t, arrow.PrimitiveTypes.Int32, `[1, 2, 3, 4]`),
			fromJSON(t, arrow.PrimitiveTypes.Int64, `[2, 1, 2, 1]`),
			fromJSON(t, columns.Timestamp, `[0, 0, 1, 9]`),
			fromJSON(t, columns.Timestamp, `[5, 8, 5, 3]`),
			fromJSON(t, arrow.ListOf(arrow.PrimitiveTypes.Float32), `[[1.5], null, [], [2.5, null]]`),
			fromJSON(t, arrow.ListOf(arrow.PrimitiveTypes.Float32), `[[1, 2], null, [3, 4], [5, 6]]`),
		}
		reader := arrays(t, schema, cols...)
		require.True(t, reader.Next())
		foreignFile(t, b, v, reader.Record(), delta.Metadata{Fields: fields, PartitionColumns: []string{"day"}}, map[string]string{"day": "x"})
		s := openStore(t, b, o)
		got, err := s.Historical(t.Context(), offline.HistoricalRequest{
			Spine: spineOf(t, spineColumns, [][]feature.Value{
				{feature.Int64Value(2), feature.TimestampValue(5)},
				{feature.Int64Value(1), feature.TimestampValue(7)},
				{feature.Int64Value(1), feature.TimestampValue(8)},
			}, 10), TimeColumn: "at", Selection: selectAll(v),
		})
		require.NoError(t, err)
		rows := drain(t, got, []feature.Type{feature.Int64, feature.TimestampType, feature.Int64, feature.ListOf(feature.Float64), feature.Vector(2), feature.String})
		for i := range rows {
			rows[i] = rows[i][2:]
		}
		require.Equal(t, []string{`3 [] [3.0,4.0] "x"`, `4 [2.5,null] [5.0,6.0] "x"`, `2 null null "x"`}, texts(rows))
		scanned, err := s.Scan(t.Context(), v, offline.ScanRequest{Columns: []string{"v"}, Keys: []feature.EntityKey{entity(t, v, 2)}})
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"1", "3"}, texts(drain(t, scanned, []feature.Type{feature.Int64})))
	})
}

func forLayoutOptions(t *testing.T, test func(t *testing.T, o offline.Options)) {
	t.Helper()
	for name, o := range layouts() {
		t.Run(name, func(t *testing.T) { test(t, o) })
	}
}
