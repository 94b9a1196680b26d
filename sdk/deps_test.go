package sdk_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLinksNoEngine proves that a program with the client in it carries no
// store, no Parquet, no object storage and no server.
func TestLinksNoEngine(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/granary-ml/granary/sdk").Output()
	require.NoError(t, err)
	deps := strings.Fields(string(out))
	require.Contains(t, deps, "github.com/granary-ml/granary/api/wire", "the list is that of the client")
	for _, engine := range []string{
		"github.com/cockroachdb/pebble", "github.com/redis/go-redis", "github.com/gorilla/mux", "gocloud.dev",
		"github.com/apache/arrow/go/v17/parquet", "github.com/prometheus",
		"github.com/granary-ml/granary/online", "github.com/granary-ml/granary/offline", "github.com/granary-ml/granary/registry",
		"github.com/granary-ml/granary/ingest", "github.com/granary-ml/granary/internal/serving",
	} {
		for _, dep := range deps {
			require.False(t, dep == engine || strings.HasPrefix(dep, engine+"/"),
				"the client links %s: take the import out, or put what is needed into api/wire", dep)
		}
	}
}
