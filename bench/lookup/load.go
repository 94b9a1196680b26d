package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/granary-ml/granary/internal/clock"
)

// load is a closed loop of requests that are rendered before, so that the loop
// costs next to nothing beside the server.
type load struct {
	addr     string
	requests [][]byte
}

// render writes the requests as they go over the wire.
func render(bodies [][]byte, path func(i int) string) [][]byte {
	out := make([][]byte, len(bodies))
	for i, body := range bodies {
		out[i] = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path(i), len(body), body)
	}
	return out
}

// conn is one kept connection.
type conn struct {
	net.Conn

	r *bufio.Reader
}

func (l load) dial(ctx context.Context) (*conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, "tcp", l.addr)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, r: bufio.NewReaderSize(c, 64<<10)}, nil
}

var errStatus = errors.New("not 200")

// ask sends one request and reads the head of the answer.
func (c *conn) ask(request []byte) (length int, err error) {
	if _, err := c.Write(request); err != nil {
		return 0, err
	}
	line, err := c.r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
		return 0, fmt.Errorf("%w: %s", errStatus, bytes.TrimSpace(line))
	}
	for {
		line, err := c.r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			return length, nil
		}
		if value, ok := strings.CutPrefix(string(line), "Content-Length: "); ok {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return 0, err
			}
		}
	}
}

// verify asks everything once and compares byte by byte.
func (l load) verify(ctx context.Context, want [][]byte) error {
	c, err := l.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	for i, request := range l.requests {
		n, err := c.ask(request)
		if err != nil {
			return err
		}
		got := make([]byte, n)
		if _, err := io.ReadFull(c.r, got); err != nil {
			return err
		}
		if !bytes.Equal(got, want[i]) {
			return fmt.Errorf("request %d of %s is answered differently", i, l.addr)
		}
	}
	return nil
}

// result is what a run showed.
type result struct {
	rate   float64 // requests per second
	allocs float64 // per request, of the whole process
}

// run asks as fast as it is answered.
func (l load) run(ctx context.Context, s shape) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, s.duration)
	defer cancel()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	started := clock.Real{}.Now()
	var done atomic.Int64
	errs := make([]error, s.conns)
	var loops sync.WaitGroup
	for i := range s.conns {
		loops.Go(func() {
			n, err := l.loop(ctx, i*len(l.requests)/s.conns)
			done.Add(n)
			errs[i] = err
		})
	}
	loops.Wait()
	took := clock.Real{}.Now().Sub(started).Seconds()
	runtime.ReadMemStats(&after)
	n := float64(done.Load())
	return result{rate: n / took, allocs: float64(after.Mallocs-before.Mallocs) / n}, errors.Join(errs...)
}

// loop asks over one connection until ctx ends.
func (l load) loop(ctx context.Context, from int) (int64, error) {
	c, err := l.dial(context.WithoutCancel(ctx))
	if err != nil {
		return 0, err
	}
	defer func() { _ = c.Close() }()
	var n int64
	for i := from; ctx.Err() == nil; i++ {
		length, err := c.ask(l.requests[i%len(l.requests)])
		if err != nil {
			return n, err
		}
		if _, err := c.r.Discard(length); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}
