package registrytest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/registry"
	"github.com/granary-ml/granary/registry/registrytest"
)

func TestMemory(t *testing.T) {
	registrytest.Run(t, func(*testing.T) registry.Storage { return registrytest.NewMemory() })
}

func TestFaultsWithoutFault(t *testing.T) {
	registrytest.Run(t, func(*testing.T) registry.Storage {
		return registrytest.NewFaults(registrytest.NewMemory())
	})
}

func TestFaultsSurface(t *testing.T) {
	memory := registrytest.NewMemory()
	s := registrytest.NewFaults(memory)
	s.Inject(
		registrytest.Fault{Operation: registrytest.PutIfAbsent, Nth: 1, Code: feature.CodeUnavailable},
		registrytest.Fault{Operation: registrytest.PutIfAbsent, Nth: 2, After: true, Code: feature.CodeDeadlineExceeded},
		registrytest.Fault{Operation: registrytest.Get, Code: feature.CodePermissionDenied},
	)
	code := feature.CodeOf
	require.Equal(t, feature.CodeUnavailable, code(s.PutIfAbsent(t.Context(), "a", []byte("1"))))
	_, err := memory.Get(t.Context(), "a")
	require.Equal(t, feature.CodeNotFound, code(err), "the first put had no effect")
	require.Equal(t, feature.CodeDeadlineExceeded, code(s.PutIfAbsent(t.Context(), "a", []byte("2"))))
	got, err := memory.Get(t.Context(), "a")
	require.NoError(t, err, "the second put had its effect")
	require.Equal(t, "2", string(got))
	for range 2 {
		_, err = s.Get(t.Context(), "a")
		require.Equal(t, feature.CodePermissionDenied, code(err))
	}
	require.Equal(t, feature.CodeAlreadyExists, code(s.PutIfAbsent(t.Context(), "a", nil)))
	require.Equal(t, 4, s.Surfaced())
}
