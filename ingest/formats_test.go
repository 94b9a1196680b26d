package ingest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/internal/strictjson"
)

// anyTypes are the types of the columns of the table of anyView.
func anyTypes() []feature.Type {
	v := anyView()
	out := []feature.Type{feature.String, feature.TimestampType, feature.TimestampType}
	for _, f := range v.Features {
		out = append(out, f.Type)
	}
	return out
}

// drawValue draws a value that every format can spell; extremes are likely.
func drawValue(rt *rapid.T, typ feature.Type) feature.Value {
	if !typ.IsScalar() {
		n := rapid.IntRange(0, 3).Draw(rt, "elements")
		if typ.IsVector() {
			n = int(typ.Dim)
		}
		elems := make([]feature.Value, n)
		for i := range elems {
			elems[i] = drawValue(rt, typ.Elem())
			if !typ.IsVector() && rapid.IntRange(0, 3).Draw(rt, "null") == 0 {
				elems[i] = feature.Null(typ.Elem())
			}
		}
		return feature.ListValue(typ, elems)
	}
	float := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 0.1, 1 << 53}))
	switch typ.Kind {
	case feature.KindBool:
		return feature.BoolValue(rapid.Bool().Draw(rt, "bool"))
	case feature.KindInt32:
		return feature.Int32Value(rapid.Int32().Draw(rt, "int32"))
	case feature.KindInt64:
		return feature.Int64Value(rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{9007199254740993, math.MinInt64, 2147483648})).Draw(rt, "int64"))
	case feature.KindFloat32:
		return feature.Float32Value(float32(float.Draw(rt, "float32")))
	case feature.KindFloat64:
		return feature.Float64Value(float.Draw(rt, "float64"))
	case feature.KindString:
		return feature.StringValue(rapid.OneOf(rapid.String(), rapid.StringMatching("[a\",;\r\n \\\\']{0,8}")).Draw(rt, "string"))
	case feature.KindBytes:
		return feature.BytesValue(rapid.SliceOfN(rapid.Byte(), 0, 8).Draw(rt, "bytes"))
	case feature.KindTimestamp:
		return feature.TimestampValue(feature.Timestamp(rapid.Int64Range(int64(feature.MinTimestamp), int64(feature.MaxTimestamp)).Draw(rt, "timestamp")))
	case feature.KindInvalid:
	}
	panic("no such kind")
}

// drawRows draws rows of anyView: keys and times are there, features may be null.
func drawRows(rt *rapid.T) [][]feature.Value {
	types := anyTypes()
	rows := make([][]feature.Value, rapid.IntRange(0, 20).Draw(rt, "rows"))
	for i := range rows {
		rows[i] = make([]feature.Value, len(types))
		for k, typ := range types {
			if k > 2 && rapid.IntRange(0, 4).Draw(rt, "null") == 0 {
				rows[i][k] = feature.Null(typ)
			} else {
				rows[i][k] = drawValue(rt, typ)
			}
		}
	}
	return rows
}

// cellText spells a value as a cell of CSV.
func cellText(v feature.Value) string {
	if v.IsNull() {
		return ""
	}
	text := v.String()
	switch v.Type() {
	case feature.String:
		text = v.Text()
	case feature.Bytes:
		text = base64.StdEncoding.EncodeToString([]byte(v.Text()))
	case feature.Float32, feature.Float64, feature.TimestampType:
		text = strings.Trim(text, `"`)
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}

func rowsAsCSV(names []string, rows [][]feature.Value) []byte {
	var b bytes.Buffer
	b.WriteString(strings.Join(names, ",") + "\n")
	for _, row := range rows {
		for k, v := range row {
			if k > 0 {
				b.WriteByte(',')
			}
			b.WriteString(cellText(v))
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func rowAsObject(names []string, row []feature.Value) string {
	members := make([]string, len(row))
	for k, v := range row {
		members[k] = fmt.Sprintf("%q:%s", names[k], v)
	}
	return "{" + strings.Join(members, ",") + "}"
}

func rowsAsColumns(names []string, rows [][]feature.Value) []byte {
	members := make([]string, len(names))
	for k, name := range names {
		values := make([]string, len(rows))
		for i, row := range rows {
			values[i] = row[k].String()
		}
		members[k] = fmt.Sprintf("%q:[%s]", name, strings.Join(values, ","))
	}
	return []byte("{" + strings.Join(members, ",") + "}")
}

func rowsAsRecord(names []string, rows [][]feature.Value) arrow.Record {
	fields, arrays := make([]arrow.Field, len(names)), make([]arrow.Array, len(names))
	for k, typ := range anyTypes() {
		fields[k] = arrow.Field{Name: names[k], Type: columns.DataType(typ), Nullable: true}
		b := array.NewBuilder(memory.DefaultAllocator, fields[k].Type)
		for _, row := range rows {
			columns.Append(b, row[k])
		}
		arrays[k] = b.NewArray()
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(len(rows)))
}

// TestFormatsAgree is T12 and more: the same rows, of every type, are the same
// table whichever format they came in.
func TestFormatsAgree(t *testing.T) {
	names := strings.Split(strings.TrimSpace(anyHeader), ",")
	rapid.Check(t, func(rt *rapid.T) {
		rows := drawRows(rt)
		want := make([]string, len(rows))
		objects := make([]string, len(rows))
		for i, row := range rows {
			for _, v := range row {
				want[i] += v.String() + " "
			}
			objects[i] = rowAsObject(names, row)
		}
		check := func(name string, format feature.Format, data []byte) {
			out := ingestBytes(t, Options{ChunkBytes: 256}, format, data)
			require.False(rt, out.refused, name)
			require.Empty(rt, out.rejections, name)
			require.Len(rt, out.rows, len(want), name)
			for i := range want {
				require.Equal(rt, want[i], out.rows[i], name)
			}
		}
		check("csv", feature.FormatCSV, rowsAsCSV(names, rows))
		check("ndjson", feature.FormatNDJSON, []byte(strings.Join(objects, "\n")))
		check("json rows", feature.FormatJSON, []byte("["+strings.Join(objects, ", ")+"]"))
		check("json columns", feature.FormatJSON, rowsAsColumns(names, rows))
		rec := rowsAsRecord(names, rows)
		check("parquet", feature.FormatParquet, columnar(t, "parquet", rec))
		check("arrow file", feature.FormatArrow, columnar(t, "arrow", rec))
		check("arrow stream", feature.FormatArrow, columnar(t, "stream-lz4", rec))
	})
}

// cellType draws a type that a cell may have.
func cellType() *rapid.Generator[feature.Type] {
	return rapid.SampledFrom([]feature.Type{
		feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes,
		feature.TimestampType, feature.ListOf(feature.Int64), feature.ListOf(feature.String), feature.Vector(2),
	})
}

// sameCell compares row 0 of a decoded column with what the rule says of it.
func sameCell(t require.TestingT, c *cells, typ feature.Type, want feature.Value, wantErr error) {
	arr := c.decode(0, typ, 0)
	require.Equal(t, 1, arr.Len())
	got, err := columns.Value(arr, 0, typ)
	require.NoError(t, err)
	if wantErr != nil {
		require.Len(t, c.faults, 1)
		require.Equal(t, wantErr.Error(), c.faults[0].reason)
		require.True(t, got.IsNull())
		return
	}
	require.Empty(t, c.faults)
	require.Equal(t, want.IsNull(), got.IsNull())
	require.Equal(t, want.String(), got.String())
}

// TestCellsFollowTheRules: a cell of CSV is what feature.ParseText says, quoted
// or not, and a member of NDJSON what strictjson.Value says, for every type.
func TestCellsFollowTheRules(t *testing.T) {
	text := rapid.OneOf(
		rapid.SampledFrom(texts), rapid.String(), rapid.StringMatching(`-?[0-9]{1,20}(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?`),
		rapid.StringMatching(`\[("?[a-z0-9.]{0,3}"?,?){0,3}\]`), rapid.SampledFrom([]string{"true", "FALSE", "True", "AP8=", "\xff", "a\xed\xa0\x80", "[1, null]", "[0.5, 1]", `["a"]`}),
	)
	rapid.Check(t, func(rt *rapid.T) {
		typ, value := cellType().Draw(rt, "type"), text.Draw(rt, "text")
		want, err := feature.Value{}, error(nil)
		if typ.IsScalar() {
			want, err = feature.ParseText(typ, value)
		} else if c := (&cells{buf: []byte(value)}); true {
			want, err = csvValue(c, makeSpan(0, len(value), 0), typ)
		}
		c := newCells(1)
		newDialect(feature.CSVOptions{}).split([]byte(`"`+strings.ReplaceAll(value, `"`, `""`)+`"`+"\n"), []int{0}, c)
		sameCell(rt, c, typ, want, err)
		if !strings.ContainsAny(value, "\",\r\n") && value != "" {
			newDialect(feature.CSVOptions{}).split([]byte(value+"\n"), []int{0}, c)
			sameCell(rt, c, typ, want, err)
		}
	})
	rapid.Check(t, func(rt *rapid.T) {
		typ, raw := cellType().Draw(rt, "type"), text.Draw(rt, "text")
		if rapid.Bool().Draw(rt, "string") {
			quoted, err := json.Marshal(strings.ToValidUTF8(raw, "?"))
			require.NoError(rt, err)
			raw = string(quoted)
		}
		c := newCells(1)
		newJSONSplitter(map[string]int{"v": 0}, false).split([]byte(`{"v": `+raw+"}\n"), c)
		if value := jsontext.Value(raw); value.IsValid() {
			want, err := strictjson.Value(typ, jsontext.Value(bytes.TrimSpace(value)))
			sameCell(rt, c, typ, want, err)
		} else if !strings.ContainsAny(raw, "\n,:") {
			require.Len(rt, c.faults, 1, raw)
			require.Equal(rt, -1, c.faults[0].column)
		}
	})
}

// TestCutAnywhere: a file that ends too early is refused wherever it ends, in
// every container that knows its end.
func TestCutAnywhere(t *testing.T) {
	csv := []byte(anyHeader + strings.Repeat("a,2024-01-01,,true,1,2,0.5,0.25,AA==,2024-01-01T10:00:00Z,\"[1,null]\",\"[1,2]\"\n", 5))
	rec := foreign(t, strings.Replace(anyRecord, "string_view", "string", 1))
	for name, c := range map[string]struct {
		format feature.Format
		data   []byte
	}{
		"csv in gzip":       {feature.FormatCSV, pack(t, "gzip", csv)},
		"csv in zstd":       {feature.FormatCSV, pack(t, "zstd", csv)},
		"parquet":           {feature.FormatParquet, columnar(t, "parquet", rec)},
		"parquet in gzip":   {feature.FormatParquet, pack(t, "gzip", columnar(t, "parquet", rec))},
		"arrow in zstd":     {feature.FormatArrow, pack(t, "zstd", columnar(t, "stream", rec))},
		"arrow file packed": {feature.FormatArrow, pack(t, "gzip", columnar(t, "arrow", rec))},
		"json":              {feature.FormatJSON, []byte(`{"k":["a"],"event_timestamp":["2024-01-01"],"created":[null]}`)},
	} {
		if c.format != feature.FormatJSON {
			require.False(t, ingestBytes(t, Options{}, c.format, c.data).refused, name)
		}
		step := max(1, len(c.data)/300)
		for n := 0; n < len(c.data); n += step {
			require.True(t, ingestBytes(t, Options{TempDir: t.TempDir()}, c.format, c.data[:n]).refused, "%s of %d bytes", name, n)
		}
		require.True(t, ingestBytes(t, Options{}, c.format, c.data[:len(c.data)-1]).refused, name)
	}
}

// TestCancelledInput: an input is read no further once the context has ended, in
// whichever format.
func TestCancelledInput(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rec := foreign(t, strings.Replace(anyRecord, "string_view", "string", 1))
	for format, data := range map[feature.Format][]byte{
		feature.FormatCSV: []byte(anyHeader), feature.FormatNDJSON: []byte("{}\n"), feature.FormatJSON: []byte("[]"),
		feature.FormatArrow: columnar(t, "stream", rec), feature.FormatParquet: columnar(t, "parquet", rec),
	} {
		in := &input{name: "in", format: format, size: int64(len(data)), open: func(context.Context) (blob, error) { return newMemory(data), nil }}
		_, err := collect(New(Options{}).reader(bindFiles(anyView(), 0)).batches(ctx, in))
		require.ErrorIs(t, err, context.Canceled, format)
	}
}
