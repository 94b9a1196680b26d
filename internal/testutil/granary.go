package testutil

import (
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Granary returns the path of the granary binary, built from the code as it
// stands. Test binaries that run side by side share it.
func Granary(tb testing.TB) string {
	tb.Helper()
	path, err := granary()
	if err != nil {
		tb.Fatalf("the granary binary: %v", err)
	}
	return path
}

var granary = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(root, ".cache", "granary.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	// An up-to-date binary is left as it is, also while others run it.
	path := filepath.Join(root, ".cache", "test", "granary")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", path, "./cmd/granary") //nolint:gosec // our own code, no input
	cmd.Dir = root
	_, err = cmd.Output()
	return path, explain(err)
})
