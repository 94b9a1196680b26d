package delta_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket/buckettest"
	"github.com/granary-ml/granary/offline/delta"
)

// TestCommitLostAnswer: H34. The commit lands, its answer is lost, and the put
// that is tried again finds the version taken: by ourselves.
func TestCommitLostAnswer(t *testing.T) {
	b := openBucket(t, "mem://")
	table(t, b, delta.Options{})
	for name, fault := range map[string]buckettest.Fault{
		"answer lost":           {Op: buckettest.PutIfAbsent, Nth: 1, After: true},
		"answer lost, then 503": {Op: buckettest.PutIfAbsent, Nth: 1, Times: 3, After: true},
		"503 twice":             {Op: buckettest.PutIfAbsent, Nth: 1, Times: 2},
		"answer lost, said to be taken": {
			Op: buckettest.PutIfAbsent, Nth: 1, After: true, Err: feature.Errorf(feature.CodeAlreadyExists, "put", "", "412"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := buckettest.NewFaults(b, 1, fault)
			l := delta.New(f, "tables/t", delta.Options{})
			before, err := l.Snapshot(t.Context())
			require.NoError(t, err)
			v, err := l.Commit(t.Context(), delta.Transaction{Add: []delta.File{file(name, 1)}})
			require.NoError(t, err)
			require.Equal(t, before.Version+1, v)
			f.RequireSurfaced(t)
			after, err := delta.New(b, "tables/t", delta.Options{}).Snapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, append(paths(before), name), paths(after), "rows land once")
		})
	}
}

// TestCommitUnknownOutcome: the store is gone to the end. The error says that
// the outcome is unknown, and the same application version lands once later.
func TestCommitUnknownOutcome(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after=%t", after), func(t *testing.T) {
			b := openBucket(t, "mem://")
			table(t, b, delta.Options{})
			f := buckettest.NewFaults(b, 1,
				buckettest.Fault{Op: buckettest.PutIfAbsent, After: after},
				buckettest.Fault{Op: buckettest.Get, Key: "*1.json"})
			tx := delta.Transaction{Add: []delta.File{file("x", 1)}, Apps: []delta.AppTransaction{{ID: "key", Version: delta.OwnVersion}}}
			l := delta.New(f, "tables/t", delta.Options{})
			_, err := l.Commit(t.Context(), tx)
			requireCode(t, feature.CodeUnavailable, err)
			require.ErrorContains(t, err, "unknown whether the commit landed")
			f.RequireSurfaced(t)

			again := delta.New(b, "tables/t", delta.Options{})
			_, err = again.Commit(t.Context(), tx)
			if after {
				requireCode(t, feature.CodeAlreadyExists, err)
			} else {
				require.NoError(t, err)
			}
			snap, err := again.Snapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, []string{"x"}, paths(snap))
			landed, ok := snap.App("key")
			require.True(t, ok)
			require.EqualValues(t, 1, landed)
		})
	}
}

func TestCommitRefusedByTheBucket(t *testing.T) {
	b := openBucket(t, "mem://")
	table(t, b, delta.Options{})
	for _, code := range []feature.Code{feature.CodePermissionDenied, feature.CodeResourceExhausted} {
		f := buckettest.NewFaults(b, 1, buckettest.Fault{Op: buckettest.PutIfAbsent, Err: feature.Errorf(code, "put", "k", "no")})
		_, err := delta.New(f, "tables/t", delta.Options{}).Commit(t.Context(), delta.Transaction{Add: []delta.File{file("x", 1)}})
		requireCode(t, code, err)
		require.Equal(t, 1, f.Surfaced(0), "what will not change is not tried again")
	}
}

// TestCreateLostAnswer is TestCommitLostAnswer for version 0.
func TestCreateLostAnswer(t *testing.T) {
	f := buckettest.NewFaults(openBucket(t, "mem://"), 1, buckettest.Fault{Op: buckettest.PutIfAbsent, Nth: 1, After: true})
	table(t, f, delta.Options{})
	f.RequireSurfaced(t)
}

// TestCheckpointFaultsHarmNobody: a commit that landed is not undone, and not
// reported, by a checkpoint that fails.
func TestCheckpointFaultsHarmNobody(t *testing.T) {
	for _, fault := range []buckettest.Fault{
		{Op: buckettest.Create, Key: "*.checkpoint.parquet"},
		{Op: buckettest.Write, Key: "*.checkpoint.parquet"},
		{Op: buckettest.Commit, Key: "*.checkpoint.parquet"},
		{Op: buckettest.Commit, Key: "_last_checkpoint"},
		{Op: buckettest.Commit, Key: "*.checkpoint.parquet", After: true},
	} {
		f := buckettest.NewFaults(openBucket(t, "mem://"), 1, fault)
		l := table(t, f, delta.Options{CheckpointEvery: 2})
		for i := range 5 {
			appendFile(t, l, file(strconv.Itoa(i), 1))
		}
		f.RequireSurfaced(t)
		snap, err := delta.New(f, "tables/t", delta.Options{}).Snapshot(t.Context())
		require.NoError(t, err)
		require.Len(t, snap.Files, 5)
	}
}

// TestReadersReportTheStore: a store that does not answer is never taken for a
// table that is damaged, or older.
func TestReadersReportTheStore(t *testing.T) {
	b := openBucket(t, "mem://")
	longTable(t, b, 25)
	for _, fault := range []buckettest.Fault{
		{Op: buckettest.Get, Key: "_last_checkpoint"},
		{Op: buckettest.Get, Key: "*23.json"},
		{Op: buckettest.List},
		{Op: buckettest.List, After: true},
		{Op: buckettest.ReadRange, Key: "*20.checkpoint.parquet"},
		{Op: buckettest.Read, Key: "*20.checkpoint.parquet"},
		{Op: buckettest.Stat, Key: "*20.checkpoint.parquet"},
	} {
		f := buckettest.NewFaults(b, 1, fault)
		_, err := delta.New(f, "tables/t", delta.Options{}).Snapshot(t.Context())
		requireCode(t, feature.CodeUnavailable, err)
		f.RequireSurfaced(t)
	}
	// One that is open already keeps what it has, and says so.
	f := buckettest.NewFaults(b, 1, buckettest.Fault{Op: buckettest.Get, Key: "*26.json"})
	_, err := delta.New(f, "tables/t", delta.Options{}).Snapshot(t.Context())
	requireCode(t, feature.CodeUnavailable, err)
}

// TestCrashAtEveryStep kills the writer before and after each change of the
// bucket: a new process finds each transaction whole or not at all, and sending
// all of them again gives the state of one run.
func TestCrashAtEveryStep(t *testing.T) {
	work := func(l *delta.Log) error {
		if _, err := l.Create(t.Context(), delta.Metadata{Fields: columns()}); err != nil && feature.CodeOf(err) != feature.CodeAlreadyExists {
			return err
		}
		for i := range 7 {
			name := strconv.Itoa(i)
			_, err := l.Commit(t.Context(), delta.Transaction{
				Add:  []delta.File{file(name+"/a", 1), file(name+"/b", 1)},
				Apps: []delta.AppTransaction{{ID: "job", Version: int64(i)}},
			})
			if err != nil && feature.CodeOf(err) != feature.CodeAlreadyExists {
				return err
			}
		}
		return nil
	}
	var want []string
	for i := range 7 {
		want = append(want, fmt.Sprintf("%d/a", i), fmt.Sprintf("%d/b", i))
	}
	options := delta.Options{CheckpointEvery: 3}
	steps := 0
	for step := 1; ; step++ {
		for _, after := range []bool{false, true} {
			b := openBucket(t, "mem://")
			f := buckettest.NewFaults(b, 1, buckettest.Fault{Op: buckettest.Mutation, Nth: step, After: after, Kill: true})
			err := work(delta.New(f, "tables/t", options))
			if f.Surfaced(0) == 0 {
				require.NoError(t, err)
				require.Equal(t, 12, steps, "one create, seven commits, two checkpoints with their hints")
				return
			}
			if snap, err := delta.New(b, "tables/t", options).Snapshot(t.Context()); err == nil {
				require.Equal(t, want[:len(snap.Files)], paths(snap))
				require.Zero(t, len(snap.Files)%2, "no half of a commit")
			} else {
				requireCode(t, feature.CodeNotFound, err)
			}
			again := delta.New(b, "tables/t", options)
			require.NoError(t, work(again))
			snap, err := delta.New(b, "tables/t", options).Snapshot(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, paths(snap), "step %d after=%t", step, after)
			require.EqualValues(t, 7, snap.Version)
		}
		steps = step
	}
}

// TestManyWriters has writers of two kinds on one table, each with a log of its
// own: what is acknowledged is there once, nothing else is, versions have no
// gap, and times increase.
func TestManyWriters(t *testing.T) {
	for name, address := range map[string]string{"memory": "mem://", "files": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			b := openBucket(t, address)
			table(t, b, delta.Options{})
			const writers, commits = 8, 8
			var mu sync.Mutex
			want := map[string]int64{}
			var wg sync.WaitGroup
			for w := range writers {
				wg.Go(func() {
					l := delta.New(b, "tables/t", delta.Options{CheckpointEvery: 10})
					for i := range commits {
						name := fmt.Sprintf("%d/%d", w, i)
						v, err := l.Commit(t.Context(), delta.Transaction{Add: []delta.File{file(name, 1)}})
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						want[name] = v
						mu.Unlock()
					}
				})
			}
			wg.Wait()
			l := delta.New(b, "tables/t", delta.Options{})
			snap, err := l.Snapshot(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, writers*commits, snap.Version)
			require.Len(t, snap.Files, writers*commits)
			for i, f := range snap.Files {
				require.EqualValues(t, i+1, f.Version)
				require.Equal(t, want[f.Path], f.Version)
			}
			history, err := l.History(t.Context(), 0)
			require.NoError(t, err)
			require.True(t, slices.IsSortedFunc(history, func(a, b delta.CommitInfo) int { return int(b.Time - a.Time) }))
		})
	}
}

// TestOneIdempotencyKeyLandsOnce: the same batch is sent to several servers.
func TestOneIdempotencyKeyLandsOnce(t *testing.T) {
	b := openBucket(t, "mem://")
	table(t, b, delta.Options{})
	var mu sync.Mutex
	var landed []int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			v, err := delta.New(b, "tables/t", delta.Options{}).Commit(t.Context(), delta.Transaction{
				Add:  []delta.File{file(strconv.Itoa(w), 1)},
				Apps: []delta.AppTransaction{{ID: "granary.idempotency/k", Version: delta.OwnVersion}},
			})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				landed = append(landed, v)
			} else if feature.CodeOf(err) != feature.CodeAlreadyExists {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int64{1}, landed)
}

// TestReadersWhileWriting: readers of one log see versions that never change
// and never go back while it is written to.
func TestReadersWhileWriting(t *testing.T) {
	l := table(t, openBucket(t, "mem://"), delta.Options{CheckpointEvery: 5})
	done := make(chan struct{})
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			last := int64(-1)
			for {
				snap, err := l.Snapshot(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				if snap.Version < last || len(snap.Files) != int(snap.Version) {
					t.Errorf("version %d after %d with %d files", snap.Version, last, len(snap.Files))
				}
				last = snap.Version
				if v, ok := snap.App("job"); ok && v != snap.Version {
					t.Errorf("version %d shows application version %d", snap.Version, v)
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for i := range 40 {
		_, err := l.Commit(t.Context(), delta.Transaction{
			Add: []delta.File{file(strconv.Itoa(i), 1)}, Apps: []delta.AppTransaction{{ID: "job", Version: int64(i + 1)}},
		})
		require.NoError(t, err)
	}
	close(done)
	wg.Wait()
}
