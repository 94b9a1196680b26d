package onlinetest

import (
	"context"
	"sync"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// Reference is an online store that is a map: the plainest thing that keeps
// the contract, for comparison and for tests of what stands above a store.
type Reference struct {
	mu     sync.RWMutex
	closed bool
	views  map[feature.ViewID]map[feature.EntityKey][]byte
	marks  map[feature.ViewID]online.Mark
}

var _ online.Store = (*Reference)(nil)

// NewReference returns an empty store.
func NewReference() *Reference {
	return &Reference{
		views: map[feature.ViewID]map[feature.EntityKey][]byte{},
		marks: map[feature.ViewID]online.Mark{},
	}
}

// ready tells whether the store may be used; the lock is held.
func (r *Reference) ready(ctx context.Context, op string) error {
	if r.closed {
		return feature.Errorf(feature.CodeUnavailable, op, "", "the store is closed")
	}
	return ctx.Err()
}

// Read implements online.Reader.
func (r *Reference) Read(ctx context.Context, lookups []online.Lookup, out *online.Rows) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if err := r.ready(ctx, "online.Read"); err != nil {
		return err
	}
	out.Reset(lookups)
	for i, l := range lookups {
		for j, key := range l.Keys {
			if packed, ok := r.views[l.View][key]; ok {
				out.Share(i, j, packed) // a stored row is never changed, only replaced
			}
		}
	}
	return nil
}

// Mark implements online.Reader.
func (r *Reference) Mark(ctx context.Context, view feature.ViewID) (online.Mark, bool, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if err := r.ready(ctx, "online.Mark"); err != nil {
		return online.Mark{}, false, err
	}
	m, ok := r.marks[view]
	return m, ok, nil
}

// Write implements online.Writer.
func (r *Reference) Write(ctx context.Context, view feature.ViewID, rows []online.Row) (online.WriteStats, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var stats online.WriteStats
	if err := r.ready(ctx, "online.Write"); err != nil {
		return stats, err
	}
	if err := online.CheckRows("online.Write", rows); err != nil {
		return stats, err
	}
	stored := r.views[view]
	if stored == nil {
		stored = map[feature.EntityKey][]byte{}
		r.views[view] = stored
	}
	for _, row := range rows {
		newer, err := online.Replaces(row.Packed, stored[row.Key])
		switch {
		case err != nil:
			return stats, err
		case !newer:
			stats.Superseded++
		default:
			stored[row.Key] = append([]byte(nil), row.Packed...)
			stats.Written++
		}
	}
	return stats, nil
}

// SetMark implements online.Writer.
func (r *Reference) SetMark(ctx context.Context, view feature.ViewID, m online.Mark) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ready(ctx, "online.SetMark"); err != nil {
		return err
	}
	r.marks[view] = m
	return nil
}

// DeleteEntities implements online.Writer.
func (r *Reference) DeleteEntities(ctx context.Context, view feature.ViewID, keys []feature.EntityKey) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ready(ctx, "online.DeleteEntities"); err != nil {
		return 0, err
	}
	var deleted int64
	for _, key := range keys {
		if _, ok := r.views[view][key]; ok {
			delete(r.views[view], key)
			deleted++
		}
	}
	return deleted, nil
}

// DeleteView implements online.Writer.
func (r *Reference) DeleteView(ctx context.Context, view feature.ViewID) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ready(ctx, "online.DeleteView"); err != nil {
		return err
	}
	delete(r.views, view)
	delete(r.marks, view)
	return nil
}

// Ping implements online.Store.
func (r *Reference) Ping(ctx context.Context) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ready(ctx, "online.Ping")
}

// Close implements online.Store.
func (r *Reference) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return nil
}
