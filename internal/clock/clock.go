// Package clock is the one place that asks the real clock. Everything else
// takes a Clock, so that tests set the time.
package clock

import (
	"sync"
	"time"
)

// Clock tells the time. Implementations are safe for concurrent use.
type Clock interface {
	// Now returns the current instant.
	Now() time.Time
}

// Real is the clock of the machine.
type Real struct{}

// Now returns the machine's time.
func (Real) Now() time.Time { return time.Now() }

// Manual is a clock that stands still until it is set; for tests and replays.
type Manual struct {
	mu  sync.Mutex
	now time.Time
}

// NewManual returns a clock that stands at t.
func NewManual(t time.Time) *Manual {
	m := &Manual{}
	m.Set(t)
	return m
}

// Now returns the instant that was set last, in UTC.
func (m *Manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

// Set moves the clock to t, forwards or backwards; any year will do.
func (m *Manual) Set(t time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = t.Round(0).UTC() // without the monotonic reading
}

// Advance moves the clock by d.
func (m *Manual) Advance(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = m.now.Add(d)
}
