package delta_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
)

// longTable commits versions 1 to n, with a file, an application and now and
// then a removal each, and a checkpoint every ten.
func longTable(t *testing.T, b bucket.Bucket, n int) *delta.Log {
	t.Helper()
	l := table(t, b, delta.Options{CheckpointEvery: 10})
	for i := 1; i <= n; i++ {
		tx := delta.Transaction{
			Operation: "WRITE",
			Add: []delta.File{
				{
					Path: fmt.Sprintf("z %d", i), Size: int64(i), DataChange: true, Tags: map[string]string{"granary.sorted": "k,ts"},
					Stats: delta.Stats{Rows: int64(i), Columns: map[string]delta.ColumnStats{
						"k":  {Min: feature.Int64Value(int64(-i)), Max: feature.Int64Value(1<<62 + int64(i))},
						"ts": {Min: feature.TimestampValue(1), Max: feature.TimestampValue(2), Nulls: -1},
					}},
				},
				file(fmt.Sprintf("a/%d", i), 1),
			},
			Apps: []delta.AppTransaction{{ID: fmt.Sprintf("app %d", i%7), Version: int64(i)}, {ID: fmt.Sprintf("key %d", i), Version: delta.OwnVersion}},
		}
		if i%4 == 0 {
			snap, err := l.Snapshot(t.Context())
			require.NoError(t, err)
			tx.Read, tx.Remove = snap, []delta.File{snap.Files[i/4]}
		}
		v, err := l.Commit(t.Context(), tx)
		require.NoError(t, err)
		require.EqualValues(t, i, v)
	}
	return l
}

// requireSame compares what readers see of two snapshots.
func requireSame(t *testing.T, want, got *delta.Snapshot) {
	t.Helper()
	require.Equal(t, want.Version, got.Version)
	require.Equal(t, want.Time, got.Time)
	require.Equal(t, want.Metadata, got.Metadata)
	require.Equal(t, want.Protocol, got.Protocol)
	require.Len(t, got.Files, len(want.Files))
	for i := range want.Files {
		w, g := want.Files[i], got.Files[i]
		require.Equal(t, w.Path, g.Path)
		require.Equal(t, w.Version, g.Version, w.Path)
		require.Equal(t, w.Stats, g.Stats)
		require.Equal(t, w.Size, g.Size)
		require.Equal(t, w.PartitionValues, g.PartitionValues)
		require.Equal(t, w.Tags["granary.sorted"], g.Tags["granary.sorted"])
	}
	for i := range 200 {
		for _, id := range []string{fmt.Sprintf("app %d", i), fmt.Sprintf("key %d", i)} {
			wantVersion, wantOK := want.App(id)
			gotVersion, gotOK := got.App(id)
			require.Equal(t, wantOK, gotOK, id)
			require.Equal(t, wantVersion, gotVersion, id)
		}
	}
}

func TestCheckpointEqualsReplay(t *testing.T) {
	root := t.TempDir()
	b := openBucket(t, root)
	l := longTable(t, b, 35)
	want, err := l.Snapshot(t.Context())
	require.NoError(t, err)
	logDir := filepath.Join(root, "tables", "t", "_delta_log")
	for _, v := range []int{10, 20, 30} {
		require.FileExists(t, filepath.Join(logDir, fmt.Sprintf("%020d.checkpoint.parquet", v)))
	}
	old := map[int64]*delta.Snapshot{}
	for _, v := range []int64{0, 5, 10, 11, 20, 29, 35} {
		old[v], err = l.At(t.Context(), v)
		require.NoError(t, err)
	}

	// Without the commits before the checkpoint, only it can answer.
	for v := range 30 {
		require.NoError(t, os.Remove(filepath.Join(logDir, fmt.Sprintf("%020d.json", v))))
	}
	fresh := delta.New(b, "tables/t", delta.Options{})
	got, err := fresh.Snapshot(t.Context())
	require.NoError(t, err)
	requireSame(t, want, got)
	at20, err := fresh.At(t.Context(), 20)
	require.NoError(t, err)
	require.Equal(t, paths(old[20]), paths(at20))
	_, err = fresh.At(t.Context(), 29)
	requireCode(t, feature.CodeDataLoss, err)
	require.ErrorContains(t, err, "version 21 is missing")
	v, err := fresh.Commit(t.Context(), delta.Transaction{Add: []delta.File{file("on", 1)}})
	require.NoError(t, err)
	require.EqualValues(t, 36, v)
	history, err := fresh.History(t.Context(), 0)
	require.NoError(t, err)
	require.Len(t, history, 7, "the history goes back as far as the log")
}

// TestCheckpointDamage: H27. Whatever is lost or cut, the table opens at its
// newest version, as long as no commit after a checkpoint is missing.
func TestCheckpointDamage(t *testing.T) {
	commitName := func(v int) string { return fmt.Sprintf("%020d.json", v) }
	checkpointName := func(v int) string { return fmt.Sprintf("%020d.checkpoint.parquet", v) }
	type damage func(t *testing.T, dir string)
	remove := func(names ...string) damage {
		return func(t *testing.T, dir string) {
			t.Helper()
			for _, name := range names {
				require.NoError(t, os.Remove(filepath.Join(dir, name)))
			}
		}
	}
	cut := func(name string, to int) damage {
		return func(t *testing.T, dir string) {
			t.Helper()
			data, err := os.ReadFile(filepath.Join(dir, name))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), data[:min(to, len(data))], 0o600))
		}
	}
	hint := func(text string) damage {
		return func(t *testing.T, dir string) {
			t.Helper()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "_last_checkpoint"), []byte(text), 0o600))
		}
	}
	before20 := make([]string, 20)
	for i := range before20 {
		before20[i] = commitName(i)
	}
	for name, c := range map[string]struct {
		damage []damage
		says   string // of the refusal; empty: it opens
	}{
		"nothing":                         {},
		"hint gone":                       {damage: []damage{remove("_last_checkpoint")}},
		"hint cut":                        {damage: []damage{cut("_last_checkpoint", 9)}},
		"hint empty":                      {damage: []damage{cut("_last_checkpoint", 0)}},
		"hint names what is gone":         {damage: []damage{hint(`{"version":24,"size":1}`)}},
		"hint beyond the end":             {damage: []damage{hint(`{"version":99,"size":1}`)}},
		"hint is old":                     {damage: []damage{hint(`{"version":10,"size":1}`)}},
		"newest checkpoint gone":          {damage: []damage{remove(checkpointName(20))}},
		"newest checkpoint half":          {damage: []damage{cut(checkpointName(20), 2000)}},
		"newest checkpoint empty":         {damage: []damage{cut(checkpointName(20), 0)}},
		"all checkpoints damaged":         {damage: []damage{cut(checkpointName(20), 500), cut(checkpointName(10), 100)}},
		"old commits gone":                {damage: []damage{remove(before20...)}},
		"old commits and hint gone":       {damage: []damage{remove(before20...), remove("_last_checkpoint")}},
		"gap":                             {damage: []damage{remove(commitName(23))}, says: "version 23 is missing"},
		"gap before, checkpoint damaged":  {damage: []damage{remove(commitName(15)), cut(checkpointName(20), 100)}, says: "version 15 is missing"},
		"gap before, older helps no more": {damage: []damage{remove(before20...), cut(checkpointName(20), 100)}, says: "is missing"},
		"commit cut":                      {damage: []damage{cut(commitName(24), 150)}, says: "00000000000000000024.json: line 1"},
		"commit empty":                    {damage: []damage{cut(commitName(24), 0)}, says: "the entry is empty"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			b := openBucket(t, root)
			want, err := longTable(t, b, 25).Snapshot(t.Context())
			require.NoError(t, err)
			for _, d := range c.damage {
				d(t, filepath.Join(root, "tables", "t", "_delta_log"))
			}
			got, err := delta.New(b, "tables/t", delta.Options{}).Snapshot(t.Context())
			if c.says != "" {
				requireCode(t, feature.CodeDataLoss, err)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			requireSame(t, want, got)
		})
	}
}
