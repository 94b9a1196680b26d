package ingest

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"sync"
)

// ordered runs work on the jobs that next gives until io.EOF, on as many
// goroutines as there are cores, and yields the results in the order of the
// jobs. The sequence ends after an error, and with the context. When it has
// ended, or its consumer has left, no goroutine of it is running.
//
// Results wait for their turn, so the number of jobs under way bounds the
// memory: two for each core.
func ordered[J, R any](ctx context.Context, next func(context.Context) (J, error), work func(context.Context, J) (R, error)) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer cancel()

		workers := runtime.GOMAXPROCS(0)
		queue := make(chan *task[J, R], 2*workers) // in order
		todo := make(chan *task[J, R], 2*workers)  // the same tasks, for whoever is free
		running.Go(func() {
			defer close(queue)
			defer close(todo)
			feed(ctx, next, queue, todo)
		})
		for range workers {
			running.Go(func() {
				for t := range todo {
					t.run(ctx, work)
				}
			})
		}
		for t := range queue {
			<-t.done
			if !yield(t.result, t.err) || t.err != nil {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			var none R
			yield(none, err)
		}
	}
}

// task is a job and, once done is closed, what came of it.
type task[J, R any] struct {
	job    J
	result R
	err    error
	done   chan struct{}
}

func (t *task[J, R]) run(ctx context.Context, work func(context.Context, J) (R, error)) {
	defer close(t.done)
	if t.err = ctx.Err(); t.err == nil {
		t.result, t.err = work(ctx, t.job)
	}
}

// feed puts jobs into both channels until there are no more. An error of next
// takes its turn as a task that is done.
func feed[J, R any](ctx context.Context, next func(context.Context) (J, error), queue, todo chan<- *task[J, R]) {
	for ctx.Err() == nil {
		job, err := next(ctx)
		if errors.Is(err, io.EOF) {
			return
		}
		t := &task[J, R]{job: job, err: err, done: make(chan struct{})}
		if err != nil {
			close(t.done)
		}
		select {
		case queue <- t:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		todo <- t // as long as the queue, so it has a place
	}
}
