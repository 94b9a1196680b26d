package offline

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/internal/runs"
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
type Appender struct {
	store  *Store
	view   *feature.BoundView
	schema *arrow.Schema
	o      AppendOptions
	sorter *runs.Sorter // nil when it has ended
}

// Append starts an append to the table of a view.
func (s *Store) Append(_ context.Context, v *feature.BoundView, o AppendOptions) (*Appender, error) {
	if o.Operation == "" {
		o.Operation = "WRITE"
	}
	schema := columns.TableSchema(v)
	return &Appender{
		store: s, view: v, schema: schema, o: o,
		sorter: runs.New(schema, v.Keys, runs.Options{Dir: s.o.TempDir, MemoryBytes: s.o.MemoryLimit}),
	}, nil
}

var errEnded = errors.New("the append has ended")

// Write adds the rows of a record whose schema is columns.TableSchema of the
// view. Of rows that are equal in key, event and created timestamp the one
// written later wins. The record is retained until it is sorted, so its memory
// must not be changed afterwards.
func (a *Appender) Write(ctx context.Context, rec arrow.Record) error {
	const op = "offline.Append"
	if a.sorter == nil {
		return feature.Errorf(feature.CodeFailedPrecondition, op, a.view.Subject(), "%w", errEnded)
	}
	if !rec.Schema().Equal(a.schema) {
		return feature.Errorf(feature.CodeInvalidArgument, op, a.view.Subject(), "record with %s where the table has %s", rec.Schema(), a.schema)
	}
	for i := range len(a.view.Keys) + 2 {
		if n := rec.Column(i).NullN(); n > 0 {
			return feature.Errorf(feature.CodeInvalidArgument, op, a.view.Subject(), "column %s has %d nulls: keys and times are never null", rec.ColumnName(i), n)
		}
	}
	return a.sorter.Add(ctx, rec)
}

// Commit writes the files and makes them visible by one commit; on return they
// are durable. It ends the append, whatever it returns. After CodeUnavailable it
// is unknown whether the rows have landed; a repetition with the same
// idempotency key lands them once.
func (a *Appender) Commit(ctx context.Context) (AppendResult, error) {
	if a.sorter == nil {
		return AppendResult{}, feature.Errorf(feature.CodeFailedPrecondition, "offline.Append", a.view.Subject(), "%w", errEnded)
	}
	out, err := a.commit(ctx)
	return out, errors.Join(err, a.Abort(ctx))
}

// Abort drops the rows. It does nothing after Commit.
func (a *Appender) Abort(context.Context) error {
	if a.sorter == nil {
		return nil
	}
	err := a.sorter.Close()
	a.sorter = nil
	return err
}

func (a *Appender) commit(ctx context.Context) (AppendResult, error) {
	version, landed, err := a.store.Landed(ctx, a.view, a.o.IdempotencyKey)
	if err != nil || landed {
		return AppendResult{Version: version, Repeated: landed}, err
	}
	if a.sorter.Rows() == 0 && a.o.IdempotencyKey == "" {
		state, err := a.store.State(ctx, a.view)
		return AppendResult{Version: state.Version}, err
	}
	files, err := a.writeFiles(ctx)
	if err != nil {
		return AppendResult{}, err
	}
	out := AppendResult{Rows: a.sorter.Rows(), Files: len(files)}
	for _, f := range files {
		out.Bytes += f.Size
	}
	tx := delta.Transaction{Operation: a.o.Operation, Parameters: a.o.Info, Add: files}
	out.Version, out.Repeated, err = a.store.land(ctx, a.view, tx, a.o.IdempotencyKey)
	if out.Repeated || certain(err) {
		a.store.removeFiles(ctx, a.view, files)
	}
	if out.Repeated {
		out = AppendResult{Version: out.Version, Repeated: true}
	}
	return out, err
}

// certain tells whether an error of a commit says that it has not landed.
func certain(err error) bool {
	switch feature.CodeOf(err) {
	case feature.CodeConflict, feature.CodeFailedPrecondition, feature.CodeInvalidArgument, feature.CodeAlreadyExists,
		feature.CodePermissionDenied, feature.CodeNotFound, feature.CodeDataLoss:
		return err != nil
	case feature.CodeInternal, feature.CodeUnauthenticated, feature.CodeTooLarge, feature.CodeUnsupportedMediaType,
		feature.CodeResourceExhausted, feature.CodeUnavailable, feature.CodeDeadlineExceeded, feature.CodeCanceled:
	}
	return false
}
