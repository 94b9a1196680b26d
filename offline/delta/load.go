package delta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"golang.org/x/sync/errgroup"

	"github.com/granary-ml/granary/feature"
)

// A table is opened from its newest checkpoint and the commits after it. Any of
// this may be damaged by a writer that died, or cleaned up by another engine:
//
//   - _last_checkpoint is a hint where to begin the listing. It may be missing,
//     cut, or name a checkpoint that is gone.
//   - A checkpoint may be half written, or miss parts: the next older one serves,
//     or none at all.
//   - Commits before the checkpoint may be gone.
//   - A commit that is missing after the checkpoint is a gap, and is refused: the
//     version that it would make is not known to anybody.

const lastCheckpointFile = "_last_checkpoint"

func commitFile(version int64) string { return fmt.Sprintf("%020d.json", version) }

// listing is what the log folder holds.
type listing struct {
	newest      int64 // commit; -1 if there is none
	checkpoints []checkpointRef
	whole       bool // listed from the beginning
}

// checkpointRef names the files of a checkpoint that has all its parts.
type checkpointRef struct {
	version int64
	files   []string
}

func (l *Log) list(ctx context.Context, from int64) (listing, error) {
	out := listing{newest: -1, whole: from <= 0}
	after := ""
	if !out.whole {
		after = l.dir + fmt.Sprintf("%020d", from)
	}
	parts := map[checkpointRefKey][]string{}
	for o, err := range l.b.List(ctx, l.dir, after) {
		if err != nil {
			return listing{}, err
		}
		name := strings.TrimPrefix(o.Key, l.dir)
		if v, ok := parseCommitName(name); ok {
			out.newest = max(out.newest, v)
		} else if key, ok := parseCheckpointName(name); ok {
			parts[key] = append(parts[key], name)
		}
	}
	for key, files := range parts {
		if len(files) == key.parts {
			slices.Sort(files)
			out.checkpoints = append(out.checkpoints, checkpointRef{version: key.version, files: files})
		}
	}
	// Newest first; of one version, the one in one piece.
	slices.SortFunc(out.checkpoints, func(a, b checkpointRef) int {
		return cmp.Or(cmp.Compare(b.version, a.version), cmp.Compare(len(a.files), len(b.files)))
	})
	return out, nil
}

func parseCommitName(name string) (int64, bool) {
	digits, ok := strings.CutSuffix(name, ".json")
	return parseDigits(digits, 20, ok)
}

func parseDigits(digits string, size int, ok bool) (int64, bool) {
	if !ok || len(digits) != size || strings.Trim(digits, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseInt(digits, 10, 64)
	return v, err == nil
}

type checkpointRefKey struct {
	version int64
	parts   int
}

// parseCheckpointName reads "<version>.checkpoint.parquet" and
// "<version>.checkpoint.<part>.<parts>.parquet".
func parseCheckpointName(name string) (checkpointRefKey, bool) {
	fields := strings.Split(name, ".")
	n := len(fields)
	if (n != 3 && n != 5) || fields[1] != "checkpoint" || fields[n-1] != "parquet" {
		return checkpointRefKey{}, false
	}
	version, ok := parseDigits(fields[0], 20, true)
	if n == 3 || !ok {
		return checkpointRefKey{version: version, parts: 1}, ok
	}
	parts, ok := parseDigits(fields[3], 10, true)
	return checkpointRefKey{version: version, parts: int(parts)}, ok && parts > 0
}

// load opens the table at a version, or at the newest if it is negative.
func (l *Log) load(ctx context.Context, target int64) (*state, error) {
	hint, err := l.hint(ctx)
	if err != nil {
		return nil, err
	}
	if target >= 0 && hint > target {
		hint = 0
	}
	ls, err := l.list(ctx, hint)
	if err != nil {
		return nil, err
	}
	st, err := l.build(ctx, ls, target)
	if err == nil || ls.whole || !damaged(err) {
		return st, err
	}
	l.log.WarnContext(ctx, "the last checkpoint leads nowhere: reading the whole log", "table", l.prefix, "error", err)
	if ls, err = l.list(ctx, 0); err != nil {
		return nil, err
	}
	return l.build(ctx, ls, target)
}

// hint returns the version that _last_checkpoint names; 0 if it names none.
func (l *Log) hint(ctx context.Context) (int64, error) {
	data, err := l.b.Get(ctx, l.dir+lastCheckpointFile)
	if err != nil {
		if feature.CodeOf(err) == feature.CodeNotFound {
			return 0, nil
		}
		return 0, err
	}
	var last lastCheckpoint
	if json.Unmarshal(data, &last) != nil || last.Version < 0 {
		return 0, nil //nolint:nilerr // a hint that does not parse is none
	}
	return last.Version, nil
}

// damaged tells whether an error is about what is stored, so that another way
// to read the same table is worth trying; all else is about the storage or the
// table as such.
func damaged(err error) bool {
	switch feature.CodeOf(err) {
	case feature.CodeDataLoss, feature.CodeNotFound, feature.CodeInternal, feature.CodeTooLarge,
		feature.CodeUnsupportedMediaType, feature.CodeInvalidArgument:
		return true
	case feature.CodeUnauthenticated, feature.CodePermissionDenied, feature.CodeAlreadyExists, feature.CodeConflict,
		feature.CodeFailedPrecondition, feature.CodeResourceExhausted, feature.CodeUnavailable,
		feature.CodeDeadlineExceeded, feature.CodeCanceled:
	}
	return false
}

// build replays what a listing shows.
func (l *Log) build(ctx context.Context, ls listing, target int64) (*state, error) {
	newest := ls.newest
	if len(ls.checkpoints) > 0 {
		newest = max(newest, ls.checkpoints[0].version)
	}
	if newest < 0 {
		return nil, feature.Errorf(feature.CodeNotFound, "delta.Open", l.subject(), "there is no table")
	}
	if target > newest {
		return nil, feature.Errorf(feature.CodeNotFound, "delta.At", l.subject(), "there is no version %d (the newest is %d)", target, newest)
	}
	if target < 0 {
		target = newest
	}
	st, faults, err := l.base(ctx, ls, target)
	if err != nil {
		return nil, err
	}
	if err := l.replay(ctx, st, target); err != nil {
		return nil, because(err, faults)
	}
	return st, nil
}

// base returns the newest checkpoint at or before a version that can be read, or
// the state before the first version; faults are of those that cannot. A gap
// behind a checkpoint is a gap behind each older one, so none is tried for it.
func (l *Log) base(ctx context.Context, ls listing, target int64) (st *state, faults []error, err error) {
	for _, ref := range ls.checkpoints {
		if ref.version > target {
			continue
		}
		st, err := l.readCheckpoint(ctx, ref)
		if err == nil {
			return st, faults, nil
		}
		if !damaged(err) {
			return nil, nil, err
		}
		faults = append(faults, err)
		l.log.WarnContext(ctx, "a checkpoint cannot be read", "table", l.prefix, "version", ref.version, "error", err)
	}
	if !ls.whole {
		return nil, nil, because(feature.Errorf(feature.CodeDataLoss, "delta.Open", l.subject(), "no checkpoint can be read"), faults)
	}
	return newState(l.subject()), faults, nil
}

// because adds to an error what led to it, and keeps its code.
func because(err error, faults []error) error {
	for _, f := range faults {
		err = fmt.Errorf("%w; %w", err, f)
	}
	return err
}

// How many commits are read at a time, and how many are held at once.
const (
	replayReaders = 8
	replayBatch   = 256
)

// replay applies the commits up to a version that is known to be there, or to
// have been: one that is missing is a gap.
func (l *Log) replay(ctx context.Context, st *state, target int64) error {
	for st.version < target {
		batch, err := l.readCommits(ctx, st.version+1, min(target-st.version, replayBatch))
		if err != nil {
			return gapError(l.subject(), target, err)
		}
		for _, c := range batch {
			if err := st.apply(c); err != nil {
				return err
			}
		}
	}
	return nil
}

// readCommits reads n commits side by side. The error is that of the first that
// cannot be read, whichever fails first.
func (l *Log) readCommits(ctx context.Context, from, n int64) ([]*commit, error) {
	commits, faults := make([]*commit, n), make([]error, n)
	var g errgroup.Group
	g.SetLimit(replayReaders)
	for i := range commits {
		g.Go(func() error {
			commits[i], faults[i] = l.readCommit(ctx, from+int64(i))
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	for _, err := range faults {
		if err != nil {
			return nil, err
		}
	}
	return commits, nil
}

// missingError is a commit that is not there.
type missingError struct {
	version int64
	err     error
}

func (e *missingError) Error() string { return e.err.Error() }

// Unwrap returns what the bucket said.
func (e *missingError) Unwrap() error { return e.err }

func gapError(subject string, target int64, err error) error {
	var missing *missingError
	if !errors.As(err, &missing) {
		return err
	}
	return feature.Errorf(feature.CodeDataLoss, "delta.Open", subject,
		"version %d is missing from the log, and version %d needs it", missing.version, target)
}

// readCommit reads one log entry; one that is not there is CodeNotFound.
func (l *Log) readCommit(ctx context.Context, version int64) (*commit, error) {
	key := l.dir + commitFile(version)
	data, err := l.b.Get(ctx, key)
	if err != nil {
		if feature.CodeOf(err) == feature.CodeNotFound {
			err = &missingError{version: version, err: err}
		}
		return nil, err
	}
	c, err := parseCommit(version, key, data)
	if err != nil || c.time != 0 {
		return c, err
	}
	// The writer left no time: the file's own is the best there is.
	o, err := l.b.Stat(ctx, key)
	if err != nil {
		return nil, err
	}
	c.time = feature.FromTime(o.ModTime)
	return c, nil
}

func (l *Log) subject() string { return "table " + path.Clean("/" + l.prefix)[1:] }
