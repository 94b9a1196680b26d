package testutil

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Root returns the folder of the module.
func Root(tb testing.TB) string {
	tb.Helper()
	root, err := moduleRoot()
	if err != nil {
		tb.Fatalf("the module's folder: %v", err)
	}
	return root
}

var moduleRoot = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", explain(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
})

// Python returns the Python of the environment that internal/tools/requirements.txt
// pins: deltalake, pyarrow, Polars, pandas, DuckDB with its Delta extension. The
// first call on a machine builds it, which takes a minute or two; test binaries
// that run side by side wait for each other.
func Python(tb testing.TB) string {
	tb.Helper()
	path, err := python()
	if err != nil {
		tb.Fatalf("the Python environment of the cross-reading tests: %v (they need python3 with venv, and a package index)", err)
	}
	return path
}

var python = sync.OnceValues(func() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(root, ".cache", "pyenv.lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	out, err := exec.Command("sh", filepath.Join(root, "internal", "tools", "cache.sh"), "python").Output() //nolint:gosec // our own script, no input
	return string(bytes.TrimSpace(out)), explain(err)
})

// RunPython runs a script with arguments and returns what it printed; a script
// that ends with an error fails the test with what it said.
func RunPython(tb testing.TB, script string, args ...string) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), Python(tb), append([]string{"-c", script}, args...)...) //nolint:gosec // the caller is a test
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("python: %v", explain(err))
	}
	return string(out)
}

// explain adds what a command wrote to its standard error.
func explain(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && len(exit.Stderr) > 0 {
		return errors.Join(err, errors.New(string(bytes.TrimSpace(exit.Stderr))))
	}
	return err
}
