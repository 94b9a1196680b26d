package pebblestore

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

// TestMain finds goroutines that outlive a store. Pebble itself leaves one
// behind where opening fails late, after it was registered: TestOpenFails.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/cockroachdb/pebble/v2.(*ConcurrencyLimitScheduler).periodicGranter"))
}

// openAt opens a small store, which the test may close before its end.
func openAt(tb testing.TB, dir string, fs vfs.FS) *Store {
	tb.Helper()
	s, err := Open(dir, Options{CacheBytes: 8 << 20, MemTableBytes: 1 << 20, FS: fs})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, s.Close()) })
	return s
}

func TestStore(t *testing.T) {
	onlinetest.Run(t, func(tb testing.TB) online.Store {
		tb.Helper()
		return openAt(tb, "store", vfs.NewMem())
	})
}

func TestStoreOnFiles(t *testing.T) {
	onlinetest.RunScripts(t, func(tb testing.TB) online.Store {
		tb.Helper()
		return openAt(tb, tb.TempDir(), nil)
	})
}

func TestStoreDurable(t *testing.T) {
	dir := t.TempDir()
	onlinetest.RunDurable(t, func(tb testing.TB, name string) online.Store {
		tb.Helper()
		return openAt(tb, filepath.Join(dir, name), nil)
	})
}

// TestReadKeepsRows reads rows of many blocks at once while next to nothing is
// cached: what the engine lends for a moment must have been copied.
func TestReadKeepsRows(t *testing.T) {
	const n = 5000
	s, err := Open("store", Options{FS: vfs.NewMem(), CacheBytes: 1})
	require.NoError(t, err)
	v := crashView(t, 1)
	rows := make([]online.Row, n)
	keys := make([]feature.EntityKey, n)
	for k := range rows {
		rows[k] = crashRow(t, v, int64(k), int64(k))
		keys[k] = rows[k].Key
	}
	_, err = s.Write(t.Context(), v.ID, rows)
	require.NoError(t, err)
	require.NoError(t, s.db.Flush())
	var out online.Rows
	require.NoError(t, s.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: keys}}, &out))
	for k := range rows {
		require.True(t, bytes.Equal(rows[k].Packed, out.Row(0, k)), "row %d", k)
	}
	require.NoError(t, s.Close())
}
