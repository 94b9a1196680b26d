package api

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/serving"
)

// Service answers the requests; *serving.Service does.
type Service interface {
	Lookup
	History
	Rows
	Definitions
	DefinitionReader
	ViewReader
	Materializer
	Monitor
}

// Lookup answers lookups from their JSON.
type Lookup interface {
	AppendOnline(ctx context.Context, dst []byte, project string, body []byte) ([]byte, error)
	OnlineRecord(ctx context.Context, project string, body []byte) (arrow.Record, error)
}

// History answers point-in-time retrievals.
type History interface {
	ReadSpine(ctx context.Context, project string, o wire.HistoricalOptions, format feature.Format, body io.Reader) (array.RecordReader, error)
	Historical(ctx context.Context, project string, o wire.HistoricalOptions, spine array.RecordReader) (array.RecordReader, error)
}

// Rows takes, gives and erases the rows of views.
type Rows interface {
	Push(ctx context.Context, project, view string, format feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error)
	Export(ctx context.Context, project, view string, o wire.ExportOptions) (array.RecordReader, error)
	Erase(ctx context.Context, project, view string, req wire.EraseRequest) (wire.EraseResult, error)
}

// Definitions changes what is defined.
type Definitions interface {
	Plan(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error)
	Apply(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error)
	Rollback(ctx context.Context, project string, revision int64, expected *int64) (wire.Plan, error)
	Delete(ctx context.Context, project, kind, name string, expected *int64) (wire.Plan, error)
	DeleteProject(ctx context.Context, project string, expected *int64) (wire.Plan, error)
}

// DefinitionReader tells what is defined.
type DefinitionReader interface {
	Projects(ctx context.Context) ([]string, int64, error)
	Definitions(ctx context.Context, project string) (feature.Definitions, int64, error)
	History(ctx context.Context, project string) ([]wire.Revision, error)
	Entity(ctx context.Context, project, name string) (feature.Entity, error)
	Source(ctx context.Context, project, name string) (feature.Source, error)
	FeatureService(ctx context.Context, project, name string) (feature.Service, error)
}

// ViewReader tells what is defined of views, with what the stores hold.
type ViewReader interface {
	View(ctx context.Context, project, name string) (wire.ViewInfo, error)
	Views(ctx context.Context, project string) (wire.ViewList, error)
}

// Materializer loads the newest rows into the online store.
type Materializer interface {
	Materialize(ctx context.Context, project string, req wire.MaterializeRequest) (wire.Job, error)
	Job(ctx context.Context, project, id string) (wire.Job, error)
	Jobs(ctx context.Context, project string) ([]wire.Job, error)
	CancelJob(ctx context.Context, project, id string) (wire.Job, error)
}

// Monitor tells how the service is.
type Monitor interface {
	Ready(ctx context.Context) error
	Stats() serving.Stats
}

var _ Service = (*serving.Service)(nil)
