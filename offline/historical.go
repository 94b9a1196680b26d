package offline

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// HistoricalRequest asks for the features of a spine.
type HistoricalRequest struct {
	// Spine are the entity rows with their times. It is read once, from the
	// call to the end of the answer, and stays the caller's to release.
	Spine array.RecordReader
	// TimeColumn names the spine's time column, "event_timestamp" if empty.
	TimeColumn string
	Selection  feature.Selection
	// FullNames names feature columns view__feature.
	FullNames bool
	// KnownAt leaves out rows that were created after the spine's time.
	KnownAt bool
	AsOf    wire.AsOf
}

// Historical joins the features of a selection to a spine, point-in-time: n
// rows in, n rows out, in the spine's order, the spine's columns untouched and
// then the features.
func (s *Store) Historical(_ context.Context, _ HistoricalRequest) (array.RecordReader, error) {
	return nil, errors.ErrUnsupported
}
