package offline

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline/bucket"
)

// Options say how a store works. The zero value is the default.
type Options struct {
	// Clock gives the time of commits. Default: the machine's.
	Clock clock.Clock
	// TempDir is a local folder for the sorted runs of large appends. Default:
	// the folder of the system for temporary files. It may be shared by
	// processes; what dead ones left is removed by Open.
	TempDir string
	// MemoryLimit is about how many bytes one append or one read keeps in
	// memory. Default 256 MiB. Raising it makes fewer and longer runs, and fewer
	// passes over the history for a large spine.
	MemoryLimit int64
	// RowGroupRows is the number of rows of a row group of the files that are
	// written; wide rows make smaller groups. Default 131,072.
	RowGroupRows int
	// FileRows is the most rows of one file that is written. Default 16 Mi.
	FileRows int
	// Log takes what is worth knowing. Default: nothing is logged.
	Log *slog.Logger
}

// Store is the offline store. It is safe for concurrent use, also by several
// processes on one bucket.
type Store struct{}

// Open returns the store on a bucket, and removes the sorted runs that dead
// processes left in Options.TempDir. The bucket stays the caller's.
func Open(_ context.Context, _ bucket.Bucket, _ Options) (*Store, error) {
	return &Store{}, nil
}

// TablePath returns the prefix of the view's table in the bucket. The id keeps
// a view from ever seeing the rows of an earlier one of its name.
func TablePath(v *feature.BoundView) string {
	return fmt.Sprintf("tables/%s/%s-%d", v.Project, v.Name, v.ID)
}
