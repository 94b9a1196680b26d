package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/wiring"
)

// local is the backend of the stores that the configuration names.
type local struct {
	*wiring.System
	project string
}

// Plan implements definer.
func (l *local) Plan(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	return l.Service.Plan(ctx, l.project, req)
}

// Apply implements definer.
func (l *local) Apply(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	return l.Service.Apply(ctx, l.project, req)
}

// Rollback implements definer.
func (l *local) Rollback(ctx context.Context, req wire.RollbackRequest) (wire.Plan, error) {
	return l.Service.Rollback(ctx, l.project, req.Revision, req.Expected)
}

// Delete implements definer.
func (l *local) Delete(ctx context.Context, kind, name string, expected *int64) (wire.Plan, error) {
	return l.Service.Delete(ctx, l.project, kind, name, expected)
}

// Definitions implements definer.
func (l *local) Definitions(ctx context.Context) (feature.Definitions, int64, error) {
	return l.Service.Definitions(ctx, l.project)
}

// View implements definer.
func (l *local) View(ctx context.Context, name string) (wire.ViewInfo, error) {
	return l.Service.View(ctx, l.project, name)
}

// History implements definer.
func (l *local) History(ctx context.Context) ([]wire.Revision, error) {
	return l.Service.History(ctx, l.project)
}

// Projects implements definer.
func (l *local) Projects(ctx context.Context) (wire.ProjectList, error) {
	projects, revision, err := l.Service.Projects(ctx)
	return wire.ProjectList{Projects: projects, Revision: revision}, err
}

// Historical implements historian.
func (l *local) Historical(ctx context.Context, format feature.Format, spine io.Reader, o wire.HistoricalOptions) (array.RecordReader, error) {
	records, err := l.Service.ReadSpine(ctx, l.project, o, format, spine)
	if err != nil {
		return nil, err
	}
	answer, err := l.Service.Historical(ctx, l.project, o, records)
	if err != nil {
		records.Release()
		return nil, err
	}
	return &withSpine{RecordReader: answer, spine: records}, nil
}

// withSpine releases the spine with the answer.
type withSpine struct {
	array.RecordReader
	spine array.RecordReader
}

// Release releases both.
func (w *withSpine) Release() {
	w.RecordReader.Release()
	w.spine.Release()
}

// Export implements historian.
func (l *local) Export(ctx context.Context, view string, o wire.ExportOptions) (array.RecordReader, error) {
	return l.Service.Export(ctx, l.project, view, o)
}

// OnlineFeatures implements server.
func (l *local) OnlineFeatures(ctx context.Context, req wire.OnlineRequest) (*wire.OnlineResponse, error) {
	return l.Service.Online(ctx, l.project, req)
}

// Erase implements server.
func (l *local) Erase(ctx context.Context, view string, req wire.EraseRequest) (wire.EraseResult, error) {
	return l.Service.Erase(ctx, l.project, view, req)
}

// Ingest implements loader.
func (l *local) Ingest(ctx context.Context, req ingestRequest) (ingest.Summary, error) {
	view, err := l.Registry.Snapshot().View(l.project, req.view)
	if err != nil {
		return ingest.Summary{}, err
	}
	return l.Ingester.Files(ctx, req.files(view))
}

// cancelTimeout bounds how long a canceled materialization is waited for.
const cancelTimeout = 10 * time.Second

// Materialize implements loader.
func (l *local) Materialize(ctx context.Context, req wire.MaterializeRequest, progress func(wire.Job)) (wire.Job, error) {
	job, err := l.Service.Materialize(ctx, l.project, req)
	if err != nil {
		return job, err
	}
	last, err := l.Service.Wait(ctx, l.project, job.ID, progress)
	if ctx.Err() == nil {
		return outcome(last, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, cancelErr := l.Service.CancelJob(ctx, l.project, job.ID)
	return last, errors.Join(err, cancelErr)
}
