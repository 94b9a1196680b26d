package pebblestore

import (
	"errors"
	"strconv"

	"github.com/cockroachdb/pebble/v2"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// formatKey holds the version of the store as text. It stands before all keys
// of views, whose first byte is the version of the keys.
var formatKey = []byte("\x00format")

// storeFormat is the version of what this package writes beside the rows.
const storeFormat = 1

// format returns the version of the store; 0 if it has none.
func (s *Store) format() (int, error) {
	value, closer, err := s.db.Get(formatKey)
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	version, err := strconv.Atoi(string(value))
	if err != nil {
		err = feature.Errorf(feature.CodeDataLoss, "", s.dir, "format version %q is not a number", value)
	}
	return version, errors.Join(err, closer.Close())
}

// checkFormat gives an empty directory the current format and refuses one that
// this program does not know.
func (s *Store) checkFormat() error {
	const op = "pebblestore.Open"
	version, err := s.format()
	switch {
	case err != nil:
		return s.openError(err)
	case version == storeFormat:
		return nil
	case version != 0:
		return feature.Errorf(feature.CodeFailedPrecondition, op, s.dir,
			"the online store has format version %d and this program knows %d (use the program that wrote it, or a newer one)", version, storeFormat)
	}
	empty, err := s.empty()
	switch {
	case err != nil:
		return s.openError(err)
	case !empty:
		return feature.Errorf(feature.CodeFailedPrecondition, op, s.dir,
			"the directory holds another Pebble database, not an online store (name another directory)")
	}
	err = s.db.Set(formatKey, strconv.AppendInt(nil, storeFormat, 10), pebble.Sync)
	if f := s.failed.Load(); f != nil {
		err = errors.Join(err, f.err)
	}
	return s.openError(err)
}

// empty tells whether the database holds nothing.
func (s *Store) empty() (bool, error) {
	iter, err := s.db.NewIter(nil)
	if err != nil {
		return false, err
	}
	found := iter.First()
	return !found, iter.Close()
}

// comparer orders keys as bytes. It prints them without the entity, so that no
// message of the engine tells who is in the store.
func comparer() *pebble.Comparer {
	c := *pebble.DefaultComparer
	c.FormatKey = func(key []byte) fmtFormatter { return shownKey(key) }
	return &c
}

// showKey returns how messages name a key: the view, never the entity.
func showKey(key []byte) string {
	if view, _, entity, ok := online.ParseRowKey(key); ok {
		return "view " + strconv.FormatUint(uint64(view), 10) + ", entity key of " + strconv.Itoa(len(entity)) + " bytes"
	}
	return strconv.Quote(string(key))
}
