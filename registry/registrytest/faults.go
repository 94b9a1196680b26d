package registrytest

import (
	"context"
	"sync"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/registry"
)

// Operation is a call of a storage.
type Operation string

// The operations.
const (
	Get         Operation = "get"
	PutIfAbsent Operation = "put_if_absent"
)

// Fault makes one call fail.
type Fault struct {
	Operation Operation
	// Nth is which call of the operation fails, counted from 1 since the
	// injection; 0 is every one.
	Nth int
	// After lets the call take effect first, as when its answer is lost.
	After bool
	// Code of the error.
	Code feature.Code
}

// Faults is a storage whose calls fail as they are told to. It is safe for
// concurrent use.
type Faults struct {
	storage registry.Storage

	mu       sync.Mutex
	faults   []Fault
	calls    map[Operation]int
	surfaced int
}

// NewFaults wraps a storage; nothing fails until Inject.
func NewFaults(s registry.Storage) *Faults { return &Faults{storage: s} }

// Inject replaces the faults and starts counting anew.
func (f *Faults) Inject(faults ...Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults, f.calls, f.surfaced = faults, map[Operation]int{}, 0
}

// Surfaced returns how many calls have failed since Inject. A test of faults
// asks for it: a fault that nobody met proves nothing.
func (f *Faults) Surfaced() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.surfaced
}

// Get implements registry.Storage.
func (f *Faults) Get(ctx context.Context, key string) ([]byte, error) {
	fault := f.next(Get)
	if fault != nil {
		return nil, fault.err(key)
	}
	return f.storage.Get(ctx, key)
}

// PutIfAbsent implements registry.Storage.
func (f *Faults) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	fault := f.next(PutIfAbsent)
	if fault == nil {
		return f.storage.PutIfAbsent(ctx, key, data)
	}
	if fault.After {
		if err := f.storage.PutIfAbsent(ctx, key, data); err != nil {
			return err
		}
	}
	return fault.err(key)
}

// next counts a call and returns the fault that it meets, or nil.
func (f *Faults) next(op Operation) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[Operation]int{}
	}
	f.calls[op]++
	for i := range f.faults {
		fault := &f.faults[i]
		if fault.Operation == op && (fault.Nth == 0 || fault.Nth == f.calls[op]) {
			f.surfaced++
			return fault
		}
	}
	return nil
}

func (f *Fault) err(key string) error {
	return feature.Errorf(f.Code, "registrytest."+string(f.Operation), "object "+key, "injected")
}
