package delta

import (
	"context"
	"log/slog"
	"strings"
	"sync"

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
	// default. Fewer make a table open faster and commits slower now and then.
	// A negative number writes none.
	CheckpointEvery int
}

const defaultCheckpointEvery = 100

// Log is the log of one table. It is safe for concurrent use, and by many
// processes at once. It keeps the newest version that it has seen, so that a
// look for news costs one read.
type Log struct {
	b      bucket.Bucket
	prefix string // of the table, without a slash at the end
	dir    string // of the log, with one
	clock  clock.Clock
	log    *slog.Logger
	every  int64
	newID  func() string

	mu     sync.Mutex // guards what follows; never held during I/O
	state  *state     // of the newest version seen; nil before the first
	newest *Snapshot  // of state
}

// New returns the log of the table at a prefix of a bucket. It does no I/O.
func New(b bucket.Bucket, prefix string, o Options) *Log {
	if o.Clock == nil {
		o.Clock = clock.Real{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.CheckpointEvery == 0 {
		o.CheckpointEvery = defaultCheckpointEvery
	}
	prefix = strings.Trim(prefix, "/")
	dir := "_delta_log/"
	if prefix != "" {
		dir = prefix + "/" + dir
	}
	return &Log{
		b: b, prefix: prefix, dir: dir, clock: o.Clock, log: o.Log, every: int64(o.CheckpointEvery), newID: randomID,
	}
}

// Snapshot returns the newest version; CodeNotFound if there is no table. Once
// a table is open, it costs one read for each version that is new, and one more
// that finds none.
func (l *Log) Snapshot(ctx context.Context) (*Snapshot, error) {
	snap, err := l.cached(ctx)
	if err != nil {
		return nil, err
	}
	for {
		c, err := l.readCommit(ctx, snap.Version+1)
		if err != nil {
			if feature.CodeOf(err) == feature.CodeNotFound {
				return snap, nil
			}
			return nil, err
		}
		if snap, err = l.advance(c); err != nil {
			return nil, err
		}
	}
}

// cached returns the newest version seen, and opens the table if none was.
func (l *Log) cached(ctx context.Context) (*Snapshot, error) {
	if snap := l.seen(); snap != nil {
		return snap, nil
	}
	st, err := l.load(ctx, -1)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil || l.state.version < st.version {
		l.state, l.newest = st, st.snapshot()
	}
	return l.newest, nil
}

func (l *Log) seen() *Snapshot {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newest
}

// advance applies a commit if it is the next one, and returns the newest
// version.
func (l *Log) advance(c *commit) (*Snapshot, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == nil || c.version != l.state.version+1 {
		return l.newest, nil
	}
	if err := l.state.apply(c); err != nil {
		return nil, err
	}
	l.newest = l.state.snapshot()
	return l.newest, nil
}

// At returns the table at a version. CodeNotFound names one that is not there;
// one that is there no longer, because its log was cleaned up, is CodeDataLoss
// and names what is missing.
func (l *Log) At(ctx context.Context, version int64) (*Snapshot, error) {
	if version < 0 {
		return nil, feature.Errorf(feature.CodeNotFound, "delta.At", l.subject(), "there is no version %d", version)
	}
	snap, err := l.cached(ctx)
	if err == nil && snap.Version < version {
		snap, err = l.Snapshot(ctx)
	}
	switch {
	case err != nil:
		return nil, err
	case version == snap.Version:
		return snap, nil
	case version > snap.Version:
		return nil, feature.Errorf(feature.CodeNotFound, "delta.At", l.subject(),
			"there is no version %d (the newest is %d)", version, snap.Version)
	}
	st, err := l.load(ctx, version)
	if err != nil {
		return nil, err
	}
	return st.snapshot(), nil
}

// AsOf returns the last version whose commit time is at or before t;
// CodeNotFound if t is before the first. Times are those in the commits, which
// increase strictly; of a table whose other writers' clocks went back it is one
// of the versions that fit.
func (l *Log) AsOf(ctx context.Context, t feature.Timestamp) (*Snapshot, error) {
	snap, err := l.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	if snap.Time <= t {
		return snap, nil
	}
	// Below low, times are at or before t; at and above high, after it.
	low, high := int64(0), snap.Version
	first := snap.Time
	for low < high {
		mid := low + (high-low)/2
		c, err := l.readCommit(ctx, mid)
		switch {
		case err == nil && c.time > t:
			high, first = mid, c.time
		case err == nil, feature.CodeOf(err) == feature.CodeNotFound:
			low = mid + 1 // cleaned up: older than all that can be asked for
		default:
			return nil, err
		}
	}
	if high == 0 {
		return nil, feature.Errorf(feature.CodeNotFound, "delta.AsOf", l.subject(),
			"there is no version as of %s (the first was committed at %s)", t, first)
	}
	return l.At(ctx, high-1)
}

// History returns what the log says about its versions, newest first: at most
// limit of them, or all if it is not positive. It ends where older versions were
// cleaned up.
func (l *Log) History(ctx context.Context, limit int) ([]CommitInfo, error) {
	snap, err := l.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	var history []CommitInfo
	for v := snap.Version; v >= 0 && (limit <= 0 || len(history) < limit); v-- {
		c, err := l.readCommit(ctx, v)
		if err != nil {
			if feature.CodeOf(err) == feature.CodeNotFound {
				break
			}
			return nil, err
		}
		history = append(history, c.describe())
	}
	return history, nil
}

func (c *commit) describe() CommitInfo {
	out := CommitInfo{
		Version: c.version, Time: c.time, Operation: c.info.Operation, Engine: c.info.EngineInfo,
		BlindAppend: c.info.IsBlindAppend, Added: len(c.adds), Removed: len(c.removes),
	}
	if len(c.info.OperationParameters) > 0 {
		out.Parameters = make(map[string]string, len(c.info.OperationParameters))
		for k, raw := range c.info.OperationParameters {
			out.Parameters[k] = textOf(raw)
		}
	}
	return out
}
