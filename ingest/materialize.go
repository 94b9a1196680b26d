package ingest

import (
	"context"
	"errors"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// MaterializeRequest asks to load the newest rows of a view into the online
// store.
type MaterializeRequest struct {
	View *feature.BoundView
	// Full reads the whole table; otherwise what has arrived since the last run.
	Full bool
	// Start, if given, loads the rows of [Start, End) of the whole table and
	// leaves untouched what the last run has reached.
	Start *feature.Timestamp
	// End bounds the event timestamps, exclusive. Nil or the future is now.
	End *feature.Timestamp
	// Progress, if given, is called from the calling goroutine after each batch.
	Progress func(wire.ViewProgress)
}

// Materialize loads the newest row of each entity into the online store. It may
// be killed at any moment and run again, and run twice: the result is that of
// one run.
func (i *Ingester) Materialize(_ context.Context, _ MaterializeRequest) (wire.ViewProgress, error) {
	return wire.ViewProgress{}, errors.ErrUnsupported
}
