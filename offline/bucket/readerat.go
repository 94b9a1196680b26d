package bucket

import (
	"context"

	"github.com/granary-ml/granary/feature"
)

// ReaderAt reads an object at any offset: an io.ReaderAt and io.ReadSeeker.
type ReaderAt struct{}

// NewReaderAt returns a reader of an object of a known size.
func NewReaderAt(_ context.Context, _ Bucket, _ string, _ int64) *ReaderAt { return &ReaderAt{} }

// ReadAt implements io.ReaderAt.
func (r *ReaderAt) ReadAt(_ []byte, _ int64) (int, error) {
	return 0, feature.Errorf(feature.CodeInternal, "bucket.ReadAt", "", "not built in")
}

// Read implements io.Reader.
func (r *ReaderAt) Read(p []byte) (int, error) { return r.ReadAt(p, 0) }

// Seek implements io.Seeker.
func (r *ReaderAt) Seek(_ int64, _ int) (int64, error) {
	return 0, feature.Errorf(feature.CodeInternal, "bucket.Seek", "", "not built in")
}
