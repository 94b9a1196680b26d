package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/cockroachdb/pebble/v2"

	"github.com/granary-ml/granary/feature"
)

// fmtFormatter is what the engine asks of a key that is printed.
type fmtFormatter = fmt.Formatter

// shownKey prints a key by showKey.
type shownKey []byte

// Format implements fmt.Formatter.
func (k shownKey) Format(f fmt.State, _ rune) { _, _ = fmt.Fprint(f, showKey(k)) }

// failure is why a store takes no more writes.
type failure struct {
	err error
	// stuck tells that the engine gave up inside a call, with its locks held.
	stuck bool
}

// fail records the first failure. The engine cannot go on writing after it: its
// log may lack what it has already shown to readers.
func (s *Store) fail(err error, stuck bool) {
	if s.failed.CompareAndSwap(nil, &failure{err: err, stuck: stuck}) {
		s.log.ErrorContext(context.Background(), "online store takes no more writes", "dir", s.dir, "error", err)
	}
}

// gaveUp is the error of a panic of the engine.
func gaveUp(p any) error {
	if cause, ok := p.(error); ok {
		return fmt.Errorf("pebble gave up: %w", cause)
	}
	return fmt.Errorf("pebble gave up: %v", p)
}

// closeIter closes an iterator and returns the first error: a failed iterator
// tells its error again.
func closeIter(iter *pebble.Iterator, err error) error {
	if closeErr := iter.Close(); err == nil {
		return closeErr
	}
	return err
}

// engineLog takes what the engine has to say.
type engineLog struct{ store *Store }

// Infof implements pebble.Logger.
func (l engineLog) Infof(format string, args ...any) {
	l.store.log.DebugContext(context.Background(), "pebble", "text", fmt.Sprintf(format, args...))
}

// Errorf implements pebble.Logger.
func (l engineLog) Errorf(format string, args ...any) {
	l.store.log.ErrorContext(context.Background(), "pebble", "text", fmt.Sprintf(format, args...))
}

// Fatalf implements pebble.Logger. The engine expects it to end the process;
// here it ends the writing.
func (l engineLog) Fatalf(format string, args ...any) {
	l.store.fail(fmt.Errorf("pebble gave up: %w", fatalError(format, args)), false)
}

// fatalError keeps the error among the arguments, so that a full disk is known
// as one.
func fatalError(format string, args []any) error {
	for _, a := range args {
		if err, ok := a.(error); ok {
			return err
		}
	}
	return fmt.Errorf(format, args...)
}

// writable tells whether the store takes a write of so many bytes.
func (s *Store) writable(op string, size int64) error {
	if f := s.failed.Load(); f != nil {
		return feature.Errorf(codeOf(f.err), op, s.dir, "the online store takes no more writes until it is opened again: %w", f.err)
	}
	if s.minFree < 0 {
		return nil
	}
	usage, err := s.fs.GetDiskUsage(s.dir)
	if err != nil {
		return nil //nolint:nilerr // a file system that does not tell has no limit
	}
	if need := s.minFree + size; usage.AvailBytes < uint64(need) { //nolint:gosec // both are not negative
		return feature.Errorf(feature.CodeResourceExhausted, op, s.dir, "the disk is full: %d bytes free, %d needed", usage.AvailBytes, need)
	}
	return nil
}

// wrap gives an error of the engine its code; nil stays nil.
func (s *Store) wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	return feature.Errorf(codeOf(err), op, s.dir, "%w", err)
}

// openError is wrap for Open.
func (s *Store) openError(err error) error { return s.wrap("pebblestore.Open", err) }

// codeOf returns what a caller can do about an error of the engine.
func codeOf(err error) feature.Code {
	var coded *feature.Error
	switch {
	case errors.As(err, &coded):
		return coded.Code
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return feature.CodeOf(err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return feature.CodeResourceExhausted
	case pebble.IsCorruptionError(err):
		return feature.CodeDataLoss
	case errors.Is(err, syscall.EACCES), errors.Is(err, syscall.EPERM):
		return feature.CodePermissionDenied
	}
	return feature.CodeUnavailable
}

// locked tells whether a lock was refused because somebody holds it.
func locked(err error) bool { return errors.Is(err, syscall.EAGAIN) }
