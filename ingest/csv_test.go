package ingest

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
)

// TestCSVChunks: what a writer of CSV writes is read as it was, however the
// text is cut: within quotes, between the two of a doubled quote, between CR and
// LF.
func TestCSVChunks(t *testing.T) {
	v := &feature.BoundView{
		View:    feature.View{Name: "f", Static: true, Features: []feature.Feature{{Name: "a", Type: feature.String}, {Name: "b", Type: feature.String}}},
		Project: "p", Keys: []feature.JoinKey{{Name: "k", Type: feature.Int64}},
	}
	rapid.Check(t, func(rt *rapid.T) {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.UseCRLF = rapid.Bool().Draw(rt, "crlf")
		require.NoError(rt, w.Write([]string{"a", "k", "b"}))
		cell := rapid.StringMatching("[a\",\n ]{0,6}")
		var want []string
		for k := range rapid.IntRange(0, 30).Draw(rt, "rows") {
			x, y := cell.Draw(rt, "a"), cell.Draw(rt, "b")
			require.NoError(rt, w.Write([]string{x, strconv.Itoa(k), y}))
			// The writer leaves empty text unquoted, and so it is null.
			want = append(want, fmt.Sprintf("%d %s %s", k, asWritten(x, w.UseCRLF), asWritten(y, w.UseCRLF)))
		}
		w.Flush()
		data := b.Bytes()
		in := &input{name: "in", format: feature.FormatCSV, open: func(context.Context) (blob, error) { return newMemory(data), nil }}
		var got []string
		i := New(Options{ChunkBytes: rapid.IntRange(1, 64).Draw(rt, "chunk")})
		for batch, err := range i.reader(bindFiles(v, 0)).batches(t.Context(), in) {
			require.NoError(rt, err)
			require.Empty(rt, batch.rejections)
			for row := range int(batch.record.NumRows()) {
				got = append(got, fmt.Sprintf("%s %s %s", batch.record.Column(0).ValueStr(row), printValue(t, batch.record.Column(3), row), printValue(t, batch.record.Column(4), row)))
			}
		}
		require.Equal(rt, want, got)
	})
}

// asWritten is what encoding/csv writes for a text, which makes CRLF of line
// ends in it, too.
func asWritten(text string, crlf bool) string {
	if text == "" {
		return "null"
	}
	if crlf {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return feature.StringValue(text).String()
}

// TestCSVPlaces: rows and lines are those of the file, in whichever chunk they
// are.
func TestCSVPlaces(t *testing.T) {
	var b strings.Builder
	b.WriteString("\nk,event_timestamp,created,f0,f1,f2,f3,f4,f5,f6,f7,f8\n")
	line := int64(3)
	var want []string
	for row := int64(1); row <= 200; row++ {
		switch row % 4 {
		case 0:
			b.WriteString("bad\n")
			want = append(want, fmt.Sprintf("row %d line %d", row, line))
			line++
		case 1:
			b.WriteString("\"two\nlines\",2024-01-01,,,,,,,,,,\n\n")
			line += 3
		default:
			b.WriteString("a,2024-01-01,,,,,,,,,,\n")
			line++
		}
	}
	for _, size := range []int{1, 100, 1 << 20} {
		out := ingestBytes(t, Options{ChunkBytes: size}, feature.FormatCSV, []byte(b.String()))
		var got []string
		for _, r := range out.rejections {
			got = append(got, fmt.Sprintf("row %d line %d", r.Row, r.Line))
		}
		require.Equal(t, want, got)
	}
}

// TestRecordTooLong: a quote that is never closed ends the reading before it
// takes the memory.
func TestRecordTooLong(t *testing.T) {
	data := anyHeader + "a,2024-01-01,,,,,,,,,,\n\"" + strings.Repeat("x,y\n", 1<<20)
	in := &input{name: "in.csv", format: feature.FormatCSV, open: func(context.Context) (blob, error) { return newMemory([]byte(data)), nil }}
	_, err := collect(New(Options{MaxRecordBytes: 1 << 21}).reader(bindFiles(anyView(), 0)).batches(t.Context(), in))
	require.ErrorContains(t, err, "ingest in.csv: the record in line 3 does not end within 2097152 bytes")
}

// TestKeyTooLarge: an encoded key has at most 32 KiB, and a zero byte takes two.
func TestKeyTooLarge(t *testing.T) {
	key := func(n int, c string) string { return strings.Repeat(c, n) + ",2024-01-01,,,,,,,,,,\n" }
	most := feature.MaxEntityKeyBytes - 2
	out := ingestBytes(t, Options{}, feature.FormatCSV, []byte(anyHeader+key(most, "x")+key(most+1, "x")+key(10, "x")))
	require.Len(t, out.rows, 2)
	require.Len(t, out.rejections, 1)
	require.EqualValues(t, 2, out.rejections[0].Row)
	require.Contains(t, out.rejections[0].Reason, "32769 bytes")
	require.Equal(t, "k", out.rejections[0].Field)
}
