// Package api is the HTTP surface of the feature store.
package api

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/serving"
)

// Deps are what a Server stands on.
type Deps struct {
	Service *serving.Service
}

// Options are the limits of a Server; the zero value is the default.
type Options struct {
	// MaxBodyBytes bounds a JSON body, decoded; 0 is 32 MiB.
	MaxBodyBytes int64
	// MaxStreamBytes bounds the body of a push or a spine, decoded; 0 is 4 GiB.
	MaxStreamBytes int64
	// RequestTimeout bounds a request that is not a stream; 0 is 30 s.
	RequestTimeout time.Duration
	// StreamTimeout bounds a request that reads or writes a stream; 0 is 1 h.
	StreamTimeout time.Duration
	// IdleTimeout bounds how long a body or an answer may stand still, and how
	// long a connection is kept between requests; 0 is 60 s.
	IdleTimeout time.Duration
	// ShutdownTimeout bounds how long a stop waits for requests in flight; 0
	// is 30 s.
	ShutdownTimeout time.Duration
	// Version is what /version answers.
	Version wire.Version
	Log     *slog.Logger
	Clock   clock.Clock
}

// Server is the HTTP surface: an http.Handler, and a server of its own.
type Server struct{}

// New returns a server over deps. It starts nothing.
func New(deps Deps, o Options) *Server {
	_, _ = deps, o
	return &Server{}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	http.NotFound(w, r)
}

// Serve answers requests on l until ctx ends; then it finishes the requests in
// flight and returns nil.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	<-ctx.Done()
	return l.Close()
}

// Shutdown finishes the requests in flight and closes the server.
func (s *Server) Shutdown(ctx context.Context) error {
	_ = ctx
	return nil
}
