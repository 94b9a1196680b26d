package serving

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/registry"
)

// Offline is what the service needs of the offline store; *offline.Store has
// it.
type Offline interface {
	Historical(ctx context.Context, req offline.HistoricalRequest) (array.RecordReader, error)
	Scan(ctx context.Context, v *feature.BoundView, req offline.ScanRequest) (array.RecordReader, error)
	Erase(ctx context.Context, v *feature.BoundView, keys []feature.EntityKey) (offline.EraseResult, error)
}

// Online is what the service needs of the online store; every online.Store has
// it.
type Online interface {
	Read(ctx context.Context, lookups []online.Lookup, out *online.Rows) error
	DeleteEntities(ctx context.Context, view feature.ViewID, keys []feature.EntityKey) (int64, error)
	DeleteView(ctx context.Context, view feature.ViewID) error
	Ping(ctx context.Context) error
}

// Ingester is what the service needs of ingest; *ingest.Ingester has it.
type Ingester interface {
	Push(ctx context.Context, req ingest.PushRequest) (wire.PushResult, error)
	Materialize(ctx context.Context, req ingest.MaterializeRequest) (wire.ViewProgress, error)
}

// Deps are what a Service stands on. The registry and the stores are needed;
// the service closes none of them.
type Deps struct {
	Registry *registry.Registry
	Offline  Offline
	Online   Online
	Ingester Ingester
	// Clock says how old a served row is. Default: the machine's.
	Clock clock.Clock
	// Log takes what is worth knowing; it never gets a value of a row. Default:
	// nothing is logged.
	Log *slog.Logger
}

// Options bound what one request may cost; the zero value is the default.
type Options struct {
	// MaxLookupValues is how many values (entities × features) one lookup may
	// ask for; 0 is 10 million. An answer takes about 20 bytes of memory for
	// each.
	MaxLookupValues int
	// KeepJobs is how many finished materializations are remembered; 0 is 100.
	KeepJobs int
	// RefreshEvery is how often Follow looks for definitions that others have
	// applied; 0 is 2 seconds. One look is one read of the storage.
	RefreshEvery time.Duration
	// TempDir is a local folder for spines that must be read from their end.
	// Default: the system's.
	TempDir string
}

func (o Options) withDefaults() Options {
	if o.MaxLookupValues == 0 {
		o.MaxLookupValues = 10_000_000
	}
	if o.KeepJobs == 0 {
		o.KeepJobs = 100
	}
	if o.RefreshEvery == 0 {
		o.RefreshEvery = 2 * time.Second
	}
	return o
}

// Service answers the requests of every surface. It is safe for concurrent
// use. Its answers are made at the newest revision of the registry that the
// process has seen: at once for what it applied itself, by Follow for what
// others did.
type Service struct {
	registry *registry.Registry
	offline  Offline
	online   Online
	ingester Ingester
	clock    clock.Clock
	log      *slog.Logger
	options  Options

	plans     planCache
	scratches sync.Pool // of *scratch
	stats     stats
	jobs      jobs
}

// New returns a service over deps.
func New(deps Deps, o Options) *Service {
	s := &Service{
		registry: deps.Registry,
		offline:  deps.Offline,
		online:   deps.Online,
		ingester: deps.Ingester,
		clock:    deps.Clock,
		log:      deps.Log,
		options:  o.withDefaults(),
	}
	if s.clock == nil {
		s.clock = clock.Real{}
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.jobs.keep = s.options.KeepJobs
	return s
}

// Ready tells whether requests can be answered: the registry is read and the
// online store answers.
func (s *Service) Ready(ctx context.Context) error {
	const op = "serving.Ready"
	if s.registry.Snapshot() == nil {
		return feature.Errorf(feature.CodeUnavailable, op, "registry", "it has not been read yet")
	}
	if err := s.online.Ping(ctx); err != nil {
		return feature.Errorf(feature.CodeUnavailable, op, "online store", "%w", err)
	}
	return nil
}

// Follow looks for newer revisions of the registry until ctx ends. A look that
// fails is logged, and the newest known revision is served on.
func (s *Service) Follow(ctx context.Context) {
	for {
		pause, cancel := context.WithTimeout(ctx, s.options.RefreshEvery)
		<-pause.Done()
		cancel()
		if ctx.Err() != nil {
			return
		}
		if _, err := s.registry.Refresh(ctx); err != nil && ctx.Err() == nil {
			s.log.WarnContext(ctx, "registry not refreshed", "error", err)
		}
	}
}

// Close cancels the running materializations and waits for them, as long as
// ctx allows. New ones are refused.
func (s *Service) Close(ctx context.Context) error { return s.jobs.close(ctx) }

// view returns a view at the newest revision.
func (s *Service) view(project, name string) (*feature.BoundView, error) {
	return s.registry.Snapshot().View(project, name)
}

// ReadSpine reads the spine of a point-in-time retrieval from a body: its join
// key columns have the types of the views that o asks for. The reader must be
// released.
func (s *Service) ReadSpine(ctx context.Context, project string, o wire.HistoricalOptions, format feature.Format, body io.Reader) (array.RecordReader, error) {
	sel, err := s.registry.Snapshot().Select(project, o.Service, o.Features)
	if err != nil {
		return nil, err
	}
	keys, faults := sel.JoinKeys()
	if len(faults) > 0 {
		return nil, feature.Invalid("serving.ReadSpine", "features", faults)
	}
	return ingest.ReadSpine(ctx, body, ingest.SpineOptions{
		Format: format, Keys: keys, TimeColumn: timeColumn(o), TempDir: s.options.TempDir,
	})
}

func timeColumn(o wire.HistoricalOptions) string {
	if o.TimeColumn == "" {
		return feature.DefaultEventColumn
	}
	return o.TimeColumn
}

// Historical joins features to a spine, point-in-time. The answer reads the
// spine as it is read itself; the spine stays the caller's to release, after
// the answer.
func (s *Service) Historical(ctx context.Context, project string, o wire.HistoricalOptions, spine array.RecordReader) (array.RecordReader, error) {
	sel, err := s.registry.Snapshot().Select(project, o.Service, o.Features)
	if err != nil {
		return nil, err
	}
	return s.offline.Historical(ctx, offline.HistoricalRequest{
		Spine: spine, TimeColumn: timeColumn(o), Selection: sel,
		FullNames: o.FullNames, KnownAt: o.KnownAt, AsOf: o.AsOf,
	})
}
