package online

import (
	"context"

	"github.com/granary-ml/granary/feature"
)

// Lookup asks for rows of one view by the keys of their entities. A key may
// stand in it more than once.
type Lookup struct {
	View feature.ViewID
	Keys []feature.EntityKey
}

// Row is a row to write: the key of its entity, and what Layout packed.
type Row struct {
	Key    feature.EntityKey
	Packed []byte
}

// Mark is how far the materialization of a view has come: every row up to that
// version of its table with an event timestamp before Through is loaded.
type Mark struct {
	Version int64
	Through feature.Timestamp
}

// WriteStats tells what became of the rows of one Write.
type WriteStats struct {
	Written    int64 // replaced what was there, or were the first of their key
	Superseded int64 // were older than what was there, and changed nothing
}

// Add adds the counts of another write.
func (s *WriteStats) Add(more WriteStats) {
	s.Written += more.Written
	s.Superseded += more.Superseded
}

// Reader is the read half of an online store. Implementations are safe for
// concurrent use.
type Reader interface {
	// Read looks up all rows of all lookups and leaves them in out, which it
	// resets first. A row that is not there is nil in out; it is no error. Every
	// row that is there has passed Check: a damaged one fails the whole read
	// with CodeDataLoss, and a store that does not answer with CodeUnavailable,
	// so that neither is ever taken for a missing row. The caller owns out and
	// uses it from one goroutine at a time; after an error it holds nothing of
	// use.
	Read(ctx context.Context, lookups []Lookup, out *Rows) error
	// Mark returns the view's mark; false when none was ever set.
	Mark(ctx context.Context, view feature.ViewID) (Mark, bool, error)
}

// Writer is the write half of an online store. Implementations are safe for
// concurrent use, and what they acknowledge is as durable as the store can
// make it. None keeps a slice that it was given.
type Writer interface {
	// Write stores each row unless a newer one of its key is there. Rows of one
	// key in one call are taken in order, as if written one by one. A row that
	// is not packed as Layout does, or whose key is longer than
	// feature.MaxEntityKeyBytes, is CodeInvalidArgument and nothing is written.
	// After another error some of the rows may have been written; writing all
	// of them again is safe and gives the state of one write.
	Write(ctx context.Context, view feature.ViewID, rows []Row) (WriteStats, error)
	// SetMark replaces the view's mark.
	SetMark(ctx context.Context, view feature.ViewID, m Mark) error
	// DeleteEntities removes rows and returns how many were there.
	DeleteEntities(ctx context.Context, view feature.ViewID, keys []feature.EntityKey) (int64, error)
	// DeleteView removes every row of the view, and its mark. A view that has
	// none is no error.
	DeleteView(ctx context.Context, view feature.ViewID) error
}

// Store is an online store.
type Store interface {
	Reader
	Writer
	// Ping tells whether the store answers.
	Ping(ctx context.Context) error
	// Close ends the store; calls after it fail with CodeUnavailable. It waits
	// for calls that are under way. A second Close does nothing.
	Close() error
}
