//go:build race

package pit_test

// scale divides the sizes of large tests, which the race detector makes ten
// times as slow.
const scale = 20
