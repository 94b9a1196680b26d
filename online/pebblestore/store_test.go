package pebblestore

import (
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// openAt opens a small store, which the test may close before its end.
func openAt(t testing.TB, dir string, fs vfs.FS) *Store {
	t.Helper()
	s, err := Open(dir, Options{CacheBytes: 8 << 20, MemTableBytes: 1 << 20, FS: fs})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func TestStore(t *testing.T) {
	onlinetest.Run(t, func(t testing.TB) online.Store { return openAt(t, "store", vfs.NewMem()) })
}

func TestStoreOnFiles(t *testing.T) {
	onlinetest.RunScripts(t, func(t testing.TB) online.Store { return openAt(t, t.TempDir(), nil) })
}

func TestStoreDurable(t *testing.T) {
	dir := t.TempDir()
	onlinetest.RunDurable(t, func(t testing.TB, name string) online.Store {
		return openAt(t, filepath.Join(dir, name), nil)
	})
}
