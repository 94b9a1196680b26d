package api

import (
	"errors"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// retryAfter is what a 429 or 503 asks a client to wait, in seconds.
const retryAfter = "1"

// problem writes an error that happened before the first byte of the answer.
func (s *Server) problem(w *answer, err error) {
	p := wire.NewProblem(err, w.id)
	if status, ok := errors.AsType[*statusError](err); ok {
		p.Status, p.Title = status.status, http.StatusText(status.status)
	}
	body, merr := json.Marshal(p)
	if merr != nil {
		s.log.Error("problem not written", "error", merr)
	}
	h := w.Header()
	h.Set("Content-Type", wire.ProblemMediaType)
	h.Del("Content-Length")
	h.Set("X-Content-Type-Options", "nosniff")
	if p.Status == http.StatusServiceUnavailable || p.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", retryAfter)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body)
}

// statusError is an error whose HTTP status is not that of its code: HTTP has
// its own word for it, such as 405.
type statusError struct {
	status int
	err    error
}

// Error implements error.
func (e *statusError) Error() string { return e.err.Error() }

// Unwrap returns the coded error.
func (e *statusError) Unwrap() error { return e.err }

// unrouted answers what no route matches: a path that is not there, or one
// that knows other methods. There is no redirect to a cleaner path: a client
// would repeat a POST as a GET.
func (s *Server) unrouted(w *answer, r *http.Request) error {
	allowed := s.methodsOf(r)
	if len(allowed) == 0 {
		return feature.Errorf(feature.CodeNotFound, "", "path "+clip(r.URL.Path), "there is no such path")
	}
	w.Header().Set("Allow", strings.Join(allowed, ", "))
	return &statusError{status: http.StatusMethodNotAllowed, err: feature.Errorf(feature.CodeInvalidArgument, "", "path "+clip(r.URL.Path),
		"method %s is not allowed (expected %s)", clip(r.Method), strings.Join(allowed, " or "))}
}

// clip shortens what a caller wrote for a message.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
