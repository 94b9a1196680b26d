package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// PushRequest asks to take rows that a client sends.
type PushRequest struct {
	View *feature.BoundView
	// Format is how Body is written; it is needed.
	Format  feature.Format
	Body    io.Reader
	Options wire.PushOptions
}

// Push takes the rows of a body. They go offline first and are durable there
// before they go online; an error tells which side has landed. A push that is
// repeated with its idempotency key adds nothing offline, and finishes what was
// missing online.
func (i *Ingester) Push(_ context.Context, _ PushRequest) (wire.PushResult, error) {
	return wire.PushResult{}, errors.ErrUnsupported
}
