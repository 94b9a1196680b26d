package wiring

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var definitions = feature.Definitions{
	Entities: []feature.Entity{{Name: "e", JoinKeys: []feature.JoinKey{{Name: "k", Type: feature.Int64}}}},
	Views:    []feature.View{{Name: "v", Entities: []string{"e"}, Features: []feature.Feature{{Name: "f", Type: feature.Int64}}}},
}

// TestOpenLeavesTheOnlineStoreAlone opens two systems on one folder: both define
// and read history, and only the one that looks up has the online store.
func TestOpenLeavesTheOnlineStoreAlone(t *testing.T) {
	c := config.Default(t.TempDir())
	first, err := Open(t.Context(), c, Options{})
	require.NoError(t, err)
	_, err = first.Service.Apply(t.Context(), "p", wire.ApplyRequest{Definitions: definitions})
	require.NoError(t, err)
	second, err := Open(t.Context(), c, Options{})
	require.NoError(t, err)
	records, err := second.Service.Export(t.Context(), "p", "v", wire.ExportOptions{})
	require.NoError(t, err)
	require.False(t, records.Next())
	records.Release()
	require.NoDirExists(t, c.OnlinePath())

	require.NoError(t, first.Service.Ready(t.Context()))
	require.DirExists(t, c.OnlinePath())
	require.ErrorContains(t, second.Service.Ready(t.Context()), "another process has the online store open")
	require.NoError(t, first.Close(t.Context()))
	require.NoError(t, second.Service.Ready(t.Context()), "it is free again")
	require.NoError(t, second.Close(t.Context()))
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o600))
	for storage, code := range map[string]feature.Code{
		"ftp://host/x": feature.CodeInvalidArgument,
		file:           feature.CodeFailedPrecondition,
	} {
		c := config.Default(t.TempDir())
		c.Storage = storage
		_, err := Open(t.Context(), c, Options{})
		require.Error(t, err, storage)
		require.Equal(t, code, feature.CodeOf(err), "%v", err)
	}
}

// TestOpenDamagedRegistry opens a storage whose newest revision is not one.
func TestOpenDamagedRegistry(t *testing.T) {
	c := config.Default(t.TempDir())
	dir := filepath.Join(c.StorageURL(), "registry")
	require.NoError(t, os.MkdirAll(dir, 0o750))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "00000000000000000001.json"), []byte("{"), 0o600))
	_, err := Open(t.Context(), c, Options{})
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err), "%v", err)
}
