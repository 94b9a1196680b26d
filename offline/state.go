package offline

import (
	"context"
	"errors"

	"github.com/granary-ml/granary/feature"
)

// TableState is what a table is at its newest version.
type TableState struct {
	Version int64             // -1: there is no table yet
	Time    feature.Timestamp // of the commit
	Rows    int64             // as far as the log tells
	Bytes   int64
	Files   int
}

// State returns the state of the table of a view.
func (s *Store) State(_ context.Context, _ *feature.BoundView) (TableState, error) {
	return TableState{}, errors.ErrUnsupported
}
