package offline

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/internal/runs"
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

// Defaults of Options.
const (
	DefaultMemoryLimit  = 256 << 20
	DefaultRowGroupRows = 131072
	DefaultFileRows     = 16 << 20
)

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	if o.MemoryLimit <= 0 {
		o.MemoryLimit = DefaultMemoryLimit
	}
	if o.RowGroupRows <= 0 {
		o.RowGroupRows = DefaultRowGroupRows
	}
	if o.FileRows <= 0 {
		o.FileRows = DefaultFileRows
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Store is the offline store. It is safe for concurrent use, also by several
// processes on one bucket.
type Store struct {
	bucket bucket.Bucket
	o      Options

	mu   sync.Mutex
	logs map[string]*delta.Log // by table path; each remembers its latest snapshot
}

// Open returns the store on a bucket, and removes the sorted runs that dead
// processes left in Options.TempDir. The bucket stays the caller's.
func Open(ctx context.Context, b bucket.Bucket, o Options) (*Store, error) {
	o = o.withDefaults()
	// Left-over runs cost space, not answers: what cannot be removed may stay.
	removed, err := runs.Sweep(o.TempDir)
	if err != nil {
		o.Log.WarnContext(ctx, "sorted runs of dead processes could not be removed", "folder", o.TempDir, "error", err)
	}
	if removed > 0 {
		o.Log.InfoContext(ctx, "sorted runs of dead processes are removed", "folder", o.TempDir, "count", removed)
	}
	return &Store{bucket: b, o: o, logs: map[string]*delta.Log{}}, nil
}

// log returns the log of the view's table.
func (s *Store) log(v *feature.BoundView) *delta.Log {
	path := TablePath(v)
	s.mu.Lock()
	defer s.mu.Unlock()
	log, ok := s.logs[path]
	if !ok {
		log = delta.New(s.bucket, path, delta.Options{Clock: s.o.Clock, Log: s.o.Log})
		s.logs[path] = log
	}
	return log
}

// TablePath returns the prefix of the view's table in the bucket. The id keeps
// a view from ever seeing the rows of an earlier one of its name.
func TablePath(v *feature.BoundView) string {
	return fmt.Sprintf("tables/%s/%s-%d", v.Project, v.Name, v.ID)
}
