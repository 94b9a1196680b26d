//go:build !race

package offline_test

// scale divides the sizes of large tests.
const scale = 1
