package ingest

import (
	"context"
	"errors"
	"io"
	"iter"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// upTo gives the jobs 0 to n-1, and then err.
func upTo(n int, err error) func(context.Context) (int, error) {
	at := -1
	return func(context.Context) (int, error) {
		if at++; at < n {
			return at, nil
		}
		return 0, err
	}
}

func collect[R any](seq iter.Seq2[R, error]) (out []R, err error) {
	for r, err := range seq {
		if err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func TestOrderedKeepsTheOrder(t *testing.T) {
	const n = 1000
	var busy, most atomic.Int64
	got, err := collect(ordered(t.Context(), upTo(n, io.EOF), func(_ context.Context, job int) (int, error) {
		most.Store(max(most.Load(), busy.Add(1)))
		for range (n - job) % 7 {
			runtime.Gosched()
		}
		busy.Add(-1)
		return job * 2, nil
	}))
	require.NoError(t, err)
	require.Len(t, got, n)
	for i, v := range got {
		require.Equal(t, 2*i, v)
	}
	require.LessOrEqual(t, most.Load(), int64(runtime.GOMAXPROCS(0)))
}

// TestOrderedErrors: an error comes after the results before it, whichever side
// it is of, and nothing comes after it.
func TestOrderedErrors(t *testing.T) {
	broken := errors.New("broken")
	got, err := collect(ordered(t.Context(), upTo(10, broken), func(_ context.Context, job int) (int, error) { return job, nil }))
	require.ErrorIs(t, err, broken)
	require.Len(t, got, 10)

	got, err = collect(ordered(t.Context(), upTo(1000, io.EOF), func(_ context.Context, job int) (int, error) {
		if job == 7 {
			return 0, broken
		}
		return job, nil
	}))
	require.ErrorIs(t, err, broken)
	require.Equal(t, []int{0, 1, 2, 3, 4, 5, 6}, got)
}

// TestOrderedEnds: with its context, and with its consumer; the jobs under way
// are bounded.
func TestOrderedEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	seq := ordered(ctx, upTo(1<<30, io.EOF), func(_ context.Context, job int) (int, error) { return job, nil })
	for v, err := range seq {
		if v == 100 {
			cancel()
		}
		if err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		require.Less(t, v, 200)
	}
	cancel()

	var begun atomic.Int64
	for v, err := range ordered(t.Context(), upTo(1<<30, io.EOF), func(_ context.Context, job int) (int, error) {
		begun.Add(1)
		return job, nil
	}) {
		require.NoError(t, err)
		if v == 10 {
			break
		}
	}
	require.LessOrEqual(t, begun.Load(), int64(11+6*runtime.GOMAXPROCS(0)))
}
