package offline

import (
	"context"
	"errors"
	"iter"
	"runtime"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow"
	"golang.org/x/sync/errgroup"
)

// stream is a record reader over a sequence. It holds what the sequence holds
// until its end, an error, or Release.
type stream struct {
	schema *arrow.Schema
	next   func() (arrow.Record, error, bool)
	stop   func()
	refs   atomic.Int64
	rec    arrow.Record
	err    error
}

func newStream(schema *arrow.Schema, records iter.Seq2[arrow.Record, error]) *stream {
	s := &stream{schema: schema}
	s.next, s.stop = iter.Pull2(records)
	s.refs.Store(1)
	return s
}

// Schema implements array.RecordReader.
func (s *stream) Schema() *arrow.Schema { return s.schema }

// Record returns the current record, which is good until Next or Release.
func (s *stream) Record() arrow.Record { return s.rec }

// Err returns what ended the sequence early.
func (s *stream) Err() error { return s.err }

// Retain adds a reference.
func (s *stream) Retain() { s.refs.Add(1) }

// Release ends the sequence with the last reference.
func (s *stream) Release() {
	if s.refs.Add(-1) == 0 {
		s.drop()
		s.stop()
	}
}

func (s *stream) drop() {
	if s.rec != nil {
		s.rec.Release()
		s.rec = nil
	}
}

// Next moves on by a record.
func (s *stream) Next() bool {
	s.drop()
	if s.err != nil {
		return false
	}
	rec, err, ok := s.next()
	if !ok || err != nil {
		s.err = err
		s.stop()
		return false
	}
	s.rec = rec
	return true
}

// errStopped ends a sequence whose reader has enough.
var errStopped = errors.New("the reader has stopped")

// yieldTo makes a sequence of a function that gives records away one by one.
func yieldTo(run func(give func(arrow.Record) error) error) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		err := run(func(rec arrow.Record) error {
			if !yield(rec, nil) {
				return errStopped
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// inOrder makes n things in parallel and uses them one by one, in order: while
// one is used, the next are being made. No more are at hand at a time than there
// are cores. It returns when everything that it started has ended.
func inOrder[T any](ctx context.Context, n int, produce func(ctx context.Context, i int) (T, error), use func(i int, v T) error) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	group, ctx := errgroup.WithContext(ctx)
	slots := make(chan struct{}, max(workers, 1)) // one per thing at hand
	queue := make(chan chan T, n)
	group.Go(func() error {
		defer close(queue)
		for i := range n {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return ctx.Err()
			}
			made := make(chan T, 1)
			queue <- made
			group.Go(func() error {
				v, err := produce(ctx, i)
				if err == nil {
					made <- v
				}
				return err
			})
		}
		return nil
	})
	err := useAll(ctx, queue, slots, use)
	if err != nil {
		// The group's context ends with its first error: this one.
		group.Go(func() error { return err })
	}
	if first := group.Wait(); first != nil {
		return first
	}
	return err
}

func useAll[T any](ctx context.Context, queue chan chan T, slots chan struct{}, use func(i int, v T) error) error {
	i := 0
	for made := range queue {
		select {
		case v := <-made:
			if err := use(i, v); err != nil {
				return err
			}
			<-slots
			i++
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
