package buckettest

import (
	"context"
	"io"
	"iter"
	"math/rand/v2"
	"path"
	"sync"
	"testing"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
)

// Op names an operation of a bucket; Read, Write and Commit are those of the
// readers and writers that it gives out.
type Op string

// The operations.
const (
	Get         Op = "get"
	Stat        Op = "stat"
	ReadRange   Op = "read-range"
	Read        Op = "read"
	Create      Op = "create"
	Write       Op = "write"
	Commit      Op = "commit"
	PutIfAbsent Op = "put-if-absent"
	List        Op = "list"
	Delete      Op = "delete"
)

// mutates tells whether an operation changes what a reader can see.
func (o Op) mutates() bool { return o == Commit || o == PutIfAbsent || o == Delete }

// Fault says which calls go wrong, and how. The zero value is every call.
type Fault struct {
	// Op is the operation; empty is any, Mutation any that changes the bucket.
	Op Op
	// Key is a pattern of path.Match for the whole key or its last segment;
	// empty is any.
	Key string
	// Nth is the matching call that fails, counted from 1; 0 is each of them.
	Nth int
	// Times is how many calls fail from Nth on; 0 is one, negative all.
	Times int
	// Probability, if not 0, lets a call that would fail pass, by the seed.
	Probability float64
	// After lets the effect happen, and loses the answer.
	After bool
	// Err is what the caller gets; by default CodeUnavailable.
	Err error
	// Kill makes every call after the fault fail, too, as if the process had
	// died there.
	Kill bool
}

// Mutation is, as the Op of a Fault, any operation that changes what a reader
// can see: commit, put-if-absent, delete.
const Mutation Op = "mutation"

// Faults is a bucket whose calls go wrong as told. It is safe for concurrent
// use; with a probability, the order of concurrent calls decides which fail.
type Faults struct {
	b bucket.Bucket

	mu       sync.Mutex
	rng      *rand.Rand
	faults   []Fault
	seen     []int // matching calls, by fault
	surfaced []int
	calls    map[Op]int
	dead     error
}

// NewFaults wraps a bucket.
func NewFaults(b bucket.Bucket, seed uint64, faults ...Fault) *Faults {
	return &Faults{
		b: b, rng: rand.New(rand.NewPCG(seed, 0)), faults: faults, //nolint:gosec // repeatable on purpose
		seen: make([]int, len(faults)), surfaced: make([]int, len(faults)), calls: map[Op]int{},
	}
}

// Surfaced returns how often fault i has hit a caller.
func (f *Faults) Surfaced(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.surfaced[i]
}

// RequireSurfaced fails the test if a fault has never hit: then the test has
// tested nothing.
func (f *Faults) RequireSurfaced(tb testing.TB) {
	tb.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, n := range f.surfaced {
		if n == 0 {
			tb.Fatalf("fault %d never surfaced: %+v (calls: %v)", i, f.faults[i], f.calls)
		}
	}
}

// Calls returns how many calls of an operation there were; of Mutation, of all
// that change the bucket.
func (f *Faults) Calls(op Op) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[op]
}

// hit returns the error that a call gets, nil for none, and whether its effect
// happens first.
func (f *Faults) hit(op Op, key string) (after bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead != nil {
		return false, f.dead
	}
	f.calls[op]++
	if op.mutates() {
		f.calls[Mutation]++
	}
	for i, fault := range f.faults {
		if !fault.matches(op, key) || !f.due(i) {
			continue
		}
		f.surfaced[i]++
		err := fault.Err
		if err == nil {
			err = feature.Errorf(feature.CodeUnavailable, string(op), key, "injected fault")
		}
		if fault.Kill {
			f.dead = err
		}
		return fault.After, err
	}
	return false, nil
}

func (f Fault) matches(op Op, key string) bool {
	if f.Op != "" && f.Op != op && (f.Op != Mutation || !op.mutates()) {
		return false
	}
	if f.Key == "" {
		return true
	}
	whole, _ := path.Match(f.Key, key)
	last, _ := path.Match(f.Key, path.Base(key))
	return whole || last
}

// due counts a matching call of fault i and tells whether it fails.
func (f *Faults) due(i int) bool {
	fault := f.faults[i]
	f.seen[i]++
	if fault.Nth > 0 {
		times := max(fault.Times, 1)
		if f.seen[i] < fault.Nth || (fault.Times >= 0 && f.seen[i] >= fault.Nth+times) {
			return false
		}
	}
	return fault.Probability == 0 || f.rng.Float64() < fault.Probability
}

// around runs a call that gives nothing but an error.
func (f *Faults) around(op Op, key string, call func() error) error {
	after, fault := f.hit(op, key)
	if fault != nil && !after {
		return fault
	}
	if err := call(); err != nil {
		return err
	}
	return fault
}

// Get implements bucket.Bucket.
func (f *Faults) Get(ctx context.Context, key string) (data []byte, err error) {
	err = f.around(Get, key, func() error {
		data, err = f.b.Get(ctx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Stat implements bucket.Bucket.
func (f *Faults) Stat(ctx context.Context, key string) (o bucket.Object, err error) {
	err = f.around(Stat, key, func() error {
		o, err = f.b.Stat(ctx, key)
		return err
	})
	return o, err
}

// ReadRange implements bucket.Bucket.
func (f *Faults) ReadRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	var r io.ReadCloser
	err := f.around(ReadRange, key, func() (err error) {
		r, err = f.b.ReadRange(ctx, key, off, length)
		return err
	})
	if err != nil {
		if r != nil {
			_ = r.Close()
		}
		return nil, err
	}
	return &faultyReader{ReadCloser: r, f: f, key: key}, nil
}

type faultyReader struct {
	io.ReadCloser

	f   *Faults
	key string
}

// Read implements io.ReadCloser.
func (r *faultyReader) Read(p []byte) (int, error) {
	if _, err := r.f.hit(Read, r.key); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}

// Create implements bucket.Bucket.
func (f *Faults) Create(ctx context.Context, key string, o bucket.CreateOptions) (bucket.Writer, error) {
	if _, err := f.hit(Create, key); err != nil {
		return nil, err
	}
	w, err := f.b.Create(ctx, key, o)
	if err != nil {
		return nil, err
	}
	return &faultyWriter{Writer: w, f: f, key: key}, nil
}

type faultyWriter struct {
	bucket.Writer

	f   *Faults
	key string
}

// Write implements bucket.Writer.
func (w *faultyWriter) Write(p []byte) (int, error) {
	if _, err := w.f.hit(Write, w.key); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}

// Commit implements bucket.Writer.
func (w *faultyWriter) Commit() error {
	after, fault := w.f.hit(Commit, w.key)
	if fault != nil && !after {
		_ = w.Abort() // what is not committed is dropped
		return fault
	}
	if err := w.Writer.Commit(); err != nil {
		return err
	}
	return fault
}

// PutIfAbsent implements bucket.Bucket.
func (f *Faults) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return f.around(PutIfAbsent, key, func() error { return f.b.PutIfAbsent(ctx, key, data) })
}

// List implements bucket.Bucket. A fault ends the sequence before its first
// object, or with After behind its last.
func (f *Faults) List(ctx context.Context, prefix, after string) iter.Seq2[bucket.Object, error] {
	return func(yield func(bucket.Object, error) bool) {
		late, fault := f.hit(List, prefix)
		if fault != nil && !late {
			yield(bucket.Object{}, fault)
			return
		}
		for o, err := range f.b.List(ctx, prefix, after) {
			if !yield(o, err) {
				return
			}
		}
		if fault != nil {
			yield(bucket.Object{}, fault)
		}
	}
}

// Delete implements bucket.Bucket.
func (f *Faults) Delete(ctx context.Context, key string) error {
	return f.around(Delete, key, func() error { return f.b.Delete(ctx, key) })
}

// Close implements bucket.Bucket; it never fails by a fault.
func (f *Faults) Close() error { return f.b.Close() }
