package cases

import (
	"context"
	"io"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
	"github.com/granary-ml/granary/online/pebblestore"
	"github.com/granary-ml/granary/registry"
)

// surface is a way in: the service itself, or HTTP through the SDK.
type surface interface {
	Apply(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error)
	Delete(ctx context.Context, project, kind, name string, expected *int64) (wire.Plan, error)
	DeleteProject(ctx context.Context, project string, expected *int64) (wire.Plan, error)
	Online(ctx context.Context, project string, req wire.OnlineRequest) (*wire.OnlineResponse, error)
	Push(ctx context.Context, project, view string, format feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error)
	Historical(ctx context.Context, project string, o wire.HistoricalOptions, spine array.RecordReader) (array.RecordReader, error)
	Materialize(ctx context.Context, project string, req wire.MaterializeRequest) (wire.Job, error)
	Wait(ctx context.Context, project, id string, progress func(wire.Job)) (wire.Job, error)
}

// storage is what survives a reopen.
type storage struct {
	bucket func(t *testing.T) bucket.Bucket
	online func(t *testing.T) online.Store
}

// keptBucket and keptStore outlive what closes them: memory has no reopen.
type keptBucket struct{ bucket.Bucket }

func (keptBucket) Close() error { return nil }

type keptStore struct{ online.Store }

func (keptStore) Close() error { return nil }

func inMemory(t *testing.T) storage {
	t.Helper()
	b, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
	require.NoError(t, err)
	store := onlinetest.NewReference()
	return storage{
		bucket: func(*testing.T) bucket.Bucket { return keptBucket{b} },
		online: func(*testing.T) online.Store { return keptStore{store} },
	}
}

func onFiles(t *testing.T) storage {
	t.Helper()
	dir := t.TempDir()
	return storage{
		bucket: func(t *testing.T) bucket.Bucket {
			t.Helper()
			b, err := bucket.Open(t.Context(), filepath.Join(dir, "storage"), bucket.Options{})
			require.NoError(t, err)
			return b
		},
		online: func(t *testing.T) online.Store {
			t.Helper()
			s, err := pebblestore.Open(filepath.Join(dir, "online"), pebblestore.Options{})
			require.NoError(t, err)
			return s
		},
	}
}

// stack is a whole Granary over a storage.
type stack struct {
	clock    *clock.Manual
	registry *registry.Registry
	ingester *ingest.Ingester
	service  *serving.Service
	close    func()
}

func openStack(t *testing.T, c *clock.Manual, st storage) *stack {
	t.Helper()
	b, store := st.bucket(t), st.online(t)
	reg, err := registry.Open(t.Context(), b, registry.Options{Clock: c})
	require.NoError(t, err)
	off, err := offline.Open(t.Context(), b, offline.Options{Clock: c, TempDir: t.TempDir()})
	require.NoError(t, err)
	ing := ingest.New(ingest.Options{Offline: off, Online: store, Clock: c, TempDir: t.TempDir()})
	svc := serving.New(serving.Deps{Registry: reg, Offline: off, Online: store, Ingester: ing, Clock: c}, serving.Options{})
	return &stack{clock: c, registry: reg, ingester: ing, service: svc, close: func() {
		require.NoError(t, svc.Close(context.WithoutCancel(t.Context())))
		require.NoError(t, store.Close())
		require.NoError(t, b.Close())
	}}
}

// start is where the clock of every script begins.
var start = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
