package serving_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/internal/strictjson"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
	"github.com/granary-ml/granary/registry"
	"github.com/granary-ml/granary/registry/registrytest"
)

const project = "demo"

// noon is where the clock of a world stands at first.
var noon = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

// world is a service over the real registry, the reference online store, and
// stand-ins for the offline store and ingest.
type world struct {
	*serving.Service

	t        *testing.T
	clock    *clock.Manual
	storage  *registrytest.Memory
	registry *registry.Registry
	store    online.Store
	offline  *offlineStub
	ingester *ingesterStub
}

func newWorld(t *testing.T, o serving.Options) *world {
	t.Helper()
	w := &world{t: t, clock: clock.NewManual(noon), storage: registrytest.NewMemory(), store: onlinetest.NewReference(), offline: &offlineStub{}, ingester: &ingesterStub{}}
	var err error
	w.registry, err = registry.Open(t.Context(), w.storage, registry.Options{Clock: w.clock})
	require.NoError(t, err)
	w.Service = w.over(w.store, o)
	return w
}

// over returns a service of the same world over another online store.
func (w *world) over(store online.Store, o serving.Options) *serving.Service {
	w.t.Helper()
	s := serving.New(serving.Deps{Registry: w.registry, Offline: w.offline, Online: store, Ingester: w.ingester, Clock: w.clock}, o)
	w.t.Cleanup(func() { require.NoError(w.t, s.Close(context.WithoutCancel(w.t.Context()))) })
	return s
}

// define applies definitions in YAML.
func (w *world) define(project, yaml string) {
	w.t.Helper()
	d, err := registry.ParseYAML("test.yaml", []byte(yaml))
	require.NoError(w.t, err)
	_, err = w.Apply(w.t.Context(), project, wire.ApplyRequest{Definitions: d})
	require.NoError(w.t, err)
}

// put writes a row; keys and values are JSON, in the order of the view.
func (w *world) put(project, view string, event time.Time, keys, values []string) {
	w.t.Helper()
	v, err := w.registry.Snapshot().View(project, view)
	require.NoError(w.t, err)
	key, err := feature.MakeEntityKey(v.Keys, w.read(keys, func(i int) feature.Type { return v.Keys[i].Type }))
	require.NoError(w.t, err)
	at := feature.FromTime(event)
	packed, err := online.NewLayout(v).Append(nil, at, at, w.read(values, func(i int) feature.Type { return v.Features[i].Type }))
	require.NoError(w.t, err)
	_, err = w.store.Write(w.t.Context(), v.ID, []online.Row{{Key: key, Packed: packed}})
	require.NoError(w.t, err)
}

func (w *world) read(texts []string, typ func(int) feature.Type) []feature.Value {
	w.t.Helper()
	out := make([]feature.Value, len(texts))
	for i, text := range texts {
		var err error
		out[i], err = strictjson.Value(typ(i), []byte(text))
		require.NoError(w.t, err)
	}
	return out
}

// ask answers a lookup in JSON, as text.
func (w *world) ask(project, body string) string {
	w.t.Helper()
	out, err := w.AppendOnline(w.t.Context(), nil, project, []byte(body))
	require.NoError(w.t, err)
	require.True(w.t, json.Valid(out), "%s", out)
	return string(out)
}

// refuse returns the error of a lookup.
func (w *world) refuse(project, body string) *feature.Error {
	w.t.Helper()
	out, err := w.AppendOnline(w.t.Context(), []byte("kept"), project, []byte(body))
	require.Equal(w.t, "kept", string(out))
	var e *feature.Error
	require.ErrorAs(w.t, err, &e)
	return e
}

// values returns the values of one column of an answer, as text.
func values(t *testing.T, answer, column string) string {
	t.Helper()
	var parsed struct {
		Columns []struct {
			Name   string          `json:"name"`
			Values json.RawMessage `json:"values"`
		} `json:"columns"`
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &parsed))
	for _, c := range parsed.Columns {
		if c.Name == column {
			return string(c.Values)
		}
	}
	require.Fail(t, "no such column", column)
	return ""
}

var errStub = errors.New("told to fail")

// offlineStub remembers what it was asked.
type offlineStub struct {
	scan    offline.ScanRequest
	history offline.HistoricalRequest
	erased  []feature.EntityKey
	err     error
}

func (o *offlineStub) Historical(_ context.Context, req offline.HistoricalRequest) (array.RecordReader, error) {
	o.history = req
	return nil, o.err
}

func (o *offlineStub) Scan(_ context.Context, _ *feature.BoundView, req offline.ScanRequest) (array.RecordReader, error) {
	o.scan = req
	return nil, o.err
}

func (o *offlineStub) Erase(_ context.Context, _ *feature.BoundView, keys []feature.EntityKey) (offline.EraseResult, error) {
	o.erased = keys
	return offline.EraseResult{Rows: int64(3 * len(keys)), Version: 7}, o.err
}

// ingesterStub does what its functions say.
type ingesterStub struct {
	push        func(context.Context, ingest.PushRequest) (wire.PushResult, error)
	materialize func(context.Context, ingest.MaterializeRequest) (wire.ViewProgress, error)
}

func (i *ingesterStub) Push(ctx context.Context, req ingest.PushRequest) (wire.PushResult, error) {
	return i.push(ctx, req)
}

func (i *ingesterStub) Materialize(ctx context.Context, req ingest.MaterializeRequest) (wire.ViewProgress, error) {
	return i.materialize(ctx, req)
}
