package main

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
)

// backend is what commands work on: the local stores, or a server. Both answer
// alike.
type backend interface {
	definer
	historian
	server
	loader
	// Close ends it.
	Close(ctx context.Context) error
}

// definer changes and tells definitions.
type definer interface {
	Plan(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error)
	Apply(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error)
	Rollback(ctx context.Context, req wire.RollbackRequest) (wire.Plan, error)
	Delete(ctx context.Context, kind, name string, expected *int64) (wire.Plan, error)
	Definitions(ctx context.Context) (feature.Definitions, int64, error)
	View(ctx context.Context, name string) (wire.ViewInfo, error)
	History(ctx context.Context) ([]wire.Revision, error)
	Projects(ctx context.Context) (wire.ProjectList, error)
}

// historian reads history.
type historian interface {
	// Historical joins features to a spine that is written in a format. The
	// answer is released before the spine is closed.
	Historical(ctx context.Context, format feature.Format, spine io.Reader, o wire.HistoricalOptions) (array.RecordReader, error)
	Export(ctx context.Context, view string, o wire.ExportOptions) (array.RecordReader, error)
}

// server looks up and erases.
type server interface {
	OnlineFeatures(ctx context.Context, req wire.OnlineRequest) (*wire.OnlineResponse, error)
	Erase(ctx context.Context, view string, req wire.EraseRequest) (wire.EraseResult, error)
}

// loader brings rows in and up.
type loader interface {
	Ingest(ctx context.Context, req ingestRequest) (ingest.Summary, error)
	// Materialize waits for the end; when ctx ends, so does the
	// materialization. One that failed is an error.
	Materialize(ctx context.Context, req wire.MaterializeRequest, progress func(wire.Job)) (wire.Job, error)
}

// ingestRequest asks to bring files into a view.
type ingestRequest struct {
	view        string
	inputs      []string // empty: the path of the view's source
	baseDir     string   // of the source's path
	format      feature.Format
	strict      bool
	key         string
	deadLetters string
	progress    func(ingest.Progress)
}

// files is the request to read the files into a view.
func (r ingestRequest) files(view *feature.BoundView) ingest.FileRequest {
	baseDir := ""
	if len(r.inputs) == 0 {
		baseDir = r.baseDir
	}
	return ingest.FileRequest{
		View: view, Inputs: r.inputs, BaseDir: baseDir, Format: r.format, Strict: r.strict,
		IdempotencyKey: r.key, DeadLetters: r.deadLetters, Progress: r.progress,
	}
}

// outcome returns a materialization that has ended, as an error if it did not
// end well.
func outcome(job wire.Job, err error) (wire.Job, error) {
	switch {
	case err != nil:
		return job, err
	case job.Error != nil:
		return job, job.Error.Err()
	case job.State != wire.JobDone:
		return job, feature.Errorf(feature.CodeCanceled, "", "materialization "+job.ID, "it was canceled")
	}
	return job, nil
}
