package sdk

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/granary-ml/granary/feature"
)

// The waits between attempts grow from the first to the longest; each is cut at
// random so that clients which failed together do not come back together.
const (
	firstWait   = 50 * time.Millisecond
	longestWait = 2 * time.Second
)

// send sends a request, again where that is safe and may help.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	wait := firstWait
	for attempt := 0; ; attempt++ {
		resp, err := c.once(ctx, r)
		if err == nil {
			return resp, nil
		}
		if attempt >= c.retries || !mayHelp(err, r) {
			return nil, plain(err)
		}
		if pause(ctx, waitFor(err, wait)) != nil {
			return nil, plain(err)
		}
		wait = min(2*wait, longestWait)
	}
}

// mayHelp tells whether to send a request again after an error.
func mayHelp(err error, r request) bool {
	if _, ok := errors.AsType[*unsent](err); ok {
		return r.body.again()
	}
	switch feature.CodeOf(err) {
	case feature.CodeUnavailable, feature.CodeResourceExhausted:
		return r.safe && r.body.again()
	case feature.CodeInternal, feature.CodeInvalidArgument, feature.CodeUnauthenticated, feature.CodePermissionDenied,
		feature.CodeNotFound, feature.CodeAlreadyExists, feature.CodeConflict, feature.CodeFailedPrecondition,
		feature.CodeTooLarge, feature.CodeUnsupportedMediaType, feature.CodeDataLoss, feature.CodeDeadlineExceeded,
		feature.CodeCanceled:
	}
	return false
}

// waitFor returns how long to wait after an error: what the server asked for,
// else between a half and the whole of wait.
func waitFor(err error, wait time.Duration) time.Duration {
	if d, ok := errors.AsType[*delayed](err); ok {
		return max(d.delay, wait)
	}
	return wait/2 + rand.N(wait/2) //nolint:gosec // spreads load, guards nothing
}

// plain takes off what only the retries need to know.
func plain(err error) error {
	if d, ok := errors.AsType[*delayed](err); ok {
		err = d.error
	}
	if u, ok := errors.AsType[*unsent](err); ok {
		err = u.error
	}
	return err
}

// pause waits, or returns the context's error if that ends first.
func pause(ctx context.Context, d time.Duration) error {
	timer, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-timer.Done()
	return ctx.Err()
}
