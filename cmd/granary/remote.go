package main

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/sdk"
)

// remote is the backend of a server. What it does not define itself is the
// client's.
type remote struct {
	client  *sdk.Client
	project string
	clock   clock.Clock
	tempDir string // empty for the system's
}

// Plan implements definer.
func (r *remote) Plan(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	return r.client.Plan(ctx, req)
}

// Apply implements definer.
func (r *remote) Apply(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	return r.client.Apply(ctx, req)
}

// Rollback implements definer.
func (r *remote) Rollback(ctx context.Context, req wire.RollbackRequest) (wire.Plan, error) {
	return r.client.Rollback(ctx, req)
}

// Delete implements definer.
func (r *remote) Delete(ctx context.Context, kind, name string, expected *int64) (wire.Plan, error) {
	return r.client.Delete(ctx, kind, name, expected)
}

// Definitions implements definer.
func (r *remote) Definitions(ctx context.Context) (feature.Definitions, int64, error) {
	return r.client.Definitions(ctx)
}

// View implements definer.
func (r *remote) View(ctx context.Context, name string) (wire.ViewInfo, error) {
	return r.client.View(ctx, name)
}

// History implements definer.
func (r *remote) History(ctx context.Context) ([]wire.Revision, error) { return r.client.History(ctx) }

// Projects implements definer.
func (r *remote) Projects(ctx context.Context) (wire.ProjectList, error) {
	return r.client.Projects(ctx)
}

// Historical implements historian.
func (r *remote) Historical(ctx context.Context, format feature.Format, spine io.Reader, o wire.HistoricalOptions) (array.RecordReader, error) {
	return r.client.HistoricalFrom(ctx, format, spine, o)
}

// Export implements historian.
func (r *remote) Export(ctx context.Context, view string, o wire.ExportOptions) (array.RecordReader, error) {
	return r.client.Export(ctx, view, o)
}

// OnlineFeatures implements server.
func (r *remote) OnlineFeatures(ctx context.Context, req wire.OnlineRequest) (*wire.OnlineResponse, error) {
	return r.client.OnlineFeatures(ctx, req)
}

// Erase implements server.
func (r *remote) Erase(ctx context.Context, view string, req wire.EraseRequest) (wire.EraseResult, error) {
	return r.client.Erase(ctx, view, req)
}

// Materialize implements loader.
func (r *remote) Materialize(ctx context.Context, req wire.MaterializeRequest, progress func(wire.Job)) (wire.Job, error) {
	job, err := r.client.Materialize(ctx, req)
	if err != nil {
		return job, err
	}
	last, err := r.client.Wait(ctx, job.ID, progress)
	if ctx.Err() == nil {
		return outcome(last, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, cancelErr := r.client.CancelJob(ctx, job.ID)
	return last, errors.Join(err, cancelErr)
}

// Close implements backend.
func (r *remote) Close(context.Context) error { return r.client.Close() }
