package main

import (
	"bufio"
	"bytes"
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/internal/testutil"
)

// TestQuickstart runs the example against a server of its own.
func TestQuickstart(t *testing.T) {
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), testutil.Granary(t), "serve", "--listen", "127.0.0.1:0")
	cmd.Dir = t.TempDir()
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(t, cmd.Wait())
	})
	line, err := bufio.NewReader(stderr).ReadString('\n')
	require.NoError(t, err)
	_, url, ok := strings.Cut(strings.TrimSpace(line), "serving on ")
	require.True(t, ok, line)

	var out bytes.Buffer
	require.NoError(t, run(t.Context(), &out, url, "quickstart"))
	text, _, _ := strings.Cut(out.String(), "record:")
	require.Equal(t, `2 changes
+ entity driver
+     join_keys: driver_id int64
+ view driver_stats
+     entities: driver
+     features.trips: int64
+     features.rating: float64
3 rows pushed, 0 rejected
driver 1001: trips 15 (PRESENT), rating 4.8 (PRESENT)
driver 1002: trips 7 (PRESENT), rating null (NULL_VALUE)
driver 1003: trips null (NOT_FOUND), rating null (NOT_FOUND)
`, text)
	require.Contains(t, out.String(), `col[2][label]: ["yes" "no" "no"]`)
	require.Contains(t, out.String(), "col[3][trips]: [12 15 (null)]")
}
