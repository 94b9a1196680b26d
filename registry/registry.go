package registry

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
)

// Storage holds the files of the revisions. It is safe for concurrent use, and
// a file that was put is seen by every Get that starts after the put returned.
type Storage interface {
	// Get returns the content of a file, which the caller may change, or
	// CodeNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// PutIfAbsent writes a file that is not there yet, or returns
	// CodeAlreadyExists. The file appears whole or not at all, and is durable
	// when the call returns. After any other error it may be there or not.
	PutIfAbsent(ctx context.Context, key string, data []byte) error
}

// Options of a registry; the zero value is the default.
type Options struct {
	// Clock dates the revisions; clock.Real if nil.
	Clock clock.Clock
	// Prefix stands before the names of the files; "registry/" if empty.
	Prefix string
	// Log tells of every revision that this process writes; nothing is logged
	// if nil.
	Log *slog.Logger
}

// DefaultPrefix is where the revisions are if Options.Prefix is empty.
const DefaultPrefix = "registry/"

// Registry is the registry of one storage. It has no goroutines and need not
// be closed. All methods are safe for concurrent use, and any number of
// processes may write to one storage at once.
type Registry struct {
	storage Storage
	prefix  string
	clock   clock.Clock
	log     *slog.Logger
	current atomic.Pointer[Snapshot]
	history historyCache
}

// Open reads the newest revision. An empty storage is revision 0, without
// projects; nothing is written.
func Open(ctx context.Context, s Storage, o Options) (*Registry, error) {
	r := &Registry{storage: s, prefix: o.Prefix, clock: o.Clock, log: o.Log}
	if r.prefix == "" {
		r.prefix = DefaultPrefix
	}
	if r.clock == nil {
		r.clock = clock.Real{}
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.history.entries = map[int64]wire.Revision{}
	r.current.Store(emptySnapshot())
	if _, err := r.Refresh(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// Snapshot returns the newest revision that this process has read or written.
// It asks nobody; Refresh does.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// Refresh looks for revisions that others wrote and returns the newest. It
// costs one Get when there is none.
func (r *Registry) Refresh(ctx context.Context) (*Snapshot, error) {
	base := r.Snapshot()
	data, revision, err := r.newest(ctx, base.Revision())
	if err != nil {
		return nil, err
	}
	if data == nil {
		return r.Snapshot(), nil
	}
	next, err := decodeSnapshot(data, revision)
	if err != nil {
		return nil, err
	}
	if next.Revision() == base.Revision()+1 && next.file.Parent != base.hash {
		return nil, feature.Errorf(feature.CodeDataLoss, "registry.Refresh", subjectOf(next.Revision()),
			"it does not follow the revision %d that was read before: files of the registry were removed or replaced", base.Revision())
	}
	return r.advance(next), nil
}

// At returns the state at a revision from 0 to the newest one; any other is
// CodeNotFound.
func (r *Registry) At(ctx context.Context, revision int64) (*Snapshot, error) {
	switch current := r.Snapshot(); revision {
	case current.Revision():
		return current, nil
	case 0:
		return emptySnapshot(), nil
	}
	data, err := r.read(ctx, revision)
	if err != nil {
		return nil, err
	}
	if data == nil {
		return nil, feature.Errorf(feature.CodeNotFound, "registry.At", subjectOf(revision), "there is no such revision")
	}
	return decodeSnapshot(data, revision)
}

// newest returns the file and the number of the newest revision after base, or
// nil if there is none.
//
// Reading base+1, base+2, … would cost a Get for every revision since the
// storage was made. As the numbers have no gaps, the steps may double until one
// misses, and the end is then found by halving: some 2·log₂(n) Gets, and the
// one Get that it needs to be when nothing is new. What other writers add
// meanwhile does no harm: the answer is never older than what was newest when
// the search began.
func (r *Registry) newest(ctx context.Context, base int64) (newest []byte, found int64, err error) {
	found = base
	step := int64(1)
	for {
		data, err := r.read(ctx, found+step)
		if err != nil {
			return nil, 0, err
		}
		if data == nil {
			break
		}
		newest, found, step = data, found+step, step*2
	}
	for missing := found + step; missing-found > 1; {
		middle := found + (missing-found)/2
		data, err := r.read(ctx, middle)
		switch {
		case err != nil:
			return nil, 0, err
		case data == nil:
			missing = middle
		default:
			newest, found = data, middle
		}
	}
	return newest, found, nil
}

// read returns the file of a revision, or nil if it is not there.
func (r *Registry) read(ctx context.Context, revision int64) ([]byte, error) {
	if revision < 1 {
		return nil, nil
	}
	data, err := r.storage.Get(ctx, r.key(revision))
	switch {
	case err == nil && data == nil:
		return []byte{}, nil
	case err == nil:
		return data, nil
	case feature.CodeOf(err) == feature.CodeNotFound:
		return nil, nil
	}
	return nil, &feature.Error{Code: feature.CodeOf(err), Op: "registry.Read", Subject: subjectOf(revision), Err: err}
}

// advance makes s current unless a newer one is, and returns the current one.
func (r *Registry) advance(s *Snapshot) *Snapshot {
	for {
		current := r.current.Load()
		if current.Revision() >= s.Revision() {
			return current
		}
		if r.current.CompareAndSwap(current, s) {
			return s
		}
	}
}

// key returns the name of the file of a revision. Twenty digits hold every
// int64, so that the order of the names is that of the numbers.
func (r *Registry) key(revision int64) string {
	return fmt.Sprintf("%s%020d.json", r.prefix, revision)
}

func subjectOf(revision int64) string {
	return fmt.Sprintf("revision %d", revision)
}

// historyCache keeps what History has read; revisions never change.
type historyCache struct {
	mu      sync.Mutex
	entries map[int64]wire.Revision
}
