package offline

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
)

// Mark is how far a materialization has come: it has seen the rows of the files
// up to a version whose event timestamps are before Through. The zero Mark has
// seen nothing.
type Mark struct {
	Version int64
	Through feature.Timestamp
}

// NewestRequest selects what Newest reads.
type NewestRequest struct {
	// After is what has been read before; the zero Mark is nothing.
	After Mark
	// Before bounds the event timestamps, exclusive.
	Before feature.Timestamp
	// Interval, if given, bounds the event timestamps, too.
	Interval *feature.Interval
}

// NewestReader streams the rows that Newest selects.
type NewestReader struct {
	array.RecordReader
}

// TotalRows returns how many rows lie in the files that are read: at least as
// many as will come.
func (r *NewestReader) TotalRows() int64 { return 0 }

// Version returns the version of the table that is read, -1 if there is none.
func (r *NewestReader) Version() int64 { return -1 }

// Newest reads the newest version of a table: of each file, in commit order,
// the newest row of each key that After has not seen and whose event timestamp
// is before Before. A reader that keeps, of the rows of a key, the newer by
// feature.Newer ends up with the state of the table. The schema is that of
// columns.TableSchema.
func (s *Store) Newest(_ context.Context, _ *feature.BoundView, _ NewestRequest) (*NewestReader, error) {
	return nil, errors.ErrUnsupported
}
