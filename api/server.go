package api

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
)

// Deps are what a Server stands on.
type Deps struct {
	// Service answers the requests. The server does not close it.
	Service Service
	// Collectors are shown at /metrics beside the server's own.
	Collectors []prometheus.Collector
}

// Options are the limits of a Server; the zero value is the default.
type Options struct {
	// MaxBodyBytes bounds a JSON body, decoded; it is held in memory. 0 is
	// 32 MiB.
	MaxBodyBytes int64
	// MaxStreamBytes bounds the body of a push or of a spine, decoded. 0 is
	// 4 GiB.
	MaxStreamBytes int64
	// RequestTimeout bounds a request that is not a stream, from its first byte
	// to the last of its answer. 0 is 30 s.
	RequestTimeout time.Duration
	// StreamTimeout bounds a request whose body or answer is rows. 0 is 1 h.
	StreamTimeout time.Duration
	// IdleTimeout bounds how long a stream may stand still, and how long a
	// connection is kept open between requests. 0 is 60 s.
	IdleTimeout time.Duration
	// ShutdownTimeout bounds how long a stop waits for requests in flight; then
	// they are cut off. 0 is 30 s.
	ShutdownTimeout time.Duration
	// TempDir is a local folder for bodies that are larger than memory is worth.
	// Default: the system's.
	TempDir string
	// Version is what /version answers.
	Version wire.Version
	// Log takes faults, under the request id; it never gets a value of a row.
	// Default: nothing is logged.
	Log *slog.Logger
	// Clock measures requests. Default: the machine's.
	Clock clock.Clock
}

func (o Options) withDefaults() Options {
	o.MaxBodyBytes = orDefault(o.MaxBodyBytes, 32<<20)
	o.MaxStreamBytes = orDefault(o.MaxStreamBytes, 4<<30)
	o.RequestTimeout = orDefault(o.RequestTimeout, 30*time.Second)
	o.StreamTimeout = orDefault(o.StreamTimeout, time.Hour)
	o.IdleTimeout = orDefault(o.IdleTimeout, time.Minute)
	o.ShutdownTimeout = orDefault(o.ShutdownTimeout, 30*time.Second)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	return o
}

func orDefault[T int64 | time.Duration](v, otherwise T) T {
	if v == 0 {
		return otherwise
	}
	return v
}

// Server is the HTTP surface: an http.Handler, and a server of its own. It is
// safe for concurrent use.
type Server struct {
	service Service
	options Options
	log     *slog.Logger
	clock   clock.Clock
	metrics *metrics
	router  *mux.Router
	methods []string // of all routes
	http    *http.Server
	buffers sync.Pool // of *bytes.Buffer

	idPrefix string
	requests atomic.Uint64
	draining atomic.Bool
}

// New returns a server over deps. It starts nothing.
func New(deps Deps, o Options) *Server {
	o = o.withDefaults()
	s := &Server{
		service:  deps.Service,
		options:  o,
		log:      o.Log,
		clock:    o.Clock,
		metrics:  newMetrics(deps.Service, deps.Collectors),
		idPrefix: strings.ToLower(rand.Text()[:10]),
	}
	s.http = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: o.RequestTimeout,
		ReadTimeout:       o.RequestTimeout,
		// The answer of a request that used up its own time must get out.
		WriteTimeout: 2 * o.RequestTimeout,
		IdleTimeout:  o.IdleTimeout,
		ErrorLog:     slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	s.route()
	return s
}

// route builds the router from the table. Paths are taken as they come: the
// router would answer one that could be cleaner with a redirect.
func (s *Server) route() {
	s.router = mux.NewRouter().SkipClean(true)
	for _, rt := range routes() {
		methods := []string{rt.method}
		if rt.method == http.MethodGet {
			methods = append(methods, http.MethodHead)
		}
		s.router.Handle(rt.path, s.endpoint(&rt)).Methods(methods...)
		for _, m := range methods {
			if !slices.Contains(s.methods, m) {
				s.methods = append(s.methods, m)
			}
		}
	}
	slices.Sort(s.methods)
	other := s.endpoint(&route{name: "unrouted", params: query, handle: func(s *Server, _ context.Context, w *answer, r *http.Request) error {
		return s.unrouted(w, r)
	}})
	// The Feast-compatible surface of the root will stand here, before other.
	s.router.NotFoundHandler = other
	s.router.MethodNotAllowedHandler = other
}

// methodsOf returns the methods that the path of a request knows.
func (s *Server) methodsOf(r *http.Request) []string {
	var allowed []string
	probe := *r
	for _, method := range s.methods {
		probe.Method = method
		var match mux.RouteMatch
		if s.router.Match(&probe, &match) && match.Route != nil && match.MatchErr == nil {
			allowed = append(allowed, method)
		}
	}
	return allowed
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.router.ServeHTTP(w, r) }

// Serve answers requests on l until ctx ends. Then it tells so at /readyz,
// takes no new connections, finishes the requests in flight and returns nil,
// or an error if they took longer than ShutdownTimeout and were cut off. It
// closes l. A server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	served := make(chan error, 1)
	go func() { served <- s.http.Serve(l) }()
	select {
	case err := <-served:
		return feature.Errorf(feature.CodeUnavailable, "api.Serve", "listener "+l.Addr().String(), "%w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.ShutdownTimeout)
	defer cancel()
	err := s.Shutdown(stop)
	if ended := <-served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// Shutdown takes no new connections and waits for the requests in flight as
// long as ctx allows; then it cuts them off and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = errors.Join(feature.Errorf(feature.CodeOf(err), "api.Shutdown", "", "requests were cut off: %w", err), s.http.Close())
	}
	return err
}
