package sdk

import (
	"bytes"
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/granary-ml/granary/feature"
)

// The media types of bodies and answers.
const (
	mediaJSON    = "application/json"
	mediaNDJSON  = "application/x-ndjson"
	mediaCSV     = "text/csv"
	mediaArrow   = "application/vnd.apache.arrow.stream"
	mediaParquet = "application/vnd.apache.parquet"
)

// mediaType returns the media type of a format, or an empty string.
func mediaType(f feature.Format) string {
	switch f {
	case feature.FormatJSON:
		return mediaJSON
	case feature.FormatNDJSON:
		return mediaNDJSON
	case feature.FormatCSV:
		return mediaCSV
	case feature.FormatArrow:
		return mediaArrow
	case feature.FormatParquet:
		return mediaParquet
	case feature.FormatByName:
	}
	return ""
}

// replayBytes is how much of a streamed body is kept so that it can be sent
// again. A longer one is sent once, unless it can be rewound.
const replayBytes = 8 << 20

// body is what a request sends. A body of data, or one that can be rewound, may
// be sent any number of times.
type body struct {
	data   []byte
	rewind io.ReadSeeker
	start  int64
	stream io.Reader // nil once it was sent
}

func bytesBody(data []byte) *body { return &body{data: data} }

// readerBody makes a body of what is left of r.
func readerBody(r io.Reader) (*body, error) {
	if s, ok := r.(io.ReadSeeker); ok {
		start, err := s.Seek(0, io.SeekCurrent)
		if err == nil {
			return &body{rewind: s, start: start}, nil
		}
	}
	head, err := io.ReadAll(io.LimitReader(r, replayBytes))
	if err != nil {
		return nil, err
	}
	if len(head) < replayBytes {
		return bytesBody(head), nil
	}
	return &body{stream: io.MultiReader(bytes.NewReader(head), r)}, nil
}

// again tells whether the body can be sent once more.
func (b *body) again() bool { return b == nil || b.data != nil || b.rewind != nil || b.stream != nil }

// open returns the body from its start. The HTTP client closes what it sends,
// which must not close what the caller handed in.
func (b *body) open() (io.ReadCloser, error) {
	switch {
	case b.rewind != nil:
		if _, err := b.rewind.Seek(b.start, io.SeekStart); err != nil {
			return nil, err
		}
		return io.NopCloser(b.rewind), nil
	case b.stream != nil:
		r := b.stream
		b.stream = nil
		return io.NopCloser(r), nil
	case b.data != nil:
		return io.NopCloser(bytes.NewReader(b.data)), nil
	}
	return nil, errors.New("the body was sent, and cannot be sent again")
}

// encoder is an Arrow IPC stream of the records of a reader, made as it is read.
type encoder struct {
	records array.RecordReader
	buf     bytes.Buffer
	w       *ipc.Writer
	err     error
}

func newEncoder(records array.RecordReader) *encoder {
	e := &encoder{records: records}
	e.w = ipc.NewWriter(&e.buf, ipc.WithSchema(records.Schema()))
	return e
}

// Read implements io.Reader.
func (e *encoder) Read(p []byte) (int, error) {
	for e.buf.Len() == 0 && e.err == nil {
		e.err = e.step()
	}
	if e.buf.Len() > 0 {
		return e.buf.Read(p)
	}
	return 0, e.err
}

// step encodes one record, or the end of the stream, after which it is io.EOF.
func (e *encoder) step() error {
	if e.records.Next() {
		return e.w.Write(e.records.Record())
	}
	if err := e.records.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if err := e.w.Close(); err != nil {
		return err
	}
	return io.EOF
}
