package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
)

// drainSpine returns the rows of a spine as text.
func drainSpine(t *testing.T, r array.RecordReader) (rows []string, err error) {
	t.Helper()
	defer r.Release()
	for r.Next() {
		require.True(t, r.Schema().Equal(r.Record().Schema()))
		rows = append(rows, printRecord(t, r.Record())...)
	}
	require.False(t, r.Next(), "the end is the end")
	return rows, r.Err()
}

// TestSpineAddresses: a spine is one file, by its name or address, or one object.
func TestSpineAddresses(t *testing.T) {
	dir := t.TempDir()
	makeFiles(t, dir, "more/a.csv", "more/b.csv")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "s.csv"), []byte("k,event_timestamp\n1,2024-01-01\n"), 0o600))
	for _, path := range []string{dir + "/s.csv", "file://" + dir + "/s.csv", dir + "/*.csv"} {
		s, err := OpenSpine(t.Context(), path, SpineOptions{})
		require.NoError(t, err, path)
		rows, err := drainSpine(t, s)
		require.NoError(t, err)
		require.Equal(t, []string{`1 "2024-01-01T00:00:00Z"`}, rows)
	}
	_, err := OpenSpine(t.Context(), dir+"/more/", SpineOptions{})
	require.ErrorContains(t, err, "2 files where the spine is one")
	_, err = OpenSpine(t.Context(), "mem://b/s.csv", SpineOptions{})
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err), err)
	_, err = OpenSpine(t.Context(), "gopher://b/s.csv", SpineOptions{})
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), err)
}

// TestSpineRetained: the input is closed by the last Release.
func TestSpineRetained(t *testing.T) {
	s, err := ReadSpine(t.Context(), strings.NewReader("k,event_timestamp\n1,2024-01-01\n"), SpineOptions{Format: feature.FormatCSV, TempDir: t.TempDir()})
	require.NoError(t, err)
	s.Retain()
	s.Release()
	rows, err := drainSpine(t, s)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}

// TestSpineReleasedEarly: a reader may leave before the end, and before the
// beginning.
func TestSpineReleasedEarly(t *testing.T) {
	text := "k,event_timestamp\n" + strings.Repeat("1,2024-01-01\n", 1<<18)
	for _, records := range []int{0, 1, 2} {
		s, err := ReadSpine(t.Context(), strings.NewReader(text), SpineOptions{Format: feature.FormatCSV, TempDir: t.TempDir()})
		require.NoError(t, err)
		for range records {
			require.True(t, s.Next())
		}
		s.Release()
	}
}

// TestSpineTypesOfAllChunks: a column has the type that holds the values of all
// chunks, the last one, too.
func TestSpineTypesOfAllChunks(t *testing.T) {
	for last, want := range map[string]string{"7": "int64", "7.5": "float64", "x": "utf8", "007": "utf8", "2024-01-01": "utf8", "": "int64", `""`: "utf8"} {
		text := "k,event_timestamp,x\n" + strings.Repeat("1,2024-01-01,1\n", 1<<17) + "1,2024-01-01," + last + "\n"
		s, err := ReadSpine(t.Context(), strings.NewReader(text), SpineOptions{Format: feature.FormatCSV, TempDir: t.TempDir()})
		require.NoError(t, err)
		require.Equal(t, want, s.Schema().Field(2).Type.String(), last)
		rows := int64(0)
		for s.Next() {
			rows += s.Record().NumRows()
		}
		require.NoError(t, s.Err())
		require.EqualValues(t, 1<<17+1, rows)
		s.Release()
	}
}

// TestSpineFaults: a stream that breaks off, and one that is cut, are errors, in
// whichever format; the rows before do not pass for all.
func TestSpineFaults(t *testing.T) {
	rec := foreign(t, "k int64 [1, 2]\nevent_timestamp timestamp[s] [1, 2]")
	broken := errors.New("connection reset")
	for format, body := range map[feature.Format][]byte{
		feature.FormatCSV:     []byte("k,event_timestamp\n1,2024-01-01\n2,2024-01-01\n"),
		feature.FormatNDJSON:  []byte(`{"k": 1, "event_timestamp": "2024-01-01"}` + "\n" + `{"k": 2, "event_timestamp": "2024-01-01"}` + "\n"),
		feature.FormatJSON:    []byte(`{"k": [1, 2], "event_timestamp": ["2024-01-01", "2024-01-01"]}`),
		feature.FormatArrow:   columnar(t, "stream", rec),
		feature.FormatParquet: columnar(t, "parquet", rec),
	} {
		read := func(r io.Reader) ([]string, error) {
			s, err := ReadSpine(t.Context(), r, SpineOptions{Format: format, Name: "body", TempDir: t.TempDir()})
			if err != nil {
				return nil, err
			}
			return drainSpine(t, s)
		}
		rows, err := read(bytes.NewReader(body))
		require.NoError(t, err)
		require.Len(t, rows, 2, format)

		_, err = read(&failingReader{bytes.NewReader(body[:len(body)-1]), broken})
		require.ErrorIs(t, err, broken, format)

		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err = z.Write(body)
		require.NoError(t, err)
		require.NoError(t, z.Close())
		rows, err = read(&packed)
		require.NoError(t, err)
		require.Len(t, rows, 2, format)
		whole := pack(t, "gzip", body)
		for _, n := range []int{len(whole) - 1, len(whole) - 8, len(whole) / 2} {
			_, err = read(bytes.NewReader(whole[:n]))
			require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), "%s: %v", format, err)
			require.ErrorContains(t, err, "body")
		}
	}
}
