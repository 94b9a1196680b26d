package sdk

import (
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// Historical joins features to a spine, point-in-time: each row of the spine
// gets the values that were true at its time. The answer has the spine's
// columns, untouched and in order, then the features. The caller keeps the
// spine, reads the answer to its end, looks at its Err, and releases it; ending
// ctx ends the answer with an error.
func (c *Client) Historical(ctx context.Context, spine array.RecordReader, o wire.HistoricalOptions) (array.RecordReader, error) {
	return c.HistoricalFrom(ctx, feature.FormatArrow, newEncoder(spine), o)
}

// HistoricalFrom is Historical with a spine that is still written in a format;
// the server reads it.
func (c *Client) HistoricalFrom(ctx context.Context, format feature.Format, spine io.Reader, o wire.HistoricalOptions) (array.RecordReader, error) {
	b, err := readerBody(spine)
	if err != nil {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "sdk.Historical", "spine", "%w", err)
	}
	return c.records(ctx, request{
		method: http.MethodPost, path: c.inProject("/features/historical"), query: o.Query(),
		body: b, contentType: mediaType(format), safe: true,
	})
}

// Export reads the rows of a view, file by file of its table. The caller reads
// to the end, looks at Err, and releases the reader.
func (c *Client) Export(ctx context.Context, view string, o wire.ExportOptions) (array.RecordReader, error) {
	return c.records(ctx, request{
		method: http.MethodGet, path: c.inProject("/views/%s/rows", view), query: o.Query(), safe: true,
	})
}

// records sends a request whose answer is an Arrow stream.
func (c *Client) records(ctx context.Context, r request) (array.RecordReader, error) {
	r.accept = mediaArrow
	resp, err := c.send(ctx, r)
	if err != nil {
		return nil, err
	}
	watched := &watchedBody{body: resp.Body}
	reader, err := ipc.NewReader(watched)
	if err != nil {
		_ = resp.Body.Close()
		return nil, cut(ctx, errors.Join(watched.err, err))
	}
	return &stream{Reader: reader, ctxErr: ctx.Err, body: watched, owners: 1}, nil
}

// cut is the error of an answer that ends before its end.
func cut(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return feature.Errorf(feature.CodeOf(ctx.Err()), "sdk", "", "%w", ctx.Err())
	}
	return feature.Errorf(feature.CodeUnavailable, "sdk", "", "the answer was cut: %w", err)
}

// watchedBody remembers the first error that was not the end. The Arrow reader
// takes some of them for the end of the stream.
type watchedBody struct {
	body io.ReadCloser
	err  error
}

// Read implements io.Reader.
func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && w.err == nil {
		w.err = err
	}
	return n, err
}

// stream is an answer in Arrow; the last Release closes it. It belongs to one
// goroutine.
type stream struct {
	*ipc.Reader
	ctxErr func() error
	body   *watchedBody
	owners int
}

// Retain adds an owner.
func (s *stream) Retain() {
	s.owners++
	s.Reader.Retain()
}

// Err returns why the stream ended before its end, or nil.
func (s *stream) Err() error {
	err := s.body.err
	if err == nil {
		err = s.Reader.Err()
	}
	switch {
	case err == nil || errors.Is(err, io.EOF) && s.body.err == nil:
		return nil
	case s.ctxErr() != nil:
		return feature.Errorf(feature.CodeOf(s.ctxErr()), "sdk", "", "%w", s.ctxErr())
	}
	return feature.Errorf(feature.CodeUnavailable, "sdk", "", "the answer was cut: %w", err)
}

// Release takes an owner off.
func (s *stream) Release() {
	s.owners--
	if s.owners == 0 {
		_ = s.body.body.Close()
	}
	s.Reader.Release()
}
