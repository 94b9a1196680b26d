package ingest

import (
	"context"
	"log/slog"
	"time"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/online"
)

// Offline is what ingest needs of the offline store; *offline.Store has it.
type Offline interface {
	Append(ctx context.Context, v *feature.BoundView, o offline.AppendOptions) (*offline.Appender, error)
	Landed(ctx context.Context, v *feature.BoundView, idempotencyKey string) (version int64, ok bool, err error)
	Newest(ctx context.Context, v *feature.BoundView, req offline.NewestRequest) (*offline.NewestReader, error)
	State(ctx context.Context, v *feature.BoundView) (offline.TableState, error)
}

// Online is what ingest needs of the online store; every online.Store has it.
type Online interface {
	Write(ctx context.Context, view feature.ViewID, rows []online.Row) (online.WriteStats, error)
	Mark(ctx context.Context, view feature.ViewID) (online.Mark, bool, error)
	SetMark(ctx context.Context, view feature.ViewID, m online.Mark) error
}

// DefaultMaxFuture is how far ahead of the clock a pushed row may be dated.
const DefaultMaxFuture = time.Minute

// Options are what an Ingester works with.
type Options struct {
	Offline Offline
	// Online may be nil where nothing is served: pushes then go offline only,
	// and Materialize is refused.
	Online Online
	// Clock gives the time of ingestion. Default: the machine's.
	Clock clock.Clock
	// OpenBucket opens the bucket of an input that is a URL. Default:
	// bucket.Open.
	OpenBucket func(ctx context.Context, url string) (bucket.Bucket, error)
	// MaxFuture is how far ahead of the clock a pushed row may be dated. 0 is
	// DefaultMaxFuture. Rows of files have no such limit.
	MaxFuture time.Duration
	// ChunkBytes is how much text becomes one batch. 0 is 1 MiB. Raising it
	// takes more memory per core and fewer calls of the store.
	ChunkBytes int
	// MaxRecordBytes is the largest single record of text; a longer one is
	// taken for a quote that is not closed. 0 is 64 MiB; at most 128 MiB.
	MaxRecordBytes int
	// WriteRows is how many rows go to the online store at a time. 0 is 10,000.
	WriteRows int
	// TempDir is a local folder for bodies that must be read from their end.
	// Default: the system's.
	TempDir string
	// Log takes what is worth knowing; it never gets a value of a row. Default:
	// nothing is logged.
	Log *slog.Logger
}

// Ingester brings rows in. It is safe for concurrent use; it holds nothing
// between calls.
type Ingester struct {
	o Options
}

// New returns an ingester.
func New(o Options) *Ingester {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.OpenBucket == nil {
		o.OpenBucket = func(ctx context.Context, url string) (bucket.Bucket, error) {
			return bucket.Open(ctx, url, bucket.Options{})
		}
	}
	if o.MaxFuture == 0 {
		o.MaxFuture = DefaultMaxFuture
	}
	if o.ChunkBytes == 0 {
		o.ChunkBytes = defaultChunkBytes
	}
	if o.MaxRecordBytes == 0 {
		o.MaxRecordBytes = defaultMaxRecordBytes
	}
	// A chunk is read in steps that double, and its places must fit a span.
	o.ChunkBytes, o.MaxRecordBytes = min(o.ChunkBytes, mostRecordBytes), min(o.MaxRecordBytes, mostRecordBytes)
	if o.WriteRows == 0 {
		o.WriteRows = 10_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Ingester{o: o}
}

func (i *Ingester) now() feature.Timestamp { return feature.FromTime(i.o.Clock.Now()) }

const (
	defaultChunkBytes     = 1 << 20
	defaultMaxRecordBytes = 64 << 20
	mostRecordBytes       = 128 << 20
)

// Progress is how far an ingest is.
type Progress struct {
	Rows       int64  // read so far
	Bytes      int64  // of the inputs as they lie, packed or not
	TotalBytes int64  // of all inputs
	File       string // the input that is being read
}
