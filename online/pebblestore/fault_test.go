package pebblestore

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// breaker makes operations on files fail once it is armed, and counts them.
type breaker struct {
	armed atomic.Bool
	hits  atomic.Int64
	err   error
	match func(errorfs.Op) bool
}

// MaybeError implements errorfs.Injector.
func (b *breaker) MaybeError(op errorfs.Op) error {
	if !b.armed.Load() || !b.match(op) {
		return nil
	}
	b.hits.Add(1)
	return b.err
}

// String implements errorfs.Injector.
func (b *breaker) String() string { return "breaker" }

func isLog(op errorfs.Op) bool { return strings.HasSuffix(op.Path, ".log") }

// TestLogFails: when the log cannot be synced or written, the write fails with
// its code, the process lives, writes are refused, reads go on, and a restart
// finds all that was acknowledged.
func TestLogFails(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		kinds map[errorfs.OpKind]bool
		code  feature.Code
	}{
		"sync":  {syscall.EIO, map[errorfs.OpKind]bool{errorfs.OpFileSync: true, errorfs.OpFileSyncData: true, errorfs.OpFileSyncTo: true}, feature.CodeUnavailable},
		"write": {syscall.ENOSPC, map[errorfs.OpKind]bool{errorfs.OpFileWrite: true}, feature.CodeResourceExhausted},
	} {
		t.Run(name, func(t *testing.T) {
			b := &breaker{err: c.err, match: func(op errorfs.Op) bool { return isLog(op) && c.kinds[op.Kind] }}
			mem := vfs.NewCrashableMem()
			s, err := Open("store", Options{FS: errorfs.Wrap(mem, b)})
			require.NoError(t, err)
			v := crashView(t, 1)
			_, err = s.Write(t.Context(), v.ID, []online.Row{crashRow(t, v, 1, 1)})
			require.NoError(t, err)
			b.armed.Store(true)
			for range 2 {
				_, err = s.Write(t.Context(), v.ID, []online.Row{crashRow(t, v, 2, 1)})
				require.Equal(t, c.code, feature.CodeOf(err), "%v", err)
			}
			require.Positive(t, b.hits.Load())
			require.Equal(t, c.code, feature.CodeOf(s.Ping(t.Context())))
			require.Equal(t, c.code, feature.CodeOf(s.DeleteView(t.Context(), v.ID)))
			require.Equal(t, int64(1), versionOf(t, s, v, 1), "reads go on")
			clone := mem.CrashClone(vfs.CrashCloneCfg{})
			b.armed.Store(false)
			_ = s.Close() // tells again that the log is broken, or does not
			require.Equal(t, int64(1), versionOf(t, openAt(t, "store", clone), v, 1))
		})
	}
}

// fileStore is a store with one row in a file, of which nothing is cached.
func fileStore(t *testing.T, fs vfs.FS) (*Store, []online.Lookup) {
	t.Helper()
	s, err := Open("store", Options{FS: fs, CacheBytes: 1})
	require.NoError(t, err)
	v := crashView(t, 1)
	_, err = s.Write(t.Context(), v.ID, []online.Row{crashRow(t, v, 1, 1)})
	require.NoError(t, err)
	require.NoError(t, s.db.Flush())
	return s, []online.Lookup{{View: v.ID, Keys: []feature.EntityKey{v.Key(t, feature.Int64Value(1))}}}
}

// TestReadFails: a file that cannot be read fails the read and the write; it is
// never taken for a row that is not there.
func TestReadFails(t *testing.T) {
	b := &breaker{err: syscall.EIO, match: func(op errorfs.Op) bool {
		return strings.HasSuffix(op.Path, ".sst") && op.Kind == errorfs.OpFileReadAt
	}}
	s, lookups := fileStore(t, errorfs.Wrap(vfs.NewMem(), b))
	v := crashView(t, 1)
	b.armed.Store(true)
	var rows online.Rows
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(s.Read(t.Context(), lookups, &rows)))
	_, err := s.Write(t.Context(), v.ID, []online.Row{crashRow(t, v, 1, 2)})
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
	require.Positive(t, b.hits.Load())
	b.armed.Store(false)
	require.Equal(t, int64(1), versionOf(t, s, v, 1))
	require.NoError(t, s.Close())
}

// TestDamagedFile: a turned bit in a file is CodeDataLoss.
func TestDamagedFile(t *testing.T) {
	mem := vfs.NewMem()
	s, lookups := fileStore(t, mem)
	names, err := mem.List("store")
	require.NoError(t, err)
	for _, name := range names {
		if strings.HasSuffix(name, ".sst") {
			data, err := mem.UnsafeGetFileDataBuffer(mem.PathJoin("store", name))
			require.NoError(t, err)
			data[10] ^= 1
		}
	}
	var rows online.Rows
	err = s.Read(t.Context(), lookups, &rows)
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err), "%v", err)
	require.NoError(t, s.Close())
}

// TestDamagedRow: a row whose bytes changed below Pebble fails a read and a
// write with the view's name, and not with the entity's.
func TestDamagedRow(t *testing.T) {
	s := openAt(t, "store", vfs.NewMem())
	v := crashView(t, 7)
	key := feature.EntityKey("\x80secret\x00")
	row := v.Row(t, key, 1, 1, feature.Int64Value(1))
	row.Packed[10] ^= 1
	require.NoError(t, s.db.Set(online.AppendRowKey(nil, v.ID, 0, key), row.Packed, pebble.Sync))
	var rows online.Rows
	err := s.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: []feature.EntityKey{key}}}, &rows)
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
	require.ErrorContains(t, err, "view 7, entity key of 8 bytes")
	require.NotContains(t, err.Error(), "secret")

	require.NoError(t, s.db.Set(online.AppendRowKey(nil, v.ID, 0, key), []byte("x"), pebble.Sync))
	row.Packed[10] ^= 1
	_, err = s.Write(t.Context(), v.ID, []online.Row{row})
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))

	require.NoError(t, s.db.Set(online.AppendMarkKey(nil, v.ID), []byte("x"), pebble.Sync))
	_, _, err = s.Mark(t.Context(), v.ID)
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
}

// TestDiskFull: writes are refused while there is still room for the engine;
// deletes, which make room, are not; and it recovers by itself.
func TestDiskFull(t *testing.T) {
	mem := vfs.NewMem()
	s, err := Open("store", Options{FS: mem, MinFreeBytes: 1000})
	require.NoError(t, err)
	v := crashView(t, 1)
	write := func(n int64) error {
		_, err := s.Write(t.Context(), v.ID, []online.Row{crashRow(t, v, 1, n)})
		return err
	}
	require.NoError(t, write(1))
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1010, TotalBytes: 1 << 30})
	err = write(2)
	require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(err))
	require.ErrorContains(t, err, "the disk is full: 1010 bytes free, 1045 needed")
	require.Equal(t, int64(1), versionOf(t, s, v, 1))
	n, err := s.DeleteEntities(t.Context(), v.ID, []feature.EntityKey{v.Key(t, feature.Int64Value(1))})
	require.NoError(t, err)
	require.Equal(t, int64(1), n)
	require.NoError(t, s.DeleteView(t.Context(), v.ID))
	mem.TestingSetDiskUsage(vfs.DiskUsage{AvailBytes: 1 << 20, TotalBytes: 1 << 30})
	require.NoError(t, write(2))
	require.NoError(t, s.Close())
}

// TestSecondOpen: one directory, one store, in one process and in two.
func TestSecondOpen(t *testing.T) {
	const child = "GRANARY_TEST_PEBBLE_DIR"
	if dir := os.Getenv(child); dir != "" {
		_, err := Open(dir, Options{})
		fmt.Println(err)
		return
	}
	dir := t.TempDir()
	openAt(t, dir, nil)
	_, err := Open(dir, Options{})
	require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestSecondOpen$")
	cmd.Env = append(os.Environ(), child+"="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "another process has the online store open")
}

// TestOpenRefuses: what is no online store of this format stays as it is.
func TestOpenRefuses(t *testing.T) {
	mem := vfs.NewMem()
	db, err := pebble.Open("foreign", &pebble.Options{FS: mem, Logger: discard{}})
	require.NoError(t, err)
	require.NoError(t, db.Set([]byte("key"), []byte("value"), pebble.Sync))
	require.NoError(t, db.Close())
	_, err = Open("foreign", Options{FS: mem})
	require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
	require.ErrorContains(t, err, "another Pebble database")

	s := openAt(t, "newer", mem)
	require.NoError(t, s.db.Set(formatKey, []byte("2"), pebble.Sync))
	require.NoError(t, s.Close())
	_, err = Open("newer", Options{FS: mem})
	require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
	require.ErrorContains(t, err, "format version 2 and this program knows 1")

	denied := &breaker{err: syscall.EACCES, match: func(op errorfs.Op) bool { return op.Kind == errorfs.OpMkdirAll }}
	denied.armed.Store(true)
	_, err = Open("denied", Options{FS: errorfs.Wrap(mem, denied)})
	require.Equal(t, feature.CodePermissionDenied, feature.CodeOf(err))
}

// TestOpenFails: an error of the file system while a store opens is told,
// ends no process, and leaves no lock behind.
func TestOpenFails(t *testing.T) {
	for n := range int64(40) {
		mem := vfs.NewMem()
		b := &nth{n: n}
		s, err := Open("store", Options{FS: errorfs.Wrap(mem, b)})
		if err == nil {
			require.NoError(t, s.Close())
		} else {
			require.NotEqual(t, feature.CodeInternal, feature.CodeOf(err), "operation %d: %v", n, err)
		}
		require.NoError(t, openAt(t, "store", mem).Ping(t.Context()), "operation %d", n)
	}
}

// nth fails the nth operation that changes something.
type nth struct{ n, seen int64 }

// MaybeError implements errorfs.Injector.
func (i *nth) MaybeError(op errorfs.Op) error {
	if op.Kind.ReadOrWrite() == errorfs.OpIsRead {
		return nil
	}
	if atomic.AddInt64(&i.seen, 1)-1 != i.n {
		return nil
	}
	return syscall.EIO
}

// String implements errorfs.Injector.
func (i *nth) String() string { return "nth" }

// discard is a log of nothing.
type discard struct{}

func (discard) Infof(string, ...any)  {}
func (discard) Errorf(string, ...any) {}
func (discard) Fatalf(string, ...any) {}

// TestPanicOfTheEngine: where Pebble gives up with its locks held, later calls
// are refused instead of waiting for ever.
func TestPanicOfTheEngine(t *testing.T) {
	s, err := Open("store", Options{FS: vfs.NewMem()})
	require.NoError(t, err)
	err = s.commit(t.Context(), "online.Test", 1, 0, func(*pebble.Batch) error { panic(syscall.ENOSPC) })
	require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(err))
	require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(s.SetMark(context.Background(), 1, online.Mark{})))
	require.NoError(t, s.db.Close()) // Close does not: it would wait for the engine's locks
	require.Equal(t, Metrics{}, s.Metrics())
	require.NoError(t, s.Close())
}
