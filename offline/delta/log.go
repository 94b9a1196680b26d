package delta

import (
	"context"
	"log/slog"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline/bucket"
)

// Options configures a Log. The zero value is good.
type Options struct {
	// Clock gives commits their time; the default is the machine's.
	Clock clock.Clock
	// Log receives what is odd but harmless, such as a checkpoint that could
	// not be written. The default drops it.
	Log *slog.Logger
	// CheckpointEvery is the number of versions between checkpoints: 100 by
	// default. A negative number writes none.
	CheckpointEvery int
}

// Log is the log of one table. It is safe for concurrent use.
type Log struct{}

// New returns the log of the table at a prefix. It does no I/O.
func New(_ bucket.Bucket, _ string, _ Options) *Log { return &Log{} }

func notBuilt(op string) error { return feature.Errorf(feature.CodeInternal, op, "", "not built in") }

// Create makes the table: version 0. CodeAlreadyExists if there is one.
func (l *Log) Create(_ context.Context, _ Metadata) (int64, error) {
	return 0, notBuilt("delta.Create")
}

// Snapshot returns the newest version; CodeNotFound if there is no table.
func (l *Log) Snapshot(_ context.Context) (*Snapshot, error) { return nil, notBuilt("delta.Snapshot") }

// At returns the table at a version; CodeNotFound names one that is not there.
func (l *Log) At(_ context.Context, _ int64) (*Snapshot, error) { return nil, notBuilt("delta.At") }

// AsOf returns the last version that was committed at or before t; CodeNotFound
// if t is before the first.
func (l *Log) AsOf(_ context.Context, _ feature.Timestamp) (*Snapshot, error) {
	return nil, notBuilt("delta.AsOf")
}

// Commit writes a version.
func (l *Log) Commit(_ context.Context, _ Transaction) (int64, error) {
	return 0, notBuilt("delta.Commit")
}

// History returns what the log says about its versions, newest first; all of
// them if limit is not positive.
func (l *Log) History(_ context.Context, _ int) ([]CommitInfo, error) {
	return nil, notBuilt("delta.History")
}
