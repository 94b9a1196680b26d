package pebblestore

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

// crashView is a view of one number by one number.
func crashView(tb testing.TB, id feature.ViewID) onlinetest.View {
	tb.Helper()
	return onlinetest.MakeView(tb, id, []string{"k int64"}, []string{"v int64"})
}

// crashRow is version n of the row of k; its value is n.
func crashRow(tb testing.TB, v onlinetest.View, k, n int64) online.Row {
	tb.Helper()
	at := feature.Timestamp(n)
	return v.Row(tb, v.Key(tb, feature.Int64Value(k)), at, at, feature.Int64Value(n))
}

// versionOf returns the version of the row of k; 0 if there is none.
func versionOf(tb testing.TB, s online.Store, v onlinetest.View, k int64) int64 {
	tb.Helper()
	var rows online.Rows
	require.NoError(tb, s.Read(tb.Context(), []online.Lookup{{View: v.ID, Keys: []feature.EntityKey{v.Key(tb, feature.Int64Value(k))}}}, &rows))
	if rows.Row(0, 0) == nil {
		return 0
	}
	value, err := v.Value(rows.Row(0, 0), 0)
	require.NoError(tb, err)
	return value.Int()
}

// TestCrash cuts the power at random moments while writers work. After it,
// every row that was acknowledged is there, as it was or newer; a batch is there
// as a whole or not at all; and no mark is ahead of the rows before it.
func TestCrash(t *testing.T) {
	for seed := range uint64(12) {
		crashOnce(t, seed)
	}
}

// crash is one run of writers up to a power cut.
type crash struct {
	view  onlinetest.View
	acked [writers]atomic.Int64 // newest version that was acknowledged
	// cut is the version of the first writer at which the power goes; reached is
	// closed when it is there, or when that writer gave up.
	cut     int64
	reached chan struct{}
}

const (
	writers = 4
	// pairKeys apart stand the two rows that every batch writes.
	pairKeys = 1000
)

func crashOnce(t *testing.T, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	mem := vfs.NewCrashableMem()
	s := openAt(t, "store", mem)
	c := &crash{view: crashView(t, 1), cut: 1 + r.Int64N(60), reached: make(chan struct{})}
	var wg sync.WaitGroup
	var stop atomic.Bool
	for w := range writers {
		wg.Go(func() { c.write(t, s, int64(w), &stop) })
	}
	<-c.reached
	var acked [writers]int64
	for w := range acked {
		acked[w] = c.acked[w].Load()
	}
	clone := mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: r.IntN(101), RNG: r})
	stop.Store(true)
	wg.Wait()
	c.check(t, openAt(t, "store", clone), acked)
}

// write writes growing versions of two rows, then the mark, until it is stopped.
func (c *crash) write(t *testing.T, s online.Store, k int64, stop *atomic.Bool) {
	t.Helper()
	first := sync.OnceFunc(func() { close(c.reached) })
	if k == 0 {
		defer first()
	}
	for n := int64(1); !stop.Load(); n++ {
		rows := []online.Row{crashRow(t, c.view, k, n), crashRow(t, c.view, k+pairKeys, n)}
		if _, err := s.Write(t.Context(), c.view.ID, rows); err != nil {
			t.Error(err)
			return
		}
		if k == 0 {
			if err := s.SetMark(t.Context(), c.view.ID, online.Mark{Version: n}); err != nil {
				t.Error(err)
				return
			}
		}
		c.acked[k].Store(n)
		if k == 0 && n >= c.cut {
			first()
		}
	}
}

func (c *crash) check(t *testing.T, s online.Store, acked [writers]int64) {
	t.Helper()
	for w := range int64(writers) {
		got := versionOf(t, s, c.view, w)
		require.GreaterOrEqual(t, got, acked[w], "an acknowledged row is gone")
		require.Equal(t, got, versionOf(t, s, c.view, w+pairKeys), "half a batch is there")
	}
	m, ok, err := s.Mark(t.Context(), c.view.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.GreaterOrEqual(t, m.Version, acked[0])
	require.LessOrEqual(t, m.Version, versionOf(t, s, c.view, 0), "the mark is ahead of its rows")
}

// TestSupersededWaits: whoever is told that a newer row is there can rely on it
// after a power cut. So the answer waits for the sync of that row.
func TestSupersededWaits(t *testing.T) {
	gate := &syncGate{open: make(chan struct{})}
	s := openAt(t, "store", errorfs.Wrap(vfs.NewMem(), gate))
	v := crashView(t, 1)
	turn := &s.views[v.ID%stripes]
	write := func(n int64) online.WriteStats {
		stats, err := s.Write(t.Context(), v.ID, []online.Row{crashRow(t, v, 1, n)})
		if err != nil {
			t.Error(err)
		}
		return stats
	}
	gate.armed.Store(true)
	var released atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() { write(9) })
	wg.Go(func() { // opens the gate once both writers wait at it
		for turn.unsynced.Load() < 2 && !released.Load() {
			runtime.Gosched()
		}
		released.Store(true)
		close(gate.open)
	})
	for versionOf(t, s, v, 1) != 9 { // others see it before it is durable
		runtime.Gosched()
	}
	require.Equal(t, online.WriteStats{Superseded: 1}, write(5))
	require.True(t, released.Swap(true), "acknowledged before the newer row was durable")
	wg.Wait()
	require.Zero(t, turn.unsynced.Load())
}

// syncGate holds up the syncs of the log, once it is armed, until it is open.
type syncGate struct {
	armed atomic.Bool
	open  chan struct{}
}

// MaybeError implements errorfs.Injector.
func (g *syncGate) MaybeError(op errorfs.Op) error {
	if g.armed.Load() && isLog(op) && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpFileWrite {
		<-g.open
	}
	return nil
}

// String implements errorfs.Injector.
func (g *syncGate) String() string { return "sync gate" }

// TestCrashDelete: what was deleted stays deleted.
func TestCrashDelete(t *testing.T) {
	mem := vfs.NewCrashableMem()
	s := openAt(t, "store", mem)
	v, w := crashView(t, 1), crashView(t, 2)
	for _, view := range []onlinetest.View{v, w} {
		_, err := s.Write(t.Context(), view.ID, []online.Row{crashRow(t, view, 1, 1), crashRow(t, view, 2, 1)})
		require.NoError(t, err)
	}
	require.NoError(t, s.DeleteView(t.Context(), v.ID))
	n, err := s.DeleteEntities(t.Context(), w.ID, []feature.EntityKey{w.Key(t, feature.Int64Value(1))})
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	after := openAt(t, "store", mem.CrashClone(vfs.CrashCloneCfg{}))
	require.Zero(t, versionOf(t, after, v, 1))
	require.Zero(t, versionOf(t, after, w, 1))
	require.Equal(t, int64(1), versionOf(t, after, w, 2))
}
