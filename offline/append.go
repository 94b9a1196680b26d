package offline

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
)

// AppendOptions say what an append is.
type AppendOptions struct {
	// IdempotencyKey makes a batch land once: if one of this key has landed in
	// the table before, Commit adds nothing. Empty: every append lands.
	IdempotencyKey string
	// Operation is the name of the operation in the table's history. Default
	// "WRITE".
	Operation string
	// Info is kept in the table's history beside the operation.
	Info map[string]string
}

// AppendResult is what an append did.
type AppendResult struct {
	// Version is the version of the table that holds the rows, -1 if there were
	// none and there is no table.
	Version int64
	Rows    int64
	Files   int
	Bytes   int64
	// Repeated tells that the idempotency key had landed before, and nothing
	// was added.
	Repeated bool
}

// Appender takes rows in any order and commits them at once. It is not safe
// for concurrent use. It ends with Commit or Abort.
type Appender struct{}

// Append starts an append to the table of a view.
func (s *Store) Append(_ context.Context, _ *feature.BoundView, _ AppendOptions) (*Appender, error) {
	return nil, errors.ErrUnsupported
}

// Write adds the rows of a record whose schema is columns.TableSchema of the
// view. Of rows that are equal in key, event and created timestamp the one
// written later wins. The record is kept until it is sorted, so its memory must
// not be changed afterwards.
func (a *Appender) Write(_ context.Context, _ arrow.Record) error { return errors.ErrUnsupported }

// Commit writes the files and makes them visible by one commit; on return they
// are durable. It ends the append, whatever it returns.
func (a *Appender) Commit(_ context.Context) (AppendResult, error) {
	return AppendResult{}, errors.ErrUnsupported
}

// Abort drops the rows. It does nothing after Commit.
func (a *Appender) Abort(_ context.Context) error { return nil }

// Landed tells whether an append of this idempotency key has landed, and a
// version of the table that holds it.
func (s *Store) Landed(_ context.Context, _ *feature.BoundView, _ string) (version int64, ok bool, err error) {
	return 0, false, errors.ErrUnsupported
}
