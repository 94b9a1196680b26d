package clock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/internal/clock"
)

func TestManual(t *testing.T) {
	start := time.Date(2024, 1, 1, 12, 0, 0, 1, time.FixedZone("", 3600))
	c := clock.NewManual(start)
	require.Equal(t, time.Date(2024, 1, 1, 11, 0, 0, 1, time.UTC), c.Now(), "in UTC, to the nanosecond")
	c.Advance(-time.Hour)
	require.Equal(t, time.Date(2024, 1, 1, 10, 0, 0, 1, time.UTC), c.Now())
	// Beyond what 64 bits of nanoseconds hold.
	for _, year := range []int{1, 1600, 2300, 9999} {
		far := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		c.Set(far)
		require.Equal(t, far, c.Now())
	}
}

func TestManualConcurrent(t *testing.T) {
	c := clock.NewManual(time.Unix(0, 0))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 100 {
				c.Advance(time.Second)
				c.Now()
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(800), c.Now().Unix(), "no step is lost")
}

func TestReal(t *testing.T) {
	before := time.Now()
	now := clock.Real{}.Now()
	require.False(t, now.Before(before))
	require.False(t, time.Now().Before(now))
}
