package offline

import (
	"context"
	"errors"

	"github.com/granary-ml/granary/feature"
)

// EraseResult is what an erasure did.
type EraseResult struct {
	Rows    int64 // that the newest version does not hold any more
	Version int64 // of the table afterwards, -1 if there is none
	Files   int   // that were rewritten or dropped
}

// Erase removes all rows of entities from the newest version of a table, by
// rewriting the files that hold them, in one commit. Older versions still show
// them until their files are removed.
func (s *Store) Erase(_ context.Context, _ *feature.BoundView, _ []feature.EntityKey) (EraseResult, error) {
	return EraseResult{}, errors.ErrUnsupported
}
