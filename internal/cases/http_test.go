package cases

import (
	"context"
	"io"
	"net/http/httptest"
	"testing"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/sdk"
)

// overHTTP is the surface of a server, reached through the SDK.
func overHTTP(t *testing.T, s *stack) surface {
	t.Helper()
	server := httptest.NewServer(api.New(api.Deps{Service: s.service}, api.Options{Clock: s.clock}))
	client, err := sdk.Dial(server.URL)
	require.NoError(t, err)
	closeStack := s.close
	s.close = func() {
		require.NoError(t, client.Close())
		server.Close()
		closeStack()
	}
	return remote{client}
}

// remote gives a client the shape of a surface.
type remote struct{ client *sdk.Client }

func (r remote) Apply(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error) {
	return r.client.Project(project).Apply(ctx, req)
}

func (r remote) Delete(ctx context.Context, project, kind, name string, expected *int64) (wire.Plan, error) {
	return r.client.Project(project).Delete(ctx, kind, name, expected)
}

func (r remote) DeleteProject(ctx context.Context, project string, expected *int64) (wire.Plan, error) {
	return r.client.Project(project).DeleteProject(ctx, expected)
}

func (r remote) Online(ctx context.Context, project string, req wire.OnlineRequest) (*wire.OnlineResponse, error) {
	return r.client.Project(project).OnlineFeatures(ctx, req)
}

func (r remote) Push(ctx context.Context, project, view string, format feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error) {
	return r.client.Project(project).Push(ctx, view, format, body, o)
}

func (r remote) Historical(ctx context.Context, project string, o wire.HistoricalOptions, spine array.RecordReader) (array.RecordReader, error) {
	return r.client.Project(project).Historical(ctx, spine, o)
}

func (r remote) Materialize(ctx context.Context, project string, req wire.MaterializeRequest) (wire.Job, error) {
	return r.client.Project(project).Materialize(ctx, req)
}

func (r remote) Wait(ctx context.Context, project, id string, progress func(wire.Job)) (wire.Job, error) {
	return r.client.Project(project).Wait(ctx, id, progress)
}
