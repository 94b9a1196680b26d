package ingest

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// anyView has a feature of each type.
func anyView() *feature.BoundView {
	v := &feature.BoundView{
		View:    feature.View{Name: "any", CreatedTimestamp: "created"},
		Project: "p", ID: 1, Keys: []feature.JoinKey{{Name: "k", Type: feature.String}},
	}
	for _, t := range []feature.Type{
		feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.Bytes,
		feature.TimestampType, feature.ListOf(feature.Int64), feature.Vector(2),
	} {
		v.Features = append(v.Features, feature.Feature{Name: fmt.Sprintf("f%d", len(v.Features)), Type: t})
	}
	return v
}

// outcome is what became of an input: its accepted rows and rejections as text,
// or that it was refused.
type outcome struct {
	rows       []string
	rejections []Rejection
	read       int64
	refused    bool
}

// ingestBytes reads data as an input of a format, and checks what holds of any:
// a record has no null key or time, and every row is accounted for.
func ingestBytes(t *testing.T, o Options, format feature.Format, data []byte) outcome {
	t.Helper()
	var out outcome
	in := &input{name: "in", format: format, size: int64(len(data)), open: func(context.Context) (blob, error) { return newMemory(data), nil }}
	for b, err := range New(o).reader(bindFiles(anyView(), 0)).batches(t.Context(), in) {
		if err != nil {
			require.Contains(t, []feature.Code{feature.CodeInvalidArgument, feature.CodeTooLarge}, feature.CodeOf(err), err)
			return outcome{refused: true}
		}
		require.Equal(t, b.read, b.record.NumRows()+b.rejected+b.skipped)
		for k := range 3 {
			require.Zero(t, b.record.Column(k).NullN())
		}
		out.read += b.read
		out.rows = append(out.rows, readable(t, b.record)...)
		out.rejections = append(out.rejections, b.rejections...)
	}
	return out
}

// readable prints a record, and by that reads every value of it.
func readable(t *testing.T, rec arrow.Record) []string {
	t.Helper()
	out := make([]string, rec.NumRows())
	for i := range out {
		var b strings.Builder
		for k, f := range rec.Schema().Fields() {
			typ, ok := typeOf(f.Type)
			require.True(t, ok)
			v, err := columns.Value(rec.Column(k), i, typ)
			require.NoError(t, err)
			require.True(t, typ != feature.String || feature.ValidText(v.Text()))
			b.WriteString(v.String() + " ")
		}
		out[i] = b.String()
	}
	return out
}

const anyHeader = "k,event_timestamp,created,f0,f1,f2,f3,f4,f5,f6,f7,f8\n"

// FuzzCSV: whatever the text is, it is read or refused, and the same in chunks
// of any size. Where the reader of the standard library takes a text, the cells
// are its cells.
func FuzzCSV(f *testing.F) {
	for _, text := range []string{
		"", "\n", "a,2024-01-01,,true,1,2,0.5,0.25,AA==,2024-01-01T10:00:00Z,\"[1,null]\",\"[1,2]\"\n",
		"a,2024-01-01\n\n\r\n\"q\"\"uo\nte\",2024-01-01,\"\",x", "a\"b,c\r\n\"d\"e,f\n\"open", ",,,,,,,,,,,\n,", "é,\xff,\x00",
	} {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		data := []byte(anyHeader + text)
		whole := ingestBytes(t, Options{}, feature.FormatCSV, data)
		require.Equal(t, whole, ingestBytes(t, Options{ChunkBytes: int(size) + 1}, feature.FormatCSV, data))
		sameCells(t, text)
	})
}

// sameCells compares our cells with those of encoding/csv, which joins CR and LF
// in a quoted cell and therefore is not asked about text with a CR.
func sameCells(t *testing.T, text string) {
	t.Helper()
	if strings.Contains(text, "\r") {
		return
	}
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	records, err := r.ReadAll()
	if err != nil {
		return
	}
	d := newDialect(feature.CSVOptions{})
	pos := skipBlank([]byte(text), 0)
	c := cells{buf: []byte(text), quote: d.quote}
	for _, record := range records {
		for i, want := range record {
			s, next, last, ok := d.cell(c.buf, pos)
			got := c.text(s)
			if s.n&spanEscaped != 0 {
				got = c.undouble(nil, s)
			}
			require.True(t, ok)
			require.Equal(t, want, string(got))
			require.Equal(t, i == len(record)-1, last)
			pos = next
		}
		pos = skipBlank(c.buf, pos)
	}
	require.Equal(t, len(text), pos)
}

// FuzzNDJSON: whatever the text is, it is read or refused, and the same in
// chunks of any size; the scanner of flat objects agrees with the decoder; a row
// that is accepted is one to the standard library, too.
func FuzzNDJSON(f *testing.F) {
	for _, text := range []string{
		"", "\n", `{"k":"a","event_timestamp":"2024-01-01","f0":true,"f1":1,"f2":2,"f3":0.5,"f4":-0.0,"f5":"AA==","f7":[1,null],"f8":[1,2]}` + "\n",
		`{"k":"a"}` + "\n" + `{"k":"a","x":{},"k":1}`, `{"k":"\ud83d\ude00","event_timestamp":"2024-01-01"} x`, `{"k":"\ud800"}`, "{\"k\":\"\xff\"}",
		`{"f1":1e3,"f2":01,"f4":.5}`, "{}\r\n \t\n{", `{"a":1,"a":2}`, "[]", "null", `{"k" : "b" , "f2" : 1 }`,
	} {
		f.Add(text, uint8(3))
	}
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		whole := ingestBytes(t, Options{}, feature.FormatNDJSON, []byte(text))
		require.Equal(t, whole, ingestBytes(t, Options{ChunkBytes: int(size) + 1}, feature.FormatNDJSON, []byte(text)))
		members := map[string]int{"k": 0, "event_timestamp": 1, "f1": 2, "f7": 3}
		for _, exact := range []bool{false, true} {
			sameObjects(t, []byte(text), members, exact)
		}
	})
}

func sameObjects(t *testing.T, text []byte, members map[string]int, exact bool) {
	t.Helper()
	kept := bytes.Clone(text)
	got, want := newCells(len(members)), newCells(len(members))
	newJSONSplitter(members, exact).split(text, got)
	slow := newJSONSplitter(members, exact)
	want.syntax = &jsonSyntax
	want.reset(text, got.rows())
	for row := range got.rows() {
		start, end := int(got.starts[row]), int(got.ends[row])
		want.starts, want.ends = append(want.starts, got.starts[row]), append(want.ends, got.ends[row])
		want.clear(row)
		reason := slow.strict(want, row, start, end)
		if reason != "" {
			want.fault(row, reason)
		} else {
			require.True(t, json.Valid(text[start:end]))
			require.True(t, jsontext.Value(text[start:end]).IsValid())
		}
	}
	for k := range got.cols {
		require.True(t, slices.Equal(want.cols[k], got.cols[k]))
	}
	require.True(t, slices.Equal(want.faults, got.faults), "%v\n%v", want.faults, got.faults)
	require.Equal(t, kept, text, "the text was changed")
}

// FuzzJSON: a document is read or refused.
func FuzzJSON(f *testing.F) {
	for _, text := range []string{
		`[]`, `{}`, `{"k":["a",null],"event_timestamp":["2024-01-01","2024-01-01"],"f1":[1,2]}`, `[{"k":"a","event_timestamp":"2024-01-01"},7]`,
		`{"k":[1],"k":[2]}`, `{"k":[`, `[[`, `7`, `{"k":[{"a":[1]}]}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { ingestBytes(t, Options{}, feature.FormatJSON, text) })
}

// FuzzArrow: no bytes make the reader of Arrow panic, in whichever goroutine, or
// take memory that has not come.
func FuzzArrow(f *testing.F) {
	for _, as := range []string{"stream", "stream-lz4", "arrow"} {
		for _, key := range []string{
			`string ["a", "bc", null]`, `dictionary ["a", "b", "a"]`, `string_view ["longer than twelve bytes", "b", null]`, `large_string ["a", "b", "c"]`,
		} {
			f.Add(columnar(f, as, foreign(f, "k "+key+`
event_timestamp timestamp[ns] [1, null, 3]
created date32 [1, null, 3]
f0 bool [true, null, false]
f1 int64 [1, null, 2147483648]
f2 decimal(9,2) ["1.00", null, "2.50"]
f3 float64 [0.5, null, 1e39]
f4 uint64 [1, null, 18446744073709551615]
f5 binary ["AA==", null, ""]
f6 string ["2024-01-01", null, "never"]
f7 list<int32> [[1, null], null, []]
f8 fixed_list<float64,2> [[1, 2], null, [3, null]]`)))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) { ingestBytes(t, Options{}, feature.FormatArrow, data) })
}
