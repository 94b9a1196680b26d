//go:build !race

package pit_test

// scale divides the sizes of large tests.
const scale = 1
