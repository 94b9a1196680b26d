package parquetio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
)

// foreign reads a file that testdata/make.py made.
func foreign(tb testing.TB, name string) []byte {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "foreign", name+".parquet"))
	require.NoError(tb, err)
	return data
}

// makeRows are the rows of table() in testdata/make.py.
func makeRows() string {
	var rows []string
	orNull := func(null bool, format string, args ...any) string {
		if null {
			return "null"
		}
		return fmt.Sprintf(format, args...)
	}
	for i := range 40 {
		list := make([]string, i%4)
		for j := range list {
			list[j] = orNull(j == 2, "%d", i+j)
		}
		stamp := feature.Timestamp((i - 20) * 1_000_001).Time().Format("2006-01-02T15:04:05.999999Z")
		rows = append(rows, fmt.Sprintf(`{"b": %s, "i": %s, "k": %d, "f": %s, "d": %g, "s": %s, "y": %q, "t": %s, "l": %s}`,
			orNull(i%7 == 3, "%t", i%3 == 0), orNull(i%5 == 1, "%d", i*1000-7), i/4, orNull(i%6 == 2, "%g", float64(i)/4),
			float64(i)/8, orNull(i%4 == 2, `"prefix-%d"`, i%9), bytesJSON([]byte{byte(i), byte(255 - i)}),
			orNull(i%8 == 5, "%q", stamp), orNull(i%5 == 4, "[%s]", strings.Join(list, ","))))
	}
	return "[" + strings.Join(rows, ",") + "]"
}

func TestFormsOfOtherWriters(t *testing.T) {
	want := makeRows()
	for _, name := range []string{
		"codec-none", "codec-snappy", "codec-gzip", "codec-brotli", "codec-zstd", "codec-lz4", "version-2",
		"version-2-plain", "plain", "checksums", "no-arrow-schema", "old-lists", "delta", "split", "polars",
	} {
		t.Run(name, func(t *testing.T) {
			f := open(t, foreign(t, name))
			require.Equal(t, 3, f.RowGroups())
			var groups []arrow.Record
			for i := range f.RowGroups() {
				rec, err := f.ReadRowGroup(t.Context(), i, nil)
				require.NoError(t, err)
				groups = append(groups, rec)
			}
			expected := fromJSON(t, groups[0].Schema(), want)
			requireSame(t, expected, groups)
			for _, batch := range []int{1, 2, 7, 100} {
				var all []arrow.Record
				for rec, err := range f.Records(t.Context(), ScanOptions{BatchRows: batch}) {
					require.NoError(t, err)
					require.LessOrEqual(t, rec.NumRows(), int64(batch))
					all = append(all, rec)
				}
				requireSame(t, expected, all)
			}
		})
	}
}

// requireSame compares records, joined, with one.
func requireSame(t *testing.T, want arrow.Record, got []arrow.Record) {
	t.Helper()
	text, err := want.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, string(text), string(marshal(t, got)))
}

func TestTypesThatAreNotOurs(t *testing.T) {
	f := open(t, foreign(t, "types"))
	rec, err := f.ReadRowGroup(t.Context(), 0, nil)
	require.NoError(t, err)
	want := map[string][2]string{
		"ns":       {"timestamp[ns]", `[-1 -1001 999 (null)]`},
		"u8":       {"uint8", `[0 255 (null) 1]`},
		"i8":       {"int8", `[-128 127 (null) 1]`},
		"u16":      {"uint16", `[0 65535 (null) 1]`},
		"i16":      {"int16", `[-32768 32767 (null) 1]`},
		"u32":      {"uint32", `[0 3000000000 (null) 1]`},
		"u64":      {"uint64", `[0 9223372036854775808 (null) 1]`},
		"fixed":    {"fixed_size_binary[2]", `["ab" "cd" (null) "\x00\x00"]`},
		"void":     {"null", `[(null) (null) (null) (null)]`},
		"category": {"utf8", `["a" "b" (null) "a"]`},
		"large":    {"utf8", `["a" "b" (null) "a"]`},
		"half":     {"float16", `[1.5 -2 (null) 0]`},
	}
	for name, w := range want {
		col := rec.Column(rec.Schema().FieldIndices(name)[0])
		require.Equal(t, w[0], col.DataType().String(), name)
		require.Equal(t, w[1], fmt.Sprint(col), name)
	}
	for name, w := range map[string][]string{
		"ms":     {"1969-12-31 23:59:59.999Z", "1970-01-01 00:00:00.001Z", "(null)", "1970-01-01 00:00:00.005Z"},
		"local":  {"0001-01-01 00:00:00Z", "1969-12-31 23:59:59.999999Z", "(null)", "2024-01-01 00:00:00Z"},
		"date":   {"0001-01-01", "(null)", "1970-01-01", "9999-12-31"},
		"d9":     {"-5.44", "0.1", "(null)", "7.5"},
		"d18":    {"-5.44", "0.1", "(null)", "7.5"},
		"d20":    {"9223372036854775808", "-1", "(null)", "0"},
		"d50":    {"1" + strings.Repeat("0", 49), "-1", "(null)", "0"},
		"time":   {"01:02:03.000000", "(null)", "00:00:00.000000", "23:59:59.999999"},
		"vector": {"[1,2]", "(null)", "[3,4]", "(null)"},
		"map":    {`[{"key":"a","value":1}]`, "[]", "(null)", `[{"key":"b","value":null},{"key":"c","value":3}]`},
		"struct": {`{"x":1,"y":["a"]}`, "(null)", `{"x":null,"y":null}`, `{"x":4,"y":[]}`},
	} {
		col := rec.Column(rec.Schema().FieldIndices(name)[0])
		for i, text := range w {
			require.Equal(t, text, strings.TrimSpace(col.ValueStr(i)), "%s, row %d", name, i)
		}
	}
	require.Equal(t, "fixed_size_list<element: float32, nullable>[2]", rec.Column(rec.Schema().FieldIndices("vector")[0]).DataType().String())
}

func TestIntegerDecimalsAndInt96(t *testing.T) {
	rec, err := open(t, foreign(t, "types-integer-decimals")).ReadRowGroup(t.Context(), 0, []string{"d18", "d9"})
	require.NoError(t, err)
	for i, text := range []string{"-5.44", "0.1", "(null)", "7.5"} {
		require.Equal(t, text, rec.Column(0).ValueStr(i))
		require.Equal(t, text, rec.Column(1).ValueStr(i))
	}
	rec, err = open(t, foreign(t, "int96")).ReadRowGroup(t.Context(), 0, nil)
	require.NoError(t, err)
	require.Equal(t, "timestamp[us, tz=UTC]", rec.Column(0).DataType().String())
	for i, text := range []string{"(null)", "1969-12-31 23:59:59.999999Z", "1969-12-31 23:59:59.999998Z", "1970-01-01 00:00:00Z"} {
		require.Equal(t, text, rec.Column(0).ValueStr(i))
	}
}

func TestRangesOfOtherWriters(t *testing.T) {
	f := open(t, foreign(t, "types"))
	stats := func(name string) string {
		s, ok := f.Range(0, name)
		if !ok {
			return "none"
		}
		return fmt.Sprintf("%s %s %d", s.Min, s.Max, s.Nulls)
	}
	require.Equal(t, `"1969-12-31T23:59:59.999998Z" "1970-01-01T00:00:00Z" 1`, stats("ns"))
	require.Equal(t, `"1969-12-31T23:59:59.999Z" "1970-01-01T00:00:00.005Z" 1`, stats("ms"))
	require.Equal(t, `"0001-01-01T00:00:00Z" "2024-01-01T00:00:00Z" 1`, stats("local"))
	require.Equal(t, "0 3000000000 1", stats("u32"))
	require.Equal(t, "0 65535 1", stats("u16"))
	require.Equal(t, "-128 127 1", stats("i8"))
	for _, name := range []string{"u64", "d9", "date", "struct", "map", "vector", "nope"} {
		require.Equal(t, "none", stats(name), name)
	}
}

func TestEmptyFiles(t *testing.T) {
	for _, name := range []string{"empty", "no-row-group"} {
		f := open(t, foreign(t, name))
		require.Zero(t, f.Rows())
		require.Equal(t, 9, f.Schema().NumFields())
		for i := range f.RowGroups() {
			rec, err := f.ReadRowGroup(t.Context(), i, nil)
			require.NoError(t, err)
			require.Zero(t, rec.NumRows())
		}
		for _, err := range f.Records(t.Context(), ScanOptions{}) {
			require.NoError(t, err)
			t.Fatal("a record of no rows")
		}
	}
}
