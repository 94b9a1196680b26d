package onlinetest

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// Fault says which calls of a Faults fail, and how.
type Fault struct {
	// Op is the call, such as "Write"; empty is every call but Close.
	Op string
	// View is the view; 0 is every view.
	View feature.ViewID
	// Nth makes the nth matching call fail, counted from 1; 0 is every one.
	Nth int
	// Probability is how likely a matching call fails; 0 is always.
	Probability float64
	// After lets the call have its effect first: its answer is lost.
	After bool
	// Code is the code of the error; CodeUnavailable if it is the zero code.
	Code feature.Code
}

// Faults is a store whose calls fail as it is told. It counts the faults that
// it made, so that a test can prove that each surfaced.
type Faults struct {
	store online.Store

	mu     sync.Mutex
	random *rand.Rand
	rules  []*rule
	made   int
}

type rule struct {
	Fault
	seen int
}

var _ online.Store = (*Faults)(nil)

// NewFaults wraps a store; seed decides about probabilities.
func NewFaults(s online.Store, seed uint64, faults ...Fault) *Faults {
	f := &Faults{store: s, random: rand.New(rand.NewPCG(seed, 0))} //nolint:gosec // a test repeats
	f.Set(faults...)
	return f
}

// Set replaces the faults; none lets every call through.
func (f *Faults) Set(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rules = nil
	for _, fault := range faults {
		f.rules = append(f.rules, &rule{Fault: fault})
	}
}

// Made returns how many calls were made to fail.
func (f *Faults) Made() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.made
}

// pick returns the fault of a call, or nil. Every rule counts the calls that it
// matches, also those that another one makes fail.
func (f *Faults) pick(op string, views ...feature.ViewID) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	var picked *Fault
	for _, r := range f.rules {
		if !r.matches(op, views) {
			continue
		}
		r.seen++
		due := r.Nth == 0 || r.Nth == r.seen
		if due && picked == nil && (r.Probability == 0 || f.random.Float64() < r.Probability) {
			picked = &r.Fault
			f.made++
		}
	}
	return picked
}

func (r *rule) matches(op string, views []feature.ViewID) bool {
	return (r.Op == "" || r.Op == op) && (r.View == 0 || slices.Contains(views, r.View))
}

// call makes a call with the fault that it was given, if any.
func (f *Faults) call(op string, do func() error, views ...feature.ViewID) error {
	fault := f.pick(op, views...)
	if fault == nil {
		return do()
	}
	if fault.After {
		if err := do(); err != nil {
			return err
		}
	}
	code := fault.Code
	if code == feature.CodeInternal {
		code = feature.CodeUnavailable
	}
	return feature.Errorf(code, "online."+op, "", "injected fault")
}

// Read implements online.Reader.
func (f *Faults) Read(ctx context.Context, lookups []online.Lookup, out *online.Rows) error {
	views := make([]feature.ViewID, len(lookups))
	for i := range lookups {
		views[i] = lookups[i].View
	}
	return f.call("Read", func() error { return f.store.Read(ctx, lookups, out) }, views...)
}

// Mark implements online.Reader.
func (f *Faults) Mark(ctx context.Context, view feature.ViewID) (m online.Mark, ok bool, err error) {
	err = f.call("Mark", func() error {
		m, ok, err = f.store.Mark(ctx, view)
		return err
	}, view)
	return m, ok && err == nil, err
}

// Write implements online.Writer.
func (f *Faults) Write(ctx context.Context, view feature.ViewID, rows []online.Row) (stats online.WriteStats, err error) {
	err = f.call("Write", func() error {
		stats, err = f.store.Write(ctx, view, rows)
		return err
	}, view)
	if err != nil {
		return online.WriteStats{}, err
	}
	return stats, nil
}

// SetMark implements online.Writer.
func (f *Faults) SetMark(ctx context.Context, view feature.ViewID, m online.Mark) error {
	return f.call("SetMark", func() error { return f.store.SetMark(ctx, view, m) }, view)
}

// DeleteEntities implements online.Writer.
func (f *Faults) DeleteEntities(ctx context.Context, view feature.ViewID, keys []feature.EntityKey) (n int64, err error) {
	err = f.call("DeleteEntities", func() error {
		n, err = f.store.DeleteEntities(ctx, view, keys)
		return err
	}, view)
	if err != nil {
		return 0, err
	}
	return n, nil
}

// DeleteView implements online.Writer.
func (f *Faults) DeleteView(ctx context.Context, view feature.ViewID) error {
	return f.call("DeleteView", func() error { return f.store.DeleteView(ctx, view) }, view)
}

// Ping implements online.Store.
func (f *Faults) Ping(ctx context.Context) error {
	return f.call("Ping", func() error { return f.store.Ping(ctx) })
}

// Close implements online.Store; it never fails by itself.
func (f *Faults) Close() error { return f.store.Close() }
