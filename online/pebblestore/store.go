package pebblestore

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// stripes is how many views can be written at once; writers of views that
// share a stripe take turns.
const stripes = 64

// Store is an online.Store in a directory. It is safe for concurrent use.
type Store struct {
	dir     string
	minFree int64
	fs      vfs.FS
	log     *slog.Logger
	lock    *pebble.Lock
	cache   *pebble.Cache
	db      *pebble.DB

	// life is held shared by every call and taken by Close, which so waits for
	// the calls under way and is seen by those after it.
	life   sync.RWMutex
	closed bool
	// failed is why the store takes no more writes, once it does not.
	failed atomic.Pointer[failure]
	// views serialize the writers of a view between the reading of what is there
	// and the moment at which others see what they wrote.
	views [stripes]stripe
	count counters
}

var _ online.Store = (*Store)(nil)

// stripe is the turn of the writers of some views.
type stripe struct {
	sync.Mutex
	// unsynced counts the commits that others see and that are not yet durable.
	unsynced atomic.Int64
}

// Open opens the store in dir and makes it if it is not there. A directory
// that another process has open, that is no online store, or that a newer
// program wrote is CodeFailedPrecondition; damage is CodeDataLoss. The caller
// closes the store.
func Open(dir string, o Options) (*Store, error) {
	o = o.withDefaults()
	s := &Store{dir: dir, minFree: o.MinFreeBytes, fs: o.FS, log: o.Log}
	if err := o.FS.MkdirAll(dir, 0o755); err != nil {
		return nil, s.openError(err)
	}
	lock, err := pebble.LockDirectory(dir, o.FS)
	if err != nil {
		return nil, s.lockError(err)
	}
	s.lock, s.cache = lock, pebble.NewCache(o.CacheBytes)
	if err := s.openEngine(o); err != nil {
		return nil, errors.Join(s.openError(err), s.release())
	}
	if err := s.checkFormat(); err != nil {
		return nil, errors.Join(err, s.db.Close(), s.release())
	}
	return s, nil
}

// openEngine opens the database. Pebble panics where it cannot sync a
// directory; to the caller that is an error as any other.
func (s *Store) openEngine(o Options) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = gaveUp(p)
		}
	}()
	s.db, err = pebble.Open(s.dir, s.engineOptions(o))
	return err
}

// release gives back what Open took before the engine.
func (s *Store) release() error {
	s.cache.Unref()
	return s.lock.Close()
}

// lockError tells why the directory could not be locked.
func (s *Store) lockError(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) && !locked(err) {
		return s.openError(err)
	}
	return feature.Errorf(feature.CodeFailedPrecondition, "pebblestore.Open", s.dir,
		"another process has the online store open (stop it, or talk to it through its server): %w", err)
}

// Close implements online.Store.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if f := s.failed.Load(); f != nil && f.stuck {
		return s.release() // the engine holds its locks and would never return
	}
	return errors.Join(s.db.Close(), s.release())
}

// begin admits a call; the caller calls s.life.RUnlock when err is nil.
func (s *Store) begin(ctx context.Context, op string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return feature.Errorf(feature.CodeUnavailable, op, s.dir, "the online store is closed")
	}
	return nil
}

// Ping implements online.Store. It fails when the store takes no more writes.
func (s *Store) Ping(ctx context.Context) error {
	const op = "online.Ping"
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := s.writable(op, 0); err != nil {
		return err
	}
	_, err := s.format()
	return s.wrap(op, err)
}
