package api_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/online/onlinetest"
	"github.com/granary-ml/granary/registry"
	"github.com/granary-ml/granary/registry/registrytest"
)

// endless materializes until it is canceled.
type endless struct{ entered chan struct{} }

func (e *endless) Push(context.Context, ingest.PushRequest) (wire.PushResult, error) {
	return wire.PushResult{}, nil
}

func (e *endless) Materialize(ctx context.Context, req ingest.MaterializeRequest) (wire.ViewProgress, error) {
	req.Progress(wire.ViewProgress{RowsRead: 3, RowsTotal: 10})
	e.entered <- struct{}{}
	<-ctx.Done()
	return wire.ViewProgress{}, ctx.Err()
}

func TestMaterializationIsFollowedAndCanceled(t *testing.T) {
	reg, err := registry.Open(t.Context(), registrytest.NewMemory(), registry.Options{})
	require.NoError(t, err)
	_, err = reg.Apply(t.Context(), "p", wire.ApplyRequest{Definitions: feature.Definitions{
		Entities: []feature.Entity{{Name: "k", JoinKeys: []feature.JoinKey{{Name: "k", Type: feature.Int64}}}},
		Views:    []feature.View{{Name: "v", Entities: []string{"k"}, Features: []feature.Feature{{Name: "x", Type: feature.Int64}}}},
	}})
	require.NoError(t, err)
	e := &endless{entered: make(chan struct{})}
	svc := serving.New(serving.Deps{Registry: reg, Online: onlinetest.NewReference(), Ingester: e}, serving.Options{})
	t.Cleanup(func() { require.NoError(t, svc.Close(context.WithoutCancel(t.Context()))) })
	h := serve(t, api.New(api.Deps{Service: svc}, api.Options{}))

	const url = "http://granary/v1/projects/p/materializations"
	resp, body := post(t, h, url, strings.NewReader(`{}`))
	require.Equal(t, http.StatusAccepted, resp.StatusCode, body)
	location := "http://granary" + resp.Header.Get("Location")
	<-e.entered
	job := ask(t, h, http.MethodGet, location)
	require.Equal(t, wire.JobRunning, job.State)
	require.Equal(t, wire.ViewProgress{View: "v", State: wire.JobRunning, RowsRead: 3, RowsTotal: 10, Seconds: job.Views[0].Seconds}, job.Views[0])
	resp, body = post(t, h, url, strings.NewReader(`{"views":["v"]}`))
	require.Equal(t, http.StatusConflict, resp.StatusCode)
	require.Contains(t, problemOf(t, resp, body).Detail, job.ID)

	ask(t, h, http.MethodDelete, location)
	require.Eventually(t, func() bool {
		job = ask(t, h, http.MethodGet, location)
		return job.State != wire.JobRunning
	}, 5*time.Second, time.Millisecond)
	require.Equal(t, wire.JobCanceled, job.State)
	require.NotNil(t, job.Finished)
	require.Nil(t, job.Error)
}

// ask sends a request without a body and returns the materialization that is
// answered.
func ask(t *testing.T, h *host, method, url string) wire.Job {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	require.NoError(t, err)
	resp, err := h.Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", data)
	var job wire.Job
	require.NoError(t, json.Unmarshal(data, &job))
	return job
}
