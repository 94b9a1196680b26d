package api_test

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api"
)

// memoryListener is a network of its own: connections are pipes.
type memoryListener struct {
	conns chan net.Conn
	once  sync.Once
	done  chan struct{}
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return memoryAddr{} }

func (l *memoryListener) dial(ctx context.Context) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type memoryAddr struct{}

func (memoryAddr) Network() string { return "memory" }
func (memoryAddr) String() string  { return "memory" }

// host is a server that is being served in memory.
type host struct {
	*http.Client

	listener *memoryListener
	stop     context.CancelFunc // ends Serve
	stopped  <-chan error       // what Serve returned
}

// serve serves s until the test ends.
func serve(t *testing.T, s *api.Server) *host {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := newMemoryListener()
	ended := make(chan error, 1)
	var served sync.WaitGroup
	served.Go(func() { ended <- s.Serve(ctx, l) })
	transport := &http.Transport{
		DialContext:        func(ctx context.Context, _, _ string) (net.Conn, error) { return l.dial(ctx) },
		DisableCompression: true,
	}
	h := &host{Client: &http.Client{Transport: transport}, listener: l, stop: cancel, stopped: ended}
	h.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		require.Fail(t, "a redirect", "to %s", r.URL)
		return nil
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		cancel()
		served.Wait()
	})
	return h
}
