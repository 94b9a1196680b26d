package sdk

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// maxProblemBytes bounds what is read of an answer that tells of an error.
const maxProblemBytes = 1 << 20

// readProblem turns an answer with an error status into the server's error. An
// answer of something between us and the server, which is no problem document,
// becomes an error of the status.
func readProblem(resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblemBytes))
	if err != nil {
		return feature.Errorf(feature.CodeUnavailable, "sdk", resp.Request.URL.Path, "the answer was cut: %w", err)
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	var p wire.Problem
	if media == wire.ProblemMediaType && json.Unmarshal(data, &p) == nil && p.Code != "" {
		return withDelay(p.Err(), resp)
	}
	text := strings.TrimSpace(string(data[:min(len(data), 200)]))
	return withDelay(feature.Errorf(codeOfStatus(resp.StatusCode), "sdk", resp.Request.URL.Path, "HTTP %s: %s", resp.Status, text), resp)
}

// codeOfStatus returns the code that fits a status which came without one.
func codeOfStatus(status int) feature.Code {
	switch status {
	case http.StatusUnauthorized:
		return feature.CodeUnauthenticated
	case http.StatusForbidden:
		return feature.CodePermissionDenied
	case http.StatusNotFound:
		return feature.CodeNotFound
	case http.StatusConflict:
		return feature.CodeConflict
	case http.StatusPreconditionFailed:
		return feature.CodeFailedPrecondition
	case http.StatusRequestEntityTooLarge:
		return feature.CodeTooLarge
	case http.StatusUnsupportedMediaType:
		return feature.CodeUnsupportedMediaType
	case http.StatusTooManyRequests:
		return feature.CodeResourceExhausted
	case http.StatusBadGateway, http.StatusServiceUnavailable:
		return feature.CodeUnavailable
	case http.StatusGatewayTimeout:
		return feature.CodeDeadlineExceeded
	}
	if status < http.StatusInternalServerError {
		return feature.CodeInvalidArgument
	}
	return feature.CodeInternal
}

// delayed is an error that came with Retry-After.
type delayed struct {
	error
	delay time.Duration
}

func (d *delayed) Unwrap() error { return d.error }

func withDelay(err error, resp *http.Response) error {
	seconds, parse := strconv.Atoi(resp.Header.Get("Retry-After"))
	if parse != nil || seconds < 0 {
		return err
	}
	return &delayed{error: err, delay: time.Duration(seconds) * time.Second}
}

// unsent is an error of a request that never reached the server.
type unsent struct{ error }

func (u *unsent) Unwrap() error { return u.error }

// transportError tells why there is no answer.
func transportError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return feature.Errorf(feature.CodeOf(ctx.Err()), "sdk", "", "%w", ctx.Err())
	}
	if local, ok := errors.AsType[*feature.Error](err); ok { // the body could not be read
		return local
	}
	out := feature.Errorf(feature.CodeUnavailable, "sdk", "", "the server does not answer: %w", err)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return &unsent{out}
	}
	return out
}
