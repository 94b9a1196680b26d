package runs_test

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/internal/runs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func view(key feature.Type) *feature.BoundView {
	return &feature.BoundView{
		View: feature.View{Name: "v", Features: []feature.Feature{{Name: "seq", Type: feature.Int64}, {Name: "tags", Type: feature.ListOf(feature.String)}}},
		Keys: []feature.JoinKey{{Name: "k", Type: key}},
	}
}

// row is a row with its place of arrival.
type row struct {
	key, event, created, seq int64
}

func (r row) keyValue(t feature.Type) feature.Value {
	if t == feature.String {
		return feature.StringValue(fmt.Sprintf("entity %04d", r.key))
	}
	return feature.Int64Value(r.key)
}

func record(v *feature.BoundView, rows []row) arrow.Record {
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns.TableSchema(v))
	for _, r := range rows {
		columns.Append(b.Field(0), r.keyValue(v.Keys[0].Type))
		columns.Append(b.Field(1), feature.TimestampValue(feature.Timestamp(r.event)))
		columns.Append(b.Field(2), feature.TimestampValue(feature.Timestamp(r.created)))
		columns.Append(b.Field(3), feature.Int64Value(r.seq))
		columns.Append(b.Field(4), feature.ListValue(feature.ListOf(feature.String), []feature.Value{feature.StringValue(strconv.FormatInt(r.seq, 10))}))
	}
	return b.NewRecord()
}

// sortedRows is the definition: a stable sort.
func sortedRows(rows []row) []int64 {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.event, b.event), cmp.Compare(a.created, b.created))
	})
	out := make([]int64, len(rows))
	for i, r := range rows {
		out[i] = r.seq
	}
	return out
}

// collect reads the sequence numbers in order, and checks the list beside them.
func collect(ctx context.Context, t require.TestingT, s *runs.Sorter) []int64 {
	out := []int64{}
	for rec, err := range s.Sorted(ctx) {
		require.NoError(t, err)
		seq, ok := rec.Column(3).(*array.Int64)
		require.True(t, ok)
		out = append(out, seq.Int64Values()...)
		for i := range seq.Len() {
			require.Equal(t, fmt.Sprintf(`["%d"]`, seq.Value(i)), rec.Column(4).ValueStr(i))
		}
		rec.Release()
	}
	return out
}

// TestSorted holds the order to a stable sort, from one buffer up to so many
// runs that they are merged in two rounds.
func TestSorted(t *testing.T) {
	for _, key := range []feature.Type{feature.Int64, feature.String} {
		t.Run(key.String(), func(t *testing.T) {
			dir := t.TempDir()
			rapid.Check(t, func(rt *rapid.T) {
				r := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 3))
				memoryBytes := rapid.SampledFrom([]int64{1, 4 << 10, 1 << 20}).Draw(rt, "memory")
				v := view(key)
				s := runs.New(columns.TableSchema(v), v.Keys, runs.Options{Dir: dir, MemoryBytes: memoryBytes})
				var all []row
				for range r.IntN(20) {
					var batch []row
					for range r.IntN(8) {
						batch = append(batch, row{key: r.Int64N(4), event: r.Int64N(4), created: r.Int64N(2), seq: int64(len(all) + len(batch))})
					}
					all = append(all, batch...)
					require.NoError(rt, s.Add(t.Context(), record(v, batch)))
				}
				require.EqualValues(rt, len(all), s.Rows())
				require.Equal(rt, sortedRows(all), collect(t.Context(), rt, s))
				require.NoError(rt, s.Close())
				left, err := os.ReadDir(dir)
				require.NoError(rt, err)
				require.Empty(rt, left)
			})
		})
	}
}

// TestSortedKeepsLast merges runs with a buffer that stayed in memory: of rows
// that are equal, those of the buffer are the later ones.
func TestSortedKeepsLast(t *testing.T) {
	const batches, rows = 10, 5000
	r := rand.New(rand.NewPCG(5, 6))
	v := view(feature.Int64)
	dir := t.TempDir()
	s := runs.New(columns.TableSchema(v), v.Keys, runs.Options{Dir: dir, MemoryBytes: 8 << 20})
	var all []row
	for range batches {
		batch := make([]row, rows)
		for i := range batch {
			batch[i] = row{key: r.Int64N(50), event: r.Int64N(4), created: r.Int64N(2), seq: int64(len(all) + i)}
		}
		all = append(all, batch...)
		require.NoError(t, s.Add(t.Context(), record(v, batch)))
	}
	written := func() []string {
		paths, err := filepath.Glob(filepath.Join(dir, "*", "*.arrow"))
		require.NoError(t, err)
		return paths
	}
	got := collect(t.Context(), t, s)
	require.Equal(t, sortedRows(all), got)
	require.Len(t, written(), 1, "the last buffer was not written")
	require.NoError(t, s.Close())
	require.Empty(t, written())
}

func TestSortedStopsEarly(t *testing.T) {
	v := view(feature.Int64)
	s := runs.New(columns.TableSchema(v), v.Keys, runs.Options{Dir: t.TempDir(), MemoryBytes: 1})
	for i := range 5 {
		require.NoError(t, s.Add(t.Context(), record(v, []row{{key: int64(i)}})))
	}
	for _, err := range s.Sorted(t.Context()) {
		require.NoError(t, err)
		break
	}
	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "twice is fine")
}

func TestAddFailsWithoutFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	v := view(feature.Int64)
	s := runs.New(columns.TableSchema(v), v.Keys, runs.Options{Dir: filepath.Join(file, "sub"), MemoryBytes: 1})
	require.ErrorContains(t, s.Add(t.Context(), record(v, []row{{}})), "sorted run")
	require.NoError(t, s.Close())
}

// TestSweep kills a process that holds runs, and finds that only its own are
// removed.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	v := view(feature.Int64)
	s := runs.New(columns.TableSchema(v), v.Keys, runs.Options{Dir: dir, MemoryBytes: 1})
	require.NoError(t, s.Add(t.Context(), record(v, []row{{seq: 7}})))
	removed, err := runs.Sweep(dir)
	require.NoError(t, err)
	require.Zero(t, removed, "the sorter lives")

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSweepVictim$")
	cmd.Env = append(os.Environ(), "GRANARY_TEST_RUNS="+dir)
	require.Error(t, cmd.Run(), "it kills itself")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 4, "two folders and their locks")

	removed, err = runs.Sweep(dir)
	require.NoError(t, err)
	require.Equal(t, 1, removed)
	require.Equal(t, []int64{7}, collect(t.Context(), t, s))
	require.NoError(t, s.Close())
	removed, err = runs.Sweep(filepath.Join(dir, "none"))
	require.NoError(t, err)
	require.Zero(t, removed)
}

// TestSweepVictim is the process that TestSweep starts; alone it does nothing.
func TestSweepVictim(t *testing.T) {
	dir := os.Getenv("GRANARY_TEST_RUNS")
	if dir == "" {
		return
	}
	v := view(feature.Int64)
	s := runs.New(columns.TableSchema(v), v.Keys, runs.Options{Dir: dir, MemoryBytes: 1})
	require.NoError(t, s.Add(t.Context(), record(v, []row{{}})))
	self, err := os.FindProcess(os.Getpid())
	require.NoError(t, err)
	require.NoError(t, self.Kill())
	select {}
}

// TestSweepWithoutLock removes a folder whose lock file is gone.
func TestSweepWithoutLock(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "granary-runs-1"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "granary-runs-2.lock"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "other"), nil, 0o600))
	removed, err := runs.Sweep(dir)
	require.NoError(t, err)
	require.Equal(t, 2, removed)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
