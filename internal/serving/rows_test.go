package serving_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

func raw(texts ...string) []wire.RawValue {
	out := make([]wire.RawValue, len(texts))
	for i, text := range texts {
		out[i] = wire.RawValue(text)
	}
	return out
}

func TestPushGoesWhereTheViewIs(t *testing.T) {
	w := driverWorld(t)
	var got ingest.PushRequest
	w.ingester.push = func(_ context.Context, req ingest.PushRequest) (wire.PushResult, error) {
		got = req
		return wire.PushResult{Accepted: 4, Superseded: 1, Rejected: []wire.Rejected{{Row: 2, Reason: "x"}}}, nil
	}
	_, err := w.Push(t.Context(), project, "stats", feature.FormatNDJSON, strings.NewReader("rows"), wire.PushOptions{IdempotencyKey: "once"})
	require.NoError(t, err)
	require.Equal(t, "stats", got.View.Name)
	require.Equal(t, feature.FormatNDJSON, got.Format)
	require.Equal(t, wire.PushOptions{IdempotencyKey: "once"}, got.Options)
	_, err = w.Push(t.Context(), project, "hidden", feature.FormatNDJSON, nil, wire.PushOptions{})
	require.NoError(t, err)
	require.Equal(t, wire.PushOptions{Offline: true}, got.Options, "a view that is not served is only kept")
	_, err = w.Push(t.Context(), project, "hidden", feature.FormatNDJSON, nil, wire.PushOptions{Online: true})
	require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
	_, err = w.Push(t.Context(), project, "nobody", feature.FormatNDJSON, nil, wire.PushOptions{})
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	s := w.Stats()
	require.Equal(t, [...]int64{2, 8, 2, 2}, [...]int64{s.Pushes, s.Accepted, s.Rejected, s.Superseded})
}

// Rows that come online while their view is being deleted do not stay.
func TestPushIntoAViewThatIsBeingDeleted(t *testing.T) {
	w := driverWorld(t)
	v, err := w.registry.Snapshot().View(project, "pairs")
	require.NoError(t, err)
	w.ingester.push = func(ctx context.Context, _ ingest.PushRequest) (wire.PushResult, error) {
		_, err := w.Delete(ctx, project, "view", "pairs", nil)
		require.NoError(t, err)
		packed, err := online.NewLayout(v).Append(nil, 0, 0, []feature.Value{feature.Int64Value(1)})
		require.NoError(t, err)
		_, err = w.store.Write(ctx, v.ID, []online.Row{{Key: "key", Packed: packed}})
		return wire.PushResult{}, err
	}
	_, err = w.Push(t.Context(), project, "pairs", feature.FormatNDJSON, nil, wire.PushOptions{})
	require.NoError(t, err)
	var rows online.Rows
	require.NoError(t, w.store.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: []feature.EntityKey{"key"}}}, &rows))
	require.Nil(t, rows.Row(0, 0))
}

// The registry decides whether a view is there; its rows follow, or are of a
// number that is never used again.
func TestDeleteSurvivesAStoreThatFails(t *testing.T) {
	w := driverWorld(t)
	faulty := onlinetest.NewFaults(w.store, 1, onlinetest.Fault{Op: "DeleteView"})
	w.Service = w.over(faulty, serving.Options{})
	_, err := w.Delete(t.Context(), project, "view", "pairs", nil)
	require.NoError(t, err)
	require.Equal(t, 1, faulty.Made())
	w.define(project, drivers)
	require.Equal(t, "[null]", values(t, w.ask(project, `{"features":["pairs:v"],"entities":{"a":["x"],"b":[1]}}`), "pairs:v"))
}

func TestErase(t *testing.T) {
	w := driverWorld(t)
	got, err := w.Erase(t.Context(), project, "stats", wire.EraseRequest{Entities: map[string][]wire.RawValue{"driver_id": raw("1001", "1002", "4")}})
	require.NoError(t, err)
	require.Equal(t, wire.EraseResult{Entities: 3, OnlineRows: 2, OfflineRows: 9, Version: 7}, got)
	require.Len(t, w.offline.erased, 3)
	require.Equal(t, "[null]", values(t, w.ask(project, `{"features":["stats:trips"],"entities":{"driver_id":[1001]}}`), "stats:trips"))

	w.offline.err = errStub
	_, err = w.Erase(t.Context(), project, "more", wire.EraseRequest{Entities: map[string][]wire.RawValue{"driver_id": raw("1001")}})
	require.ErrorIs(t, err, errStub)
	require.Equal(t, "[99]", values(t, w.ask(project, `{"features":["more:trips"],"entities":{"driver_id":[1001]}}`), "more:trips"), "the table comes first")

	w.offline.err = nil
	faulty := w.over(onlinetest.NewFaults(w.store, 1, onlinetest.Fault{Op: "DeleteEntities"}), serving.Options{})
	_, err = faulty.Erase(t.Context(), project, "more", wire.EraseRequest{Entities: map[string][]wire.RawValue{"driver_id": raw("1001")}})
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
	require.ErrorContains(t, err, "not from the online store")
}

func TestEraseNamesEntitiesExactly(t *testing.T) {
	w := driverWorld(t)
	for name, tc := range map[string]struct {
		entities map[string][]wire.RawValue
		fields   []string
	}{
		"part":    {map[string][]wire.RawValue{"a": raw(`"x"`)}, []string{"entities.b"}},
		"more":    {map[string][]wire.RawValue{"a": raw(`"x"`), "b": raw("1"), "c": raw("1")}, []string{"entities.c"}},
		"ragged":  {map[string][]wire.RawValue{"a": raw(`"x"`), "b": raw("1", "2")}, []string{"entities.b"}},
		"values":  {map[string][]wire.RawValue{"a": raw(`"x"`, "null", "7"), "b": raw("1", "2", "]")}, []string{"entities.a[1]", "entities.a[2]", "entities.b[2]"}},
		"nothing": {nil, []string{"entities.a", "entities.b"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.Erase(t.Context(), project, "pairs", wire.EraseRequest{Entities: tc.entities})
			require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
			var fields []string
			for _, f := range feature.FaultsOf(err) {
				fields = append(fields, f.Field)
			}
			require.Equal(t, tc.fields, fields)
		})
	}
}

func TestExportPassesTheRequestOn(t *testing.T) {
	w := driverWorld(t)
	version := int64(3)
	o := wire.ExportOptions{Columns: []string{"trips"}, Interval: feature.Interval{Start: 1, End: 2}, AsOf: wire.AsOf{Version: &version}, Shard: 1, Shards: 2}
	_, err := w.Export(t.Context(), project, "stats", o)
	require.NoError(t, err)
	require.Nil(t, w.offline.scan.Keys)
	require.Equal(t, o.Columns, w.offline.scan.Columns)
	require.Equal(t, o.Interval, w.offline.scan.Interval)
	require.Equal(t, o.AsOf, w.offline.scan.AsOf)
	require.Equal(t, 2, w.offline.scan.Shards)
	o.Entities = map[string][]wire.RawValue{"driver_id": {}}
	_, err = w.Export(t.Context(), project, "stats", o)
	require.NoError(t, err)
	require.NotNil(t, w.offline.scan.Keys, "no entity is not every entity")
	require.Empty(t, w.offline.scan.Keys)
	_, err = w.Export(t.Context(), project, "nobody", wire.ExportOptions{})
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
}

func TestHistoricalPassesTheRequestOn(t *testing.T) {
	w := driverWorld(t)
	_, err := w.Historical(t.Context(), project, wire.HistoricalOptions{Service: "model", KnownAt: true}, nil)
	require.NoError(t, err)
	require.Equal(t, feature.DefaultEventColumn, w.offline.history.TimeColumn)
	require.True(t, w.offline.history.KnownAt)
	require.Len(t, w.offline.history.Selection.Features, 2)
	_, err = w.Historical(t.Context(), project, wire.HistoricalOptions{Features: []string{"nobody:v"}}, nil)
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	_, err = w.ReadSpine(t.Context(), project, wire.HistoricalOptions{}, feature.FormatCSV, nil)
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
}

func TestDefinitionsAreRead(t *testing.T) {
	w := driverWorld(t)
	projects, revision, err := w.Projects(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{project}, projects)
	require.Equal(t, int64(1), revision)
	d, _, err := w.Definitions(t.Context(), project)
	require.NoError(t, err)
	require.Len(t, d.Views, 4)
	info, err := w.View(t.Context(), project, "pairs")
	require.NoError(t, err)
	require.Equal(t, []feature.JoinKey{{Name: "a", Type: feature.String}, {Name: "b", Type: feature.Int32}}, info.JoinKeys)
	require.Contains(t, info.Table, "pairs")
	views, err := w.Views(t.Context(), project)
	require.NoError(t, err)
	require.Len(t, views.Views, 4)
	_, err = w.Views(t.Context(), "nowhere")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	e, err := w.Entity(t.Context(), project, "pair")
	require.NoError(t, err)
	require.Len(t, e.JoinKeys, 2)
	service, err := w.FeatureService(t.Context(), project, "model")
	require.NoError(t, err)
	require.Len(t, service.Features, 2)
	_, err = w.Source(t.Context(), project, "nothing")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	plan, err := w.Plan(t.Context(), project, wire.ApplyRequest{Definitions: d})
	require.NoError(t, err)
	require.Empty(t, plan.Changes)
	history, err := w.History(t.Context(), project)
	require.NoError(t, err)
	require.Len(t, history, 1)
	_, err = w.Rollback(t.Context(), project, 99, nil)
	require.Error(t, err)
}

func TestReady(t *testing.T) {
	w := driverWorld(t)
	require.NoError(t, w.Ready(t.Context()))
	faulty := w.over(onlinetest.NewFaults(w.store, 1, onlinetest.Fault{Op: "Ping"}), serving.Options{})
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(faulty.Ready(t.Context())))
}
