package testutil

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPython proves that every engine of the requirements can be imported in
// the version that is pinned.
func TestPython(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(Root(t), "internal", "tools", "requirements.txt"))
	require.NoError(t, err)
	var pins []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			pins = append(pins, line)
		}
	}
	out := RunPython(t, `
import importlib.metadata, sys
for pin in sys.argv[1:]:
    name, version = pin.split("==")
    assert importlib.metadata.version(name) == version, pin
import deltalake, duckdb, pandas, polars, pyarrow
print("ok")
`, pins...)
	require.Equal(t, "ok\n", out)
}

func TestLockIsExclusive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "lock")
	unlock, err := lock(path)
	require.NoError(t, err)
	second := make(chan struct{})
	go func() {
		defer close(second)
		release, err := lock(path)
		if err == nil {
			release()
		}
	}()
	select {
	case <-second:
		t.Fatal("two holders of one lock")
	default:
	}
	unlock()
	<-second
}
