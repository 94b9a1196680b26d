package delta_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/delta"
)

// The tables of testdata/delta-rs were written by delta-rs; make.py there tells
// how, and what delta-rs says of each version of each.

const foreign = "testdata/delta-rs"

type foreignVersion struct {
	Rows    int64         `json:"rows"`
	Columns []string      `json:"columns"`
	Types   []any         `json:"types"`
	Files   []foreignFile `json:"files"`
	Reader  int           `json:"reader"`
	Writer  int           `json:"writer"`
}

type foreignFile struct {
	Path      string         `json:"path"`
	Size      int64          `json:"size"`
	Rows      int64          `json:"rows"`
	Partition map[string]any `json:"partition"`
}

func TestForeignTablesReadAsTheirWriterReadsThem(t *testing.T) {
	b := openBucket(t, foreign)
	for _, name := range []string{"types", "partitioned", "changed"} {
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(foreign, name+".json"))
			require.NoError(t, err)
			var versions map[string]foreignVersion
			require.NoError(t, json.Unmarshal(data, &versions))
			newest, err := delta.New(b, name, delta.Options{}).Snapshot(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, len(versions)-1, newest.Version)
			for text, want := range versions {
				v, err := strconv.ParseInt(text, 10, 64)
				require.NoError(t, err)
				got, err := delta.New(b, name, delta.Options{}).At(t.Context(), v)
				require.NoError(t, err)
				requireForeign(t, want, got)
			}
		})
	}
}

func requireForeign(t *testing.T, want foreignVersion, got *delta.Snapshot) {
	t.Helper()
	require.Equal(t, want.Reader, got.Protocol.MinReaderVersion)
	require.Equal(t, want.Writer, got.Protocol.MinWriterVersion)
	var columns []string
	for _, f := range got.Metadata.Fields {
		columns = append(columns, f.Name)
	}
	require.Equal(t, want.Columns, columns)
	files := []foreignFile{}
	rows := int64(0)
	for _, f := range got.Files {
		ff := foreignFile{Path: f.Path, Size: f.Size, Rows: f.Stats.Rows, Partition: map[string]any{}}
		for k, v := range f.PartitionValues {
			ff.Partition[k] = v
		}
		files = append(files, ff)
		rows += f.Stats.Rows
	}
	slices.SortFunc(files, func(a, b foreignFile) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range want.Files {
		for k, v := range f.Partition {
			f.Partition[k] = fmt.Sprint(v) // delta-rs gives numbers, the log texts
		}
	}
	require.Equal(t, want.Files, files)
	require.Equal(t, want.Rows, rows)
	for _, f := range files {
		require.FileExists(t, filepath.Join(foreign, filepath.Base(t.Name()), f.Path))
	}
}

func TestForeignTypesStatsAndApplications(t *testing.T) {
	b := openBucket(t, foreign)
	snap, err := delta.New(b, "types", delta.Options{}).Snapshot(t.Context())
	require.NoError(t, err)
	var types []string
	for _, f := range snap.Metadata.Fields {
		types = append(types, f.Name+" "+f.Type.String())
	}
	require.Equal(t, []string{
		"k int64", "b bool", "i int32", "f float32", "d float64", "s string", "raw bytes", "ts timestamp", "l list<int64>",
	}, types)
	require.False(t, snap.Metadata.Fields[0].Nullable)
	version, ok := snap.App("loader")
	require.True(t, ok)
	require.EqualValues(t, 8, version)
	old, err := delta.New(b, "types", delta.Options{}).At(t.Context(), 1)
	require.NoError(t, err)
	version, ok = old.App("loader")
	require.True(t, ok, "the checkpoint has it")
	require.EqualValues(t, 7, version)

	for _, f := range snap.Files {
		if f.Stats.Columns["k"].Min.Equal(feature.Int64Value(1<<53+1)) && f.Stats.Rows == 1 {
			// The log says .123; the value is .123456.
			high := f.Stats.Columns["ts"].Max.Timestamp()
			require.GreaterOrEqual(t, high, feature.Timestamp(1704103200123456))
			require.LessOrEqual(t, f.Stats.Columns["ts"].Min.Timestamp(), feature.Timestamp(1704103200123456))
			return
		}
	}
	t.Fatal("the file with one row is not there")
}

func TestForeignTablesRefused(t *testing.T) {
	b := openBucket(t, foreign)
	for name, says := range map[string][]string{"date": {"column day", "date"}, "ntz": {"timestampNtz"}} {
		_, err := delta.New(b, name, delta.Options{}).Snapshot(t.Context())
		requireCode(t, feature.CodeFailedPrecondition, err)
		for _, s := range says {
			require.ErrorContains(t, err, s)
		}
	}
	l := delta.New(b, "cdf", delta.Options{})
	_, err := l.Snapshot(t.Context())
	require.NoError(t, err, "readers need not know of change data")
	_, err = l.Commit(t.Context(), delta.Transaction{Add: []delta.File{file("x", 1)}})
	requireCode(t, feature.CodeFailedPrecondition, err)
	require.ErrorContains(t, err, "changeDataFeed")
}

// TestForeignCheckpoints opens tables of which nothing is left before the
// checkpoint that delta-rs wrote.
func TestForeignCheckpoints(t *testing.T) {
	for name, checkpoint := range map[string]int64{"types": 1, "changed": 4} {
		want, err := delta.New(openBucket(t, foreign), name, delta.Options{}).Snapshot(t.Context())
		require.NoError(t, err)
		root := t.TempDir()
		require.NoError(t, os.CopyFS(root, os.DirFS(filepath.Join(foreign, name))))
		for v := range checkpoint + 1 {
			require.NoError(t, os.Remove(filepath.Join(root, "_delta_log", fmt.Sprintf("%020d.json", v))))
		}
		got, err := delta.New(openBucket(t, root), "", delta.Options{}).Snapshot(t.Context())
		require.NoError(t, err)
		require.Equal(t, want.Metadata, got.Metadata)
		require.ElementsMatch(t, paths(want), paths(got))
		wantVersion, _ := want.App("loader")
		gotVersion, _ := got.App("loader")
		require.Equal(t, wantVersion, gotVersion)
	}
}

// TestForeignTableGoesOn commits to a copy of a table of delta-rs.
func TestForeignTableGoesOn(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS(filepath.Join(foreign, "changed"))))
	b := openBucket(t, root)
	l := delta.New(b, "", delta.Options{CheckpointEvery: 2})
	ctx := t.Context()
	before, err := l.Snapshot(ctx)
	require.NoError(t, err)
	v, err := l.Commit(ctx, delta.Transaction{Read: before, Remove: before.Files[:1], Add: []delta.File{file("ours 1", 1)}})
	require.NoError(t, err)
	require.Equal(t, before.Version+1, v)
	want, err := l.Snapshot(ctx)
	require.NoError(t, err)
	require.Len(t, want.Files, len(before.Files))
	require.Greater(t, want.Time, before.Time)
	checkpoint := filepath.Join(root, "_delta_log", fmt.Sprintf("%020d.checkpoint.parquet", v))
	require.FileExists(t, checkpoint)
	for old := range v {
		require.NoError(t, os.Remove(filepath.Join(root, "_delta_log", fmt.Sprintf("%020d.json", old))))
	}
	got, err := delta.New(b, "", delta.Options{}).Snapshot(ctx)
	require.NoError(t, err)
	require.Equal(t, paths(want), paths(got))
	require.Equal(t, []int64{7, 7, 8}, versions(got), "our checkpoint says which commit each file came with")
}

func versions(s *delta.Snapshot) []int64 {
	out := make([]int64, len(s.Files))
	for i, f := range s.Files {
		out[i] = f.Version
	}
	return out
}
