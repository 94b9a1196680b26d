package serving_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/registry"
)

// gate makes materializations wait to be let through, view by view.
type gate struct {
	entered chan string
	leave   chan error
}

func gated(w *world) *gate {
	g := &gate{entered: make(chan string), leave: make(chan error)}
	w.ingester.materialize = func(ctx context.Context, req ingest.MaterializeRequest) (wire.ViewProgress, error) {
		req.Progress(wire.ViewProgress{RowsRead: 5, RowsTotal: 10})
		select {
		case g.entered <- req.View.Name:
		case <-ctx.Done():
			return wire.ViewProgress{}, ctx.Err()
		}
		select {
		case err := <-g.leave:
			return wire.ViewProgress{RowsRead: 10, RowsTotal: 10, Written: 9, Superseded: 1, Version: 3}, err
		case <-ctx.Done():
			return wire.ViewProgress{}, ctx.Err()
		}
	}
	return g
}

func states(j wire.Job) []string {
	out := []string{j.State}
	for _, v := range j.Views {
		out = append(out, v.View+" "+v.State)
	}
	return out
}

func TestMaterializeRunsEveryOnlineView(t *testing.T) {
	w := driverWorld(t)
	g := gated(w)
	started, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{})
	require.NoError(t, err)
	require.Equal(t, wire.JobRunning, started.State)
	require.Equal(t, "more", <-g.entered)
	job, err := w.Job(t.Context(), project, started.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"running", "more running", "pairs waiting", "stats waiting"}, states(job))
	require.Equal(t, int64(5), job.Views[0].RowsRead)
	require.Equal(t, int64(1), w.Stats().Running)
	g.leave <- nil
	require.Equal(t, "pairs", <-g.entered)
	w.clock.Advance(2 * time.Second)
	g.leave <- nil
	require.Equal(t, "stats", <-g.entered)
	g.leave <- nil
	seen := 0
	job, err = w.Wait(t.Context(), project, started.ID, func(wire.Job) { seen++ })
	require.NoError(t, err)
	require.Positive(t, seen)
	require.Equal(t, []string{"done", "more done", "pairs done", "stats done"}, states(job))
	require.Equal(t, wire.ViewProgress{View: "pairs", State: "done", Version: 3, RowsRead: 10, RowsTotal: 10, Written: 9, Superseded: 1, Seconds: 2}, job.Views[1])
	require.Equal(t, feature.FromTime(noon.Add(2*time.Second)), *job.Finished)
	require.Equal(t, int64(1), w.Stats().Jobs[wire.JobDone])
}

func TestMaterializeGoesOnAfterAViewThatFails(t *testing.T) {
	w := driverWorld(t)
	g := gated(w)
	started, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"stats", "more"}})
	require.NoError(t, err)
	<-g.entered
	g.leave <- feature.Errorf(feature.CodeUnavailable, "x", "view demo/stats", "secret-host refused")
	<-g.entered
	g.leave <- nil
	job, err := w.Wait(t.Context(), project, started.ID, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"failed", "stats failed", "more done"}, states(job))
	require.Equal(t, "unavailable", job.Error.Code)
	require.NotContains(t, job.Error.Detail, "secret-host")
	require.Equal(t, int64(5), job.Views[0].RowsRead, "how far it came is still told")
}

func TestCancelJob(t *testing.T) {
	w := driverWorld(t)
	g := gated(w)
	started, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"stats", "more"}})
	require.NoError(t, err)
	<-g.entered
	_, err = w.CancelJob(t.Context(), project, started.ID)
	require.NoError(t, err)
	job, err := w.Wait(t.Context(), project, started.ID, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"canceled", "stats canceled", "more canceled"}, states(job))
	require.Nil(t, job.Error)
	job, err = w.CancelJob(t.Context(), project, started.ID)
	require.NoError(t, err)
	require.Equal(t, wire.JobCanceled, job.State)
}

func TestMaterializeTheSameViewTwice(t *testing.T) {
	w := driverWorld(t)
	g := gated(w)
	first, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"stats"}})
	require.NoError(t, err)
	require.Equal(t, "stats", <-g.entered)
	_, err = w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"more", "stats"}})
	require.Equal(t, feature.CodeConflict, feature.CodeOf(err))
	require.ErrorContains(t, err, first.ID)
	second, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"more"}})
	require.NoError(t, err)
	require.Equal(t, "more", <-g.entered)
	g.leave <- nil
	g.leave <- nil
	for _, id := range []string{first.ID, second.ID} {
		_, err := w.Wait(t.Context(), project, id, nil)
		require.NoError(t, err)
	}
	again, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"stats"}})
	require.NoError(t, err)
	<-g.entered
	g.leave <- nil
	_, err = w.Wait(t.Context(), project, again.ID, nil)
	require.NoError(t, err)
	jobs, err := w.Jobs(t.Context(), project)
	require.NoError(t, err)
	require.Equal(t, []string{again.ID, second.ID, first.ID}, []string{jobs[0].ID, jobs[1].ID, jobs[2].ID})
}

func TestMaterializeIsRefused(t *testing.T) {
	w := driverWorld(t)
	at := func(us int64) *feature.Timestamp { v := feature.Timestamp(us); return &v }
	for _, tc := range []struct {
		project string
		req     wire.MaterializeRequest
		code    feature.Code
		faults  int
	}{
		{"nowhere", wire.MaterializeRequest{}, feature.CodeNotFound, 0},
		{project, wire.MaterializeRequest{Views: []string{"nobody", "stats", "nothing"}}, feature.CodeNotFound, 2},
		{project, wire.MaterializeRequest{Views: []string{"stats", "stats"}}, feature.CodeInvalidArgument, 1},
		{project, wire.MaterializeRequest{Views: []string{"hidden"}}, feature.CodeFailedPrecondition, 1},
		{project, wire.MaterializeRequest{Start: at(5), End: at(5)}, feature.CodeInvalidArgument, 1},
	} {
		_, err := w.Materialize(t.Context(), tc.project, tc.req)
		require.Equal(t, tc.code, feature.CodeOf(err), "%v", err)
		require.Len(t, feature.FaultsOf(err), tc.faults, "%v", err)
	}
	_, err := w.Jobs(t.Context(), "nowhere")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	_, err = w.Job(t.Context(), project, "nothing")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
}

func TestJobsOfAnotherProjectAreNotSeen(t *testing.T) {
	w := driverWorld(t)
	w.define("other", drivers)
	g := gated(w)
	started, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"stats"}})
	require.NoError(t, err)
	<-g.entered
	_, err = w.CancelJob(t.Context(), "other", started.ID)
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	jobs, err := w.Jobs(t.Context(), "other")
	require.NoError(t, err)
	require.Empty(t, jobs)
	g.leave <- nil
}

func TestFinishedJobsAreForgotten(t *testing.T) {
	w := driverWorld(t)
	w.Service = w.over(w.store, serving.Options{KeepJobs: 2})
	w.ingester.materialize = func(context.Context, ingest.MaterializeRequest) (wire.ViewProgress, error) {
		return wire.ViewProgress{}, nil
	}
	for range 5 {
		job, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"stats"}})
		require.NoError(t, err)
		_, err = w.Wait(t.Context(), project, job.ID, nil)
		require.NoError(t, err)
		// The next one may start when the last has been counted.
		require.Eventually(t, func() bool { return w.Stats().Running == 0 }, time.Second, time.Millisecond)
	}
	require.Eventually(t, func() bool { return w.Stats().Jobs[wire.JobDone] == 5 }, time.Second, time.Millisecond)
	jobs, err := w.Jobs(t.Context(), project)
	require.NoError(t, err)
	require.Len(t, jobs, 2)
}

// A request that ends does not end the job that it started; Close does.
func TestCloseCancelsJobs(t *testing.T) {
	w := driverWorld(t)
	g := gated(w)
	ctx, cancel := context.WithCancel(t.Context())
	started, err := w.Materialize(ctx, project, wire.MaterializeRequest{Views: []string{"stats"}})
	require.NoError(t, err)
	cancel()
	<-g.entered
	job, err := w.Job(t.Context(), project, started.ID)
	require.NoError(t, err)
	require.Equal(t, wire.JobRunning, job.State)
	require.NoError(t, w.Close(t.Context()))
	job, err = w.Job(t.Context(), project, started.ID)
	require.NoError(t, err)
	require.Equal(t, wire.JobCanceled, job.State)
	_, err = w.Materialize(t.Context(), project, wire.MaterializeRequest{})
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
}

func TestWaitEndsWithItsContext(t *testing.T) {
	w := driverWorld(t)
	g := gated(w)
	started, err := w.Materialize(t.Context(), project, wire.MaterializeRequest{Views: []string{"stats"}})
	require.NoError(t, err)
	<-g.entered
	ctx, cancel := context.WithCancel(t.Context())
	_, err = w.Wait(ctx, project, started.ID, func(wire.Job) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	g.leave <- nil
}

func TestFollowSeesWhatOthersApply(t *testing.T) {
	w := driverWorld(t)
	other, err := registry.Open(t.Context(), w.storage, registry.Options{})
	require.NoError(t, err)
	_, err = other.Delete(t.Context(), project, "view", "pairs", nil)
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) { // in which a second takes no time
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		w.Follow(ctx)
	})
	_, err = w.View(t.Context(), project, "pairs")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
}
