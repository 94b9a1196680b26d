package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/strictjson"
)

// body is the decoded body of a request. It counts decoded bytes against a
// limit, so that a small body cannot unpack into a large one, and remembers
// the first error that is not the end: whoever reads it may take that error
// for one of the format, the middleware knows better.
type body struct {
	src   io.Reader
	left  int64
	limit int64
	err   error
	close func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	// One byte more than is left tells a body of the limit from a longer one.
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.src.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), tooLarge(b.limit)
	}
	b.left -= int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		b.err = bodyError(err)
		err = b.err
	}
	return n, err
}

func tooLarge(limit int64) error {
	return feature.Errorf(feature.CodeTooLarge, "", "body", "more than %d bytes, decoded", limit)
}

// bodyError gives an error of reading a body its code.
func bodyError(err error) error {
	var most *http.MaxBytesError
	switch {
	case feature.CodeOf(err) != feature.CodeInternal:
		return err
	case errors.As(err, &most):
		return tooLarge(most.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &statusError{status: http.StatusRequestTimeout, err: feature.Errorf(feature.CodeDeadlineExceeded, "", "body", "it comes too slowly: %w", err)}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return feature.Errorf(feature.CodeInvalidArgument, "", "body", "it ends too early")
	}
	return feature.Errorf(feature.CodeInvalidArgument, "", "body", "it cannot be read: %w", err)
}

// maxWindowBytes bounds the memory that one zstd body may ask for.
const maxWindowBytes = 8 << 20

// openBody returns the decoded body of a request. It is closed by the
// middleware.
func (s *Server) openBody(w *answer, r *http.Request, limit int64) (*body, error) {
	var raw io.Reader = http.MaxBytesReader(w.ResponseWriter, r.Body, limit)
	if w.route.class == stream {
		raw = &pacedReader{
			src: raw, conn: http.NewResponseController(w.ResponseWriter),
			idle: s.options.IdleTimeout, whole: s.options.StreamTimeout + s.options.IdleTimeout,
		}
	}
	b := &body{src: raw, left: limit, limit: limit}
	w.body = b
	switch coding := strings.ToLower(r.Header.Get("Content-Encoding")); coding {
	case "", "identity":
	case "gzip", "x-gzip":
		b.src = &gzipReader{src: raw}
	case "zstd":
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindowBytes), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, feature.Errorf(feature.CodeInternal, "", "body", "zstd: %w", err)
		}
		b.src, b.close = z, z.Close
	default:
		return nil, feature.Errorf(feature.CodeUnsupportedMediaType, "", "header Content-Encoding", "%q is not read (expected gzip, zstd or none)", clip(coding))
	}
	return b, nil
}

// gzipReader opens the gzip stream at the first read, so that a broken header
// is an error of reading.
type gzipReader struct {
	src io.Reader
	z   *gzip.Reader
}

// Read implements io.Reader.
func (g *gzipReader) Read(p []byte) (int, error) {
	if g.z == nil {
		z, err := gzip.NewReader(g.src)
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		g.z = z
	}
	return g.z.Read(p)
}

// pacedReader moves the connection's read deadline on with each read: a long
// body may take its time, but may not stand still. Between reads, and after the
// last, it is us who take the time.
type pacedReader struct {
	src   io.Reader
	conn  *http.ResponseController
	idle  time.Duration
	whole time.Duration
}

// Read implements io.Reader.
func (p *pacedReader) Read(b []byte) (int, error) {
	extend(p.conn.SetReadDeadline, p.idle)
	n, err := p.src.Read(b)
	if err == nil || errors.Is(err, io.EOF) {
		extend(p.conn.SetReadDeadline, p.whole)
	}
	return n, err
}

// extend sets a deadline of a connection. Connections live by the machine's
// clock. A response writer that has no deadlines has no slow client either.
func extend(set func(time.Time) error, by time.Duration) {
	_ = set(clock.Real{}.Now().Add(by))
}

// readJSON reads the JSON body of a request, strictly.
func (s *Server) readJSON(w *answer, r *http.Request, dst any) error {
	return s.withJSON(w, r, func(data []byte) error { return strictjson.Unmarshal(data, dst) })
}

// withJSON reads the whole JSON body into memory that is used again after use
// returns.
func (s *Server) withJSON(w *answer, r *http.Request, use func([]byte) error) error {
	if err := wantJSON(r); err != nil {
		return err
	}
	b, err := s.openBody(w, r, s.options.MaxBodyBytes)
	if err != nil {
		return err
	}
	buf := s.buffer()
	defer s.release(buf)
	if _, err := buf.ReadFrom(b); err != nil {
		return err
	}
	return use(buf.Bytes())
}

// maxKeptBytes is how large a buffer may be that is kept for the next request.
const maxKeptBytes = 1 << 20

func (s *Server) buffer() *bytes.Buffer {
	if buf, ok := s.buffers.Get().(*bytes.Buffer); ok {
		return buf
	}
	return &bytes.Buffer{}
}

func (s *Server) release(buf *bytes.Buffer) {
	if buf.Cap() <= maxKeptBytes {
		buf.Reset()
		s.buffers.Put(buf)
	}
}

// spoolBytes is how much of a body is held in memory before the rest goes to a
// temporary file.
const spoolBytes = 8 << 20

// spool reads a whole body before the first byte of the answer. HTTP/1 clients
// often send all of a body before they read, and would wait for us while we
// wait for them. The reader must be closed.
func (s *Server) spool(ctx context.Context, b io.Reader) (io.ReadCloser, error) {
	head, err := io.ReadAll(io.LimitReader(b, spoolBytes))
	if err != nil {
		return nil, err
	}
	if len(head) < spoolBytes {
		return io.NopCloser(bytes.NewReader(head)), nil
	}
	file, err := os.CreateTemp(s.options.TempDir, "granary-body-*")
	if err != nil {
		return nil, err
	}
	// The name goes at once, the bytes with the last descriptor.
	if err := os.Remove(file.Name()); err != nil {
		s.log.WarnContext(ctx, "temporary file left", "error", err)
	}
	_, err = io.Copy(file, b)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &spooled{Reader: io.MultiReader(bytes.NewReader(head), file), file: file}, nil
}

type spooled struct {
	io.Reader

	file *os.File
}

// Close gives the disk space back.
func (s *spooled) Close() error {
	if err := s.file.Close(); err != nil {
		return fmt.Errorf("temporary file: %w", err)
	}
	return nil
}
