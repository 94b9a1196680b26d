package offline

import (
	"context"

	"github.com/granary-ml/granary/api/wire"
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
func (s *Store) State(ctx context.Context, v *feature.BoundView) (TableState, error) {
	t, err := s.open(ctx, v, wire.AsOf{})
	if err != nil {
		return TableState{}, err
	}
	out := TableState{Version: t.version(), Files: len(t.files)}
	if t.snap != nil {
		out.Time = t.snap.Time
	}
	for _, f := range t.files {
		out.Rows += max(f.Stats.Rows, 0)
		out.Bytes += f.Size
	}
	return out, nil
}
