package registry_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/registry"
	"github.com/granary-ml/granary/registry/registrytest"
)

func TestSnapshotByName(t *testing.T) {
	r := open(t, registrytest.NewMemory())
	d := registrytest.Definitions("f")
	d.Sources = []feature.Source{{Name: "rows", Path: "rows.csv"}}
	d.Services = []feature.Service{{Name: "model", Features: []feature.ServiceItem{{View: "f"}}}}
	_, err := r.Apply(t.Context(), "demo", wire.ApplyRequest{Definitions: d})
	require.NoError(t, err)
	s := r.Snapshot()

	entity, err := s.Entity("demo", "driver")
	require.NoError(t, err)
	require.Equal(t, d.Entities[0], entity)
	source, err := s.Source("demo", "rows")
	require.NoError(t, err)
	require.Equal(t, d.Sources[0], source)
	service, err := s.Service("demo", "model")
	require.NoError(t, err)
	require.Equal(t, d.Services[0], service)
	view, err := s.View("demo", "f")
	require.NoError(t, err)
	require.Equal(t, d.Views[0], view.View)
	require.Equal(t, "demo", view.Project)
	require.Equal(t, d.Entities[0].JoinKeys, view.Keys)

	get := map[string]func(project, name string) error{
		"entity":  func(p, n string) error { _, err := s.Entity(p, n); return err },
		"source":  func(p, n string) error { _, err := s.Source(p, n); return err },
		"view":    func(p, n string) error { _, err := s.View(p, n); return err },
		"service": func(p, n string) error { _, err := s.Service(p, n); return err },
	}
	for kind, get := range get {
		err := get("demo", "F")
		requireCode(t, feature.CodeNotFound, err)
		require.EqualError(t, err, kind+" demo/F: there is no such "+kind)
		requireCode(t, feature.CodeNotFound, get("Demo", "f"))
	}
}

// TestApplyOwnMemory: what the caller does with its definitions afterwards does
// not change the registry.
func TestApplyOwnMemory(t *testing.T) {
	r := open(t, registrytest.NewMemory())
	d := registrytest.Definitions("f")
	d.Views[0].Tags = map[string]string{"a": "1"}
	_, err := r.Apply(t.Context(), "demo", wire.ApplyRequest{Definitions: d})
	require.NoError(t, err)
	d.Views[0].Tags["a"] = "2"
	d.Views[0].Features[0].Name = "other"
	d.Entities[0].JoinKeys[0].Name = "other"
	view, err := r.Snapshot().View("demo", "f")
	require.NoError(t, err)
	require.Equal(t, "1", view.Tags["a"])
	require.Equal(t, "v", view.Features[0].Name)
	require.Equal(t, "driver_id", view.Keys[0].Name)
}

// TestTimeIncreases: the times of revisions go up, also when the clock stands
// still or goes back.
func TestTimeIncreases(t *testing.T) {
	c := clock.NewManual(time.Date(2024, 1, 1, 12, 0, 0, 999, time.UTC))
	r, err := registry.Open(t.Context(), registrytest.NewMemory(), registry.Options{Clock: c})
	require.NoError(t, err)
	var times []string
	for i, step := range []time.Duration{0, 0, -time.Hour, 2 * time.Hour} {
		c.Advance(step)
		_, err := r.Apply(t.Context(), "demo", request(fmt.Sprintf("f%d", i)))
		require.NoError(t, err)
		times = append(times, r.Snapshot().Time().String())
	}
	require.Equal(t, []string{
		"2024-01-01T12:00:00Z", "2024-01-01T12:00:00.000001Z", "2024-01-01T12:00:00.000002Z", "2024-01-01T13:00:00Z",
	}, times)
}

func TestMessageIsText(t *testing.T) {
	r := open(t, registrytest.NewMemory())
	_, err := r.Apply(t.Context(), "demo", wire.ApplyRequest{Definitions: registrytest.Definitions("f"), Message: "\xff"})
	requireCode(t, feature.CodeInvalidArgument, err)
	require.Zero(t, r.Snapshot().Revision())
}

// TestPrefixAndLog: the files stand under the prefix, and each revision that is
// written is logged once, without what is in it.
func TestPrefixAndLog(t *testing.T) {
	s := registrytest.NewMemory()
	var log bytes.Buffer
	r, err := registry.Open(t.Context(), s, registry.Options{Prefix: "here/", Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.NoError(t, err)
	for range 2 {
		_, err = r.Apply(t.Context(), "demo", request("secret"))
		require.NoError(t, err)
	}
	_, err = s.Get(t.Context(), "here/00000000000000000001.json")
	require.NoError(t, err)
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("registry revision written")))
	require.Contains(t, log.String(), "revision=1 project=demo operation=registry.Apply changes=2")
	require.NotContains(t, log.String(), "secret")
}

// counted counts the reads of a storage.
type counted struct {
	registry.Storage

	gets atomic.Int64
}

func (c *counted) Get(ctx context.Context, key string) ([]byte, error) {
	c.gets.Add(1)
	return c.Storage.Get(ctx, key)
}

// TestReads: opening a long history, looking for news and reading the history
// again stay cheap.
func TestReads(t *testing.T) {
	s := &counted{Storage: registrytest.NewMemory()}
	writer := open(t, s)
	const revisions = 200
	for i := range revisions {
		_, err := writer.Apply(t.Context(), "demo", request(fmt.Sprintf("f%d", i)))
		require.NoError(t, err)
	}
	reads := func(call func()) int64 {
		before := s.gets.Load()
		call()
		return s.gets.Load() - before
	}
	var r *registry.Registry
	require.LessOrEqual(t, reads(func() { r = open(t, s) }), int64(16), "2·log₂(200) and a bit")
	require.Equal(t, int64(revisions), r.Snapshot().Revision())
	refresh := func() {
		_, err := r.Refresh(t.Context())
		require.NoError(t, err)
	}
	require.Equal(t, int64(1), reads(refresh), "nothing new")
	history := func() {
		entries, err := r.History(t.Context(), "demo")
		require.NoError(t, err)
		require.Len(t, entries, revisions)
	}
	require.LessOrEqual(t, reads(history), int64(revisions+1))
	require.Equal(t, int64(1), reads(history), "revisions never change")
}
