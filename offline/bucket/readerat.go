package bucket

import (
	"context"
	"errors"
	"io"

	"github.com/granary-ml/granary/feature"
)

// ReaderAt reads an object of known size at any offset, one range request a
// call: an io.ReaderAt, which is safe for concurrent use, and an io.ReadSeeker,
// which is not. Errors keep their codes; an object that is shorter than the
// size it was announced with is CodeDataLoss.
type ReaderAt struct {
	ctx  context.Context //nolint:containedctx // io.ReaderAt has no room for one; it lives as long as the scan that made it
	b    Bucket
	key  string
	size int64
	pos  int64
}

// NewReaderAt returns a reader of an object. The size comes from the table's
// log or from Stat; nothing is read before it is asked for.
func NewReaderAt(ctx context.Context, b Bucket, key string, size int64) *ReaderAt {
	return &ReaderAt{ctx: ctx, b: b, key: key, size: size}
}

// Size returns the size that the reader was made with.
func (r *ReaderAt) Size() int64 { return r.size }

// ReadAt implements io.ReaderAt.
func (r *ReaderAt) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, feature.Errorf(feature.CodeInvalidArgument, "bucket.ReadAt", r.key, "offset %d is negative", off)
	}
	want := min(int64(len(p)), r.size-off)
	if want <= 0 {
		if len(p) == 0 {
			return 0, nil
		}
		return 0, io.EOF
	}
	n, err := r.readFull(p[:want], off)
	if err == nil && want < int64(len(p)) {
		err = io.EOF
	}
	return n, err
}

func (r *ReaderAt) readFull(p []byte, off int64) (int, error) {
	body, err := r.b.ReadRange(r.ctx, r.key, off, int64(len(p)))
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(body, p)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = feature.Errorf(feature.CodeDataLoss, "bucket.ReadAt", r.key,
			"the object ends at byte %d where %d bytes are expected", off+int64(n), r.size)
	case err == nil:
		return n, body.Close()
	}
	return n, errors.Join(err, body.Close())
}

// Read implements io.Reader.
func (r *ReaderAt) Read(p []byte) (int, error) {
	n, err := r.ReadAt(p, r.pos)
	r.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// Seek implements io.Seeker.
func (r *ReaderAt) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += r.pos
	case io.SeekEnd:
		offset += r.size
	}
	if offset < 0 {
		return 0, feature.Errorf(feature.CodeInvalidArgument, "bucket.Seek", r.key, "position %d is negative", offset)
	}
	r.pos = offset
	return offset, nil
}
