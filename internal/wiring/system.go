package wiring

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/config"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/pebblestore"
	"github.com/granary-ml/granary/registry"
)

// Options are what a System takes from its process; the zero value is good.
type Options struct {
	Clock clock.Clock  // clock.Real if nil
	Log   *slog.Logger // discarded if nil
}

// System is a feature store: the parts, connected. Close ends it.
type System struct {
	Registry *registry.Registry
	Offline  *offline.Store
	Online   online.Store
	Ingester *ingest.Ingester
	Service  *serving.Service

	bucket bucket.Bucket
}

// Open opens the storage of a configuration and reads the registry. The online
// store, which one process at a time can have, is opened when it is first
// needed: who ingests or trains does not keep it from a server.
func Open(ctx context.Context, c *config.Config, o Options) (*System, error) {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	b, err := bucket.Open(ctx, c.StorageURL(), bucket.Options{Log: o.Log})
	if err != nil {
		return nil, err
	}
	s := &System{bucket: b}
	if err := s.connect(ctx, c, o); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return s, nil
}

// connect opens the rest on the bucket.
func (s *System) connect(ctx context.Context, c *config.Config, o Options) error {
	var err error
	if s.Registry, err = registry.Open(ctx, s.bucket, registry.Options{Clock: o.Clock, Log: o.Log}); err != nil {
		return err
	}
	tempDir := c.Resolve(c.Offline.TempDir)
	s.Offline, err = offline.Open(ctx, s.bucket, offline.Options{
		Clock: o.Clock, TempDir: tempDir, MemoryLimit: int64(c.Offline.MemoryLimit), Log: o.Log,
	})
	if err != nil {
		return err
	}
	s.Online = newLazyStore(func() (online.Store, error) {
		return pebblestore.Open(c.OnlinePath(), pebblestore.Options{CacheBytes: int64(c.Online.Cache), Log: o.Log})
	})
	s.Ingester = ingest.New(ingest.Options{
		Offline: s.Offline, Online: s.Online, Clock: o.Clock, MaxFuture: time.Duration(c.Ingest.MaxFuture), TempDir: tempDir, Log: o.Log,
	})
	s.Service = serving.New(serving.Deps{
		Registry: s.Registry, Offline: s.Offline, Online: s.Online, Ingester: s.Ingester, Clock: o.Clock, Log: o.Log,
	}, serving.Options{TempDir: tempDir})
	return nil
}

// Close waits for what runs in the background, as long as ctx allows, and
// closes the stores.
func (s *System) Close(ctx context.Context) error {
	return errors.Join(s.Service.Close(ctx), s.Online.Close(), s.bucket.Close())
}
