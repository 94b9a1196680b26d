// Package serving joins the registry and the stores into the one service that
// the HTTP surface and the command line ask: both give the same answers,
// because both come through here.
package serving

import (
	"context"
	"io"
	"log/slog"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
)

// Deps are what a Service stands on. All are needed.
type Deps struct {
	Clock clock.Clock
	Log   *slog.Logger
}

// Options bound what one request may cost; the zero value is the default.
type Options struct {
	// MaxLookupValues is how many values (rows × features) one lookup may ask
	// for; 0 is 10 million.
	MaxLookupValues int
	// KeepJobs is how many finished materializations are remembered; 0 is 100.
	KeepJobs int
}

// Service answers the requests of every surface. It is safe for concurrent use.
type Service struct{}

// New returns a service over deps.
func New(deps Deps, o Options) *Service {
	_, _ = deps, o
	return &Service{}
}

func (s *Service) notYet(op string) error {
	return feature.Errorf(feature.CodeUnavailable, op, "", "not wired")
}

// Online looks features up. It is AppendOnline by Go types.
func (s *Service) Online(ctx context.Context, project string, req wire.OnlineRequest) (*wire.OnlineResponse, error) {
	_, _, _ = ctx, project, req
	return nil, s.notYet("serving.Online")
}

// AppendOnline appends the JSON answer of the JSON lookup request body to dst.
func (s *Service) AppendOnline(ctx context.Context, dst []byte, project string, body []byte) ([]byte, error) {
	_, _, _ = ctx, project, body
	return dst, s.notYet("serving.Online")
}

// OnlineRecord answers a lookup by one Arrow batch.
func (s *Service) OnlineRecord(ctx context.Context, project string, body []byte) (arrow.Record, error) {
	_, _, _ = ctx, project, body
	return nil, s.notYet("serving.Online")
}

// ReadSpine reads the spine of a point-in-time retrieval from a body.
func (s *Service) ReadSpine(ctx context.Context, project string, o wire.HistoricalOptions, format feature.Format, body io.Reader) (array.RecordReader, error) {
	_, _, _, _, _ = ctx, project, o, format, body
	return nil, s.notYet("serving.ReadSpine")
}

// Historical joins features to a spine, point-in-time.
func (s *Service) Historical(ctx context.Context, project string, o wire.HistoricalOptions, spine array.RecordReader) (array.RecordReader, error) {
	_, _, _, _ = ctx, project, o, spine
	return nil, s.notYet("serving.Historical")
}

// Export reads the rows of a view.
func (s *Service) Export(ctx context.Context, project, view string, o wire.ExportOptions) (array.RecordReader, error) {
	_, _, _, _ = ctx, project, view, o
	return nil, s.notYet("serving.Export")
}

// Push lands rows in a view.
func (s *Service) Push(ctx context.Context, project, view string, format feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error) {
	_, _, _, _, _, _ = ctx, project, view, format, body, o
	return wire.PushResult{}, s.notYet("serving.Push")
}

// Erase removes entities from a view, online and offline.
func (s *Service) Erase(ctx context.Context, project, view string, req wire.EraseRequest) (wire.EraseResult, error) {
	_, _, _, _ = ctx, project, view, req
	return wire.EraseResult{}, s.notYet("serving.Erase")
}

// Plan tells what Apply would change.
func (s *Service) Plan(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error) {
	_, _, _ = ctx, project, req
	return wire.Plan{}, s.notYet("serving.Plan")
}

// Apply changes the definitions of a project.
func (s *Service) Apply(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error) {
	_, _, _ = ctx, project, req
	return wire.Plan{}, s.notYet("serving.Apply")
}

// Rollback makes the definitions of an older revision current again.
func (s *Service) Rollback(ctx context.Context, project string, revision int64, expected *int64) (wire.Plan, error) {
	_, _, _, _ = ctx, project, revision, expected
	return wire.Plan{}, s.notYet("serving.Rollback")
}

// Delete deletes one definition: an entity, a source, a view or a service.
func (s *Service) Delete(ctx context.Context, project, kind, name string, expected *int64) (wire.Plan, error) {
	_, _, _, _, _ = ctx, project, kind, name, expected
	return wire.Plan{}, s.notYet("serving.Delete")
}

// DeleteProject deletes all definitions of a project.
func (s *Service) DeleteProject(ctx context.Context, project string, expected *int64) (wire.Plan, error) {
	_, _, _ = ctx, project, expected
	return wire.Plan{}, s.notYet("serving.DeleteProject")
}

// Projects lists the projects, and the revision of the registry.
func (s *Service) Projects(ctx context.Context) ([]string, int64, error) {
	_ = ctx
	return nil, 0, s.notYet("serving.Projects")
}

// Definitions returns what a project defines, and the revision of the registry.
func (s *Service) Definitions(ctx context.Context, project string) (feature.Definitions, int64, error) {
	_, _ = ctx, project
	return feature.Definitions{}, 0, s.notYet("serving.Definitions")
}

// View returns a view with what the stores hold of it.
func (s *Service) View(ctx context.Context, project, name string) (wire.ViewInfo, error) {
	_, _, _ = ctx, project, name
	return wire.ViewInfo{}, s.notYet("serving.View")
}

// History lists the revisions of a project, newest first.
func (s *Service) History(ctx context.Context, project string) ([]wire.Revision, error) {
	_, _ = ctx, project
	return nil, s.notYet("serving.History")
}

// Materialize starts a materialization.
func (s *Service) Materialize(ctx context.Context, project string, req wire.MaterializeRequest) (wire.Job, error) {
	_, _, _ = ctx, project, req
	return wire.Job{}, s.notYet("serving.Materialize")
}

// Job returns a materialization.
func (s *Service) Job(ctx context.Context, project, id string) (wire.Job, error) {
	_, _, _ = ctx, project, id
	return wire.Job{}, s.notYet("serving.Job")
}

// Jobs lists the materializations of a project, newest first.
func (s *Service) Jobs(ctx context.Context, project string) ([]wire.Job, error) {
	_, _ = ctx, project
	return nil, s.notYet("serving.Jobs")
}

// CancelJob cancels a materialization and returns it.
func (s *Service) CancelJob(ctx context.Context, project, id string) (wire.Job, error) {
	_, _, _ = ctx, project, id
	return wire.Job{}, s.notYet("serving.CancelJob")
}

// Wait waits for a materialization to end; progress, if not nil, is called
// with each state it is seen in.
func (s *Service) Wait(ctx context.Context, project, id string, progress func(wire.Job)) (wire.Job, error) {
	_, _, _, _ = ctx, project, id, progress
	return wire.Job{}, s.notYet("serving.Wait")
}

// Ready tells whether requests can be answered.
func (s *Service) Ready(ctx context.Context) error {
	_ = ctx
	return s.notYet("serving.Ready")
}

// Close cancels the running materializations and waits for them.
func (s *Service) Close(ctx context.Context) error {
	_ = ctx
	return nil
}
