package sdk

import (
	"bytes"
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
		return nil, cut(ctx.Err(), err)
	}
	return &stream{Reader: reader, cut: func(err error) error { return cut(ctx.Err(), err) }, body: watched, owners: 1}, nil
}

// cut is the error of an answer that ends before its end; if it was the context
// that ended it, that is what is told.
func cut(ctxErr, err error) error {
	if ctxErr != nil {
		return feature.Errorf(feature.CodeOf(ctxErr), "sdk", "", "%w", ctxErr)
	}
	return feature.Errorf(feature.CodeUnavailable, "sdk", "", "the answer was cut: %w", err)
}

// endOfStream is the mark that ends an Arrow stream. The Arrow reader takes a
// body that ends between two batches for a whole one, mark or not; we do not: a
// proxy that loses its server may end an answer in good form.
var endOfStream = []byte{0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// watchedBody remembers the last bytes that were read.
type watchedBody struct {
	body io.ReadCloser
	tail []byte
}

// Read implements io.Reader.
func (w *watchedBody) Read(p []byte) (int, error) {
	n, err := w.body.Read(p)
	w.tail = append(w.tail, p[max(0, n-len(endOfStream)):n]...)
	w.tail = w.tail[max(0, len(w.tail)-len(endOfStream)):]
	return n, err
}

// stream is an answer in Arrow; the last Release closes it. It belongs to one
// goroutine.
type stream struct {
	*ipc.Reader
	cut    func(error) error
	body   *watchedBody
	owners int
	ended  bool // Next has said so
}

// Retain adds an owner.
func (s *stream) Retain() {
	s.owners++
	s.Reader.Retain()
}

// Next tells whether there is another batch.
func (s *stream) Next() bool {
	more := s.Reader.Next()
	s.ended = !more
	return more
}

// Err returns why the stream ended before its end, or nil.
func (s *stream) Err() error {
	err := s.Reader.Err()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && s.ended && !bytes.Equal(s.body.tail, endOfStream) {
		err = errors.New("it has no end")
	}
	if err == nil {
		return nil
	}
	return s.cut(err)
}

// Release takes an owner off.
func (s *stream) Release() {
	s.owners--
	if s.owners == 0 {
		_ = s.body.body.Close()
	}
	s.Reader.Release()
}
