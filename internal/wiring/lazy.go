package wiring

import (
	"context"
	"sync"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// lazyStore is an online store that is opened by the first call that needs it.
// A failed open is tried again by the next call: what had the store open may
// have ended.
type lazyStore struct {
	open func() (online.Store, error)

	mu     sync.Mutex
	store  online.Store
	closed bool
}

func newLazyStore(open func() (online.Store, error)) *lazyStore { return &lazyStore{open: open} }

// get returns the store, opened.
func (l *lazyStore) get() (online.Store, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, feature.Errorf(feature.CodeUnavailable, "wiring", "online store", "it is closed")
	case l.store == nil:
		store, err := l.open()
		if err != nil {
			return nil, err
		}
		l.store = store
	}
	return l.store, nil
}

// Read implements online.Reader.
func (l *lazyStore) Read(ctx context.Context, lookups []online.Lookup, out *online.Rows) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.Read(ctx, lookups, out)
}

// Mark implements online.Reader.
func (l *lazyStore) Mark(ctx context.Context, view feature.ViewID) (online.Mark, bool, error) {
	s, err := l.get()
	if err != nil {
		return online.Mark{}, false, err
	}
	return s.Mark(ctx, view)
}

// Write implements online.Writer.
func (l *lazyStore) Write(ctx context.Context, view feature.ViewID, rows []online.Row) (online.WriteStats, error) {
	s, err := l.get()
	if err != nil {
		return online.WriteStats{}, err
	}
	return s.Write(ctx, view, rows)
}

// SetMark implements online.Writer.
func (l *lazyStore) SetMark(ctx context.Context, view feature.ViewID, m online.Mark) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.SetMark(ctx, view, m)
}

// DeleteEntities implements online.Writer.
func (l *lazyStore) DeleteEntities(ctx context.Context, view feature.ViewID, keys []feature.EntityKey) (int64, error) {
	s, err := l.get()
	if err != nil {
		return 0, err
	}
	return s.DeleteEntities(ctx, view, keys)
}

// DeleteView implements online.Writer.
func (l *lazyStore) DeleteView(ctx context.Context, view feature.ViewID) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.DeleteView(ctx, view)
}

// Ping implements online.Store; it opens the store.
func (l *lazyStore) Ping(ctx context.Context) error {
	s, err := l.get()
	if err != nil {
		return err
	}
	return s.Ping(ctx)
}

// Close implements online.Store; one that was never needed stays closed.
func (l *lazyStore) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.store == nil {
		return nil
	}
	return l.store.Close()
}
