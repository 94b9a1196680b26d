package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
)

// SpineOptions say how a spine is read.
type SpineOptions struct {
	// Format is how the spine is written. Empty: by its name.
	Format feature.Format
	// Name is what errors call the spine. Default: its path, or "spine".
	Name string
	CSV  feature.CSVOptions
	// Keys are the join keys of the views that are asked for: columns of these
	// names have their types.
	Keys []feature.JoinKey
	// TimeColumn is a timestamp. Default "event_timestamp".
	TimeColumn string
	// TempDir is a local folder for a spine that must be read twice. Default:
	// the system's.
	TempDir string
}

// OpenSpine opens a spine that is a local file. The reader must be released;
// an error that ends it early is told by its Err.
func OpenSpine(_ context.Context, _ string, _ SpineOptions) (array.RecordReader, error) {
	return nil, errors.ErrUnsupported
}

// ReadSpine reads a spine from a stream, all of it before it returns unless it
// is an Arrow stream. See OpenSpine.
func ReadSpine(_ context.Context, _ io.Reader, _ SpineOptions) (array.RecordReader, error) {
	return nil, errors.ErrUnsupported
}
