package sdk

import (
	"context"
	"net/http"
	"time"

	"github.com/granary-ml/granary/api/wire"
)

// pollEvery is how often Wait asks.
const pollEvery = 100 * time.Millisecond

// Materialize starts to load the newest rows of views into the online store and
// returns at once; Wait waits for the end.
func (c *Client) Materialize(ctx context.Context, req wire.MaterializeRequest) (wire.Job, error) {
	var out wire.Job
	err := c.post(ctx, c.inProject("/materializations"), req, &out, false)
	return out, err
}

// Job returns a materialization and how far it is.
func (c *Client) Job(ctx context.Context, id string) (wire.Job, error) {
	var out wire.Job
	err := c.get(ctx, c.inProject("/materializations/%s", id), &out)
	return out, err
}

// Jobs lists the materializations that the server remembers, newest first.
func (c *Client) Jobs(ctx context.Context) ([]wire.Job, error) {
	var out wire.JobList
	err := c.get(ctx, c.inProject("/materializations"), &out)
	return out.Materializations, err
}

// CancelJob cancels a materialization. What it has loaded stays; the next one
// goes on from the last that was done.
func (c *Client) CancelJob(ctx context.Context, id string) (wire.Job, error) {
	var out wire.Job
	err := c.json(ctx, request{method: http.MethodDelete, path: c.inProject("/materializations/%s", id)}, &out)
	return out, err
}

// Wait waits until a materialization has ended and returns it; one that failed
// is no error of Wait, its Job tells. progress, if not nil, is called with each
// state that is seen. If ctx ends first, the materialization goes on.
func (c *Client) Wait(ctx context.Context, id string, progress func(wire.Job)) (wire.Job, error) {
	for {
		job, err := c.Job(ctx, id)
		if err != nil {
			return job, err
		}
		if progress != nil {
			progress(job)
		}
		if job.State != wire.JobRunning {
			return job, nil
		}
		if err := pause(ctx, pollEvery); err != nil {
			return job, err
		}
	}
}
