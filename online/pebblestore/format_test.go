package pebblestore

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

// makeFormat names a folder in which TestFormatV1 leaves a store of the format
// of now; testdata/format_v1 was made by it and never changes.
var makeFormat = flag.String("make-format", "", "folder to leave a store of today's format in")

// formatView has a slot of every kind.
func formatView(tb testing.TB) onlinetest.View {
	tb.Helper()
	return onlinetest.MakeView(tb, 7, []string{"k int64", "s string"}, []string{"a int64", "b string", "c list<float64>", "d vector<float32,2>"})
}

func formatKeyOf(tb testing.TB, v onlinetest.View, k int64) feature.EntityKey {
	tb.Helper()
	return v.Key(tb, feature.Int64Value(k), feature.StringValue("entity"))
}

// fillFormat writes what TestFormatV1 expects: rows in a file and rows in the
// log, a deleted view and a mark.
func fillFormat(tb testing.TB, s *Store) {
	tb.Helper()
	v := formatView(tb)
	list := feature.ListOf(feature.Float64)
	for k := range int64(100) {
		rows := []online.Row{v.Row(tb, formatKeyOf(tb, v, k), feature.Timestamp(k), 5, feature.Int64Value(k), feature.StringValue("text"),
			feature.ListValue(list, []feature.Value{feature.Float64Value(0.5), feature.Null(feature.Float64)}), feature.VectorValue([]float32{1, 2}))}
		_, err := s.Write(tb.Context(), v.ID, rows)
		require.NoError(tb, err)
		_, err = s.Write(tb.Context(), 8, rows)
		require.NoError(tb, err)
		if k == 50 {
			require.NoError(tb, s.db.Flush())
		}
	}
	require.NoError(tb, s.SetMark(tb.Context(), v.ID, online.Mark{Version: 3, Through: 4}))
	require.NoError(tb, s.DeleteView(tb.Context(), 8))
}

// TestFormatV1 opens a directory that version 1 wrote.
func TestFormatV1(t *testing.T) {
	if *makeFormat != "" {
		fillFormat(t, openAt(t, *makeFormat, nil))
		return
	}
	dir := filepath.Join(t.TempDir(), "store")
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/format_v1")))
	s := openAt(t, dir, nil)
	v := formatView(t)
	for k := range int64(100) {
		keys := []feature.EntityKey{formatKeyOf(t, v, k)}
		var rows online.Rows
		require.NoError(t, s.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: keys}, {View: 8, Keys: keys}}, &rows))
		require.Nil(t, rows.Row(1, 0))
		version, err := online.VersionOf(rows.Row(0, 0))
		require.NoError(t, err)
		require.Equal(t, feature.Version{Event: feature.Timestamp(k), Created: 5}, version)
		var text []byte
		for slot := range v.Features {
			text, err = v.AppendJSON(append(text, ' '), rows.Row(0, 0), slot)
			require.NoError(t, err)
		}
		require.Equal(t, " "+feature.Int64Value(k).String()+` "text" [0.5,null] [1.0,2.0]`, string(text))
	}
	m, ok, err := s.Mark(t.Context(), v.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, online.Mark{Version: 3, Through: 4}, m)
}

func TestMetrics(t *testing.T) {
	s := openAt(t, "store", vfs.NewMem())
	fillFormat(t, s)
	v := formatView(t)
	var rows online.Rows
	keys := []feature.EntityKey{formatKeyOf(t, v, 1), formatKeyOf(t, v, 1), formatKeyOf(t, v, 1000)}
	require.NoError(t, s.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: keys}}, &rows))
	_, err := s.Write(t.Context(), v.ID, []online.Row{v.Row(t, keys[0], -1, 0, make([]feature.Value, 4)...)})
	require.NoError(t, err)
	m := s.Metrics()
	require.Equal(t, int64(1), m.Reads)
	require.Equal(t, int64(2), m.RowsSought)
	require.Equal(t, int64(1), m.RowsFound)
	require.Equal(t, int64(200), m.RowsWritten)
	require.Equal(t, int64(1), m.RowsSuperseded)
	require.Positive(t, m.DiskBytes)
	require.Positive(t, m.Tables)
	require.NoError(t, s.Close())
	require.Equal(t, int64(1), s.Metrics().Reads)
	require.Zero(t, s.Metrics().DiskBytes)
}
