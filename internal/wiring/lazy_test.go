package wiring

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
	"github.com/granary-ml/granary/online/pebblestore"
)

func TestLazyStoreIsAStore(t *testing.T) {
	onlinetest.Run(t, func(tb testing.TB) online.Store {
		tb.Helper()
		dir := tb.TempDir()
		l := newLazyStore(func() (online.Store, error) { return pebblestore.Open(dir, pebblestore.Options{}) })
		tb.Cleanup(func() { _ = l.Close() })
		return l
	})
}

func TestLazyStoreOpensOnce(t *testing.T) {
	opened := 0
	l := newLazyStore(func() (online.Store, error) {
		opened++
		if opened == 1 {
			return nil, errors.New("in use")
		}
		return pebblestore.Open(t.TempDir(), pebblestore.Options{})
	})
	require.Zero(t, opened)
	require.ErrorContains(t, l.Ping(t.Context()), "in use")
	require.NoError(t, l.Ping(t.Context()), "a failed open is tried again")
	require.NoError(t, l.Ping(t.Context()))
	require.Equal(t, 2, opened)
	require.NoError(t, l.Close())
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(l.Ping(t.Context())))
}

func TestLazyStoreNeverOpened(t *testing.T) {
	l := newLazyStore(func() (online.Store, error) { return nil, errors.New("not wanted") })
	require.NoError(t, l.Close())
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(l.Ping(t.Context())), "it is not opened any more")
}
