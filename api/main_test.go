package api_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The decoder of the Arrow module's zstd keeps no goroutine; ours is closed
	// with the request. What remains would be a leak.
	goleak.VerifyTestMain(m)
}
