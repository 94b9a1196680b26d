package pebblestore

import (
	"context"
	"errors"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

var errSoon = errors.New("not built yet")

// Store is an online.Store in a directory.
type Store struct{}

var _ online.Store = (*Store)(nil)

// Open opens the store in dir and makes it if it is not there.
func Open(dir string, o Options) (*Store, error) { return nil, errSoon }

// Read implements online.Reader.
func (s *Store) Read(ctx context.Context, lookups []online.Lookup, out *online.Rows) error {
	return errSoon
}

// Mark implements online.Reader.
func (s *Store) Mark(ctx context.Context, view feature.ViewID) (online.Mark, bool, error) {
	return online.Mark{}, false, errSoon
}

// Write implements online.Writer.
func (s *Store) Write(ctx context.Context, view feature.ViewID, rows []online.Row) (online.WriteStats, error) {
	return online.WriteStats{}, errSoon
}

// SetMark implements online.Writer.
func (s *Store) SetMark(ctx context.Context, view feature.ViewID, m online.Mark) error {
	return errSoon
}

// DeleteEntities implements online.Writer.
func (s *Store) DeleteEntities(ctx context.Context, view feature.ViewID, keys []feature.EntityKey) (int64, error) {
	return 0, errSoon
}

// DeleteView implements online.Writer.
func (s *Store) DeleteView(ctx context.Context, view feature.ViewID) error { return errSoon }

// Ping implements online.Store.
func (s *Store) Ping(ctx context.Context) error { return errSoon }

// Close implements online.Store.
func (s *Store) Close() error { return errSoon }
