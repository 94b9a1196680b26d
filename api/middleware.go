package api

import (
	"context"
	"errors"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// answer is the response writer of one request, with what the middleware needs
// to know about it.
type answer struct {
	http.ResponseWriter

	route  *route
	id     string // of the request
	status int    // 0 before the first byte
	bytes  int64
	body   *body // of the request; nil if it was not read
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
		a.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	n, err := a.ResponseWriter.Write(p) //nolint:gosec // every answer has a media type that no browser renders
	a.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// headerRequestID is where a request id comes in and goes out.
const headerRequestID = "X-Request-Id"

// endpoint puts around a route what all routes have in common.
func (s *Server) endpoint(rt *route) http.Handler {
	counts := s.metrics.route(rt.name)
	timeout := s.options.RequestTimeout
	if rt.class == stream {
		timeout = s.options.StreamTimeout
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := s.clock.Now()
		a := &answer{ResponseWriter: w, route: rt, id: s.requestID(r)}
		w.Header().Set(headerRequestID, a.id)
		counts.inFlight.Inc()
		if rt.class == stream {
			s.giveTime(w)
		}
		ctx, cancel := context.WithTimeout(r.Context(), timeout)
		err := s.handle(ctx, a, r)
		cancel()
		whole := s.settle(r, a, err)
		counts.inFlight.Dec()
		counts.done(a, s.clock.Now().Sub(start))
		if !whole {
			// The only way to tell a client that an answer has not come to its
			// end: the server closes the connection without the last chunk.
			panic(http.ErrAbortHandler) //nolint:forbidigo // net/http knows no other way to break off an answer
		}
	})
}

// giveTime lifts the deadlines that the server has set for the connection to
// those of a stream. The read deadline matters even without a body: the server
// reads ahead to see whether the client is still there, and would take the
// deadline for its absence.
func (s *Server) giveTime(w http.ResponseWriter) {
	conn := http.NewResponseController(w)
	extend(conn.SetReadDeadline, s.options.StreamTimeout+s.options.IdleTimeout)
	extend(conn.SetWriteDeadline, s.options.StreamTimeout+s.options.IdleTimeout)
}

// handle runs the handler with the one recover of the program around it.
func (s *Server) handle(ctx context.Context, a *answer, r *http.Request) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			s.log.ErrorContext(ctx, "panic in a handler", "request_id", a.id, "route", a.route.name, "cause", cause, "stack", string(debug.Stack()))
			err = feature.Errorf(feature.CodeInternal, "", "", "panic: %v", cause)
		}
		if a.body != nil && a.body.close != nil {
			a.body.close()
		}
	}()
	if !a.route.params && r.URL.RawQuery != "" {
		if err := wire.ParseEmptyQuery(r.URL.Query()); err != nil {
			return err
		}
	}
	return a.route.handle(s, ctx, a, r)
}

// settle ends a request: an error before the first byte becomes a problem
// document. It tells whether the answer is whole.
func (s *Server) settle(r *http.Request, a *answer, err error) bool {
	if err == nil {
		if a.status == 0 {
			a.WriteHeader(http.StatusOK)
		}
		return true
	}
	switch {
	case a.body != nil && a.body.err != nil:
		err = a.body.err // what it was taken for is a consequence
	case r.Context().Err() != nil && !errors.Is(err, context.DeadlineExceeded):
		err = errors.Join(feature.Errorf(feature.CodeCanceled, "", "", "the client went away"), err)
	}
	whole := a.status == 0
	s.logError(r, a, err)
	if whole {
		s.problem(a, err)
	}
	return whole
}

// logError logs what the caller is not told: the inside of our own faults, and
// answers that were cut off.
func (s *Server) logError(r *http.Request, a *answer, err error) {
	code := feature.CodeOf(err)
	fault := code.HTTPStatus() >= http.StatusInternalServerError
	switch {
	case a.status != 0 && code != feature.CodeCanceled:
		s.log.ErrorContext(r.Context(), "answer cut off", "request_id", a.id, "route", a.route.name, "code", code.String(), "bytes", a.bytes, "error", err)
	case fault:
		s.log.ErrorContext(r.Context(), "request failed", "request_id", a.id, "route", a.route.name, "code", code.String(), "error", err)
	default:
		s.log.DebugContext(r.Context(), "request refused", "request_id", a.id, "route", a.route.name, "code", code.String())
	}
}

// maxRequestIDBytes bounds an id that a caller brings along.
const maxRequestIDBytes = 64

// requestID returns the id that the caller gave, if it is fit for a log, or a
// new one: a prefix of this process and a count.
func (s *Server) requestID(r *http.Request) string {
	if given := r.Header.Get(headerRequestID); given != "" && len(given) <= maxRequestIDBytes && printable(given) {
		return given
	}
	buf := make([]byte, 0, len(s.idPrefix)+16)
	buf = append(append(buf, s.idPrefix...), '-')
	return string(strconv.AppendUint(buf, s.requests.Add(1), 10))
}

func printable(id string) bool {
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// pacedWriter moves the connection's write deadline on with each write: a long
// answer may take its time, but a client that does not read may not hold it.
type pacedWriter struct {
	*answer

	conn *http.ResponseController
	idle time.Duration
}

func (s *Server) paced(a *answer) *pacedWriter {
	return &pacedWriter{answer: a, conn: http.NewResponseController(a.ResponseWriter), idle: s.options.IdleTimeout}
}

// Write implements io.Writer.
func (p *pacedWriter) Write(b []byte) (int, error) {
	extend(p.conn.SetWriteDeadline, p.idle)
	return p.answer.Write(b)
}

// Flush sends what is buffered.
func (p *pacedWriter) Flush() error { return p.conn.Flush() }
