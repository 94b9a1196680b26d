package metamorphic

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

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

var (
	seedFlag  = flag.Uint64("seed", 0, "run this seed only")
	seedsFlag = flag.Uint64("seeds", 6, "how many seeds to run")
	stepsFlag = flag.Int("steps", 80, "operations of a sequence")
)

const (
	project = "default"
	view    = "f"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config is one way to lay things out; none may change an answer.
type config struct {
	name    string
	files   bool // files and Pebble, else memory and the reference store
	offline offline.Options
	ingest  ingest.Options
}

var configs = []config{
	{name: "memory"},
	{name: "tiny row groups and files", offline: offline.Options{RowGroupRows: 16, FileRows: 50}},
	{name: "little memory", offline: offline.Options{MemoryLimit: 64 << 10}, ingest: ingest.Options{ChunkBytes: 512, WriteRows: 3}},
	{name: "files and Pebble", files: true, offline: offline.Options{RowGroupRows: 128}},
}

func TestMetamorphic(t *testing.T) {
	first, last := uint64(1), *seedsFlag
	if *seedFlag != 0 {
		first, last = *seedFlag, *seedFlag
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			var history []string
			for _, c := range configs {
				t.Run(c.name, func(t *testing.T) {
					log := sequence(t, seed, c)
					if history == nil {
						history = log
					}
					require.Equal(t, history, log, "the history differs from that of %s", configs[0].name)
				})
			}
		})
	}
}

// sequence runs the operations of a seed under a configuration and returns what
// was seen.
func sequence(t *testing.T, seed uint64, c config) []string {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 0))
	ttl := []feature.TTL{0, feature.TTL(time.Hour), feature.TTL(3 * time.Hour)}[rng.IntN(3)]
	sys := newSystem(t, c, ttl)
	defer func() { sys.close() }()
	r := &run{
		t: t, rng: rng, sys: sys, keys: 1 + rng.Int64N(40), created: feature.FromTime(sys.clock.Now()).Add(-2 * time.Hour),
		model: &model{ttl: ttl, online: map[int64]row{}},
	}
	for range *stepsFlag {
		r.step()
	}
	return r.log
}

// system is a whole Granary under a configuration.
type system struct {
	config   config
	clock    *clock.Manual
	bucket   bucket.Bucket
	online   func(t *testing.T) online.Store
	registry *registry.Registry
	ingester *ingest.Ingester
	service  *serving.Service
	close    func()
}

func newSystem(t *testing.T, c config, ttl feature.TTL) *system {
	t.Helper()
	dir := t.TempDir()
	address := "mem://"
	if c.files {
		address = filepath.Join(dir, "storage")
	}
	b, err := bucket.Open(t.Context(), address, bucket.Options{})
	require.NoError(t, err)
	s := &system{config: c, bucket: b, clock: clock.NewManual(time.Date(2024, 1, 1, 12, 0, 0, 1000, time.UTC))}
	kept := onlinetest.NewReference()
	s.online = func(*testing.T) online.Store { return kept }
	if c.files {
		s.online = func(t *testing.T) online.Store {
			t.Helper()
			store, err := pebblestore.Open(filepath.Join(dir, "online"), pebblestore.Options{})
			require.NoError(t, err)
			return store
		}
	}
	s.open(t)
	_, err = s.service.Apply(t.Context(), project, wire.ApplyRequest{Definitions: definitions(ttl)})
	require.NoError(t, err)
	return s
}

func definitions(ttl feature.TTL) feature.Definitions {
	return feature.Definitions{
		Entities: []feature.Entity{{Name: "e", JoinKeys: []feature.JoinKey{{Name: "k", Type: feature.Int64}}}},
		Views: []feature.View{{
			Name: view, Entities: []string{"e"}, TTL: ttl, CreatedTimestamp: "created",
			Features: []feature.Feature{{Name: "v", Type: feature.Int64}},
		}},
	}
}

func (s *system) open(t *testing.T) {
	t.Helper()
	store := s.online(t)
	reg, err := registry.Open(t.Context(), s.bucket, registry.Options{Clock: s.clock})
	require.NoError(t, err)
	o := s.config.offline
	o.Clock, o.TempDir = s.clock, t.TempDir()
	off, err := offline.Open(t.Context(), s.bucket, o)
	require.NoError(t, err)
	in := s.config.ingest
	in.Offline, in.Online, in.Clock, in.TempDir = off, store, s.clock, t.TempDir()
	s.registry, s.ingester = reg, ingest.New(in)
	s.service = serving.New(serving.Deps{Registry: reg, Offline: off, Online: store, Ingester: s.ingester, Clock: s.clock}, serving.Options{})
	service := s.service
	s.close = func() {
		require.NoError(t, service.Close(t.Context()))
		if s.config.files {
			require.NoError(t, store.Close())
		}
	}
}

func (s *system) reopen(t *testing.T) {
	t.Helper()
	s.close()
	s.open(t)
}

func (s *system) view(t *testing.T) *feature.BoundView {
	t.Helper()
	v, err := s.registry.Snapshot().View(project, view)
	require.NoError(t, err)
	return v
}
