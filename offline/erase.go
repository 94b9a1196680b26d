package offline

import (
	"context"
	"errors"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/internal/rowkey"
	"github.com/granary-ml/granary/offline/pit"
)

// EraseResult is what an erasure did.
type EraseResult struct {
	Rows    int64 // that the newest version does not hold any more
	Version int64 // of the table afterwards, -1 if there is none
	Files   int   // that were rewritten or dropped
}

// Erase removes all rows of entities from the newest version of a table, by
// rewriting the files that hold them, in one commit. Older versions still show
// them until their files are removed. Rows that are appended meanwhile are not
// looked at.
func (s *Store) Erase(ctx context.Context, v *feature.BoundView, keys []feature.EntityKey) (EraseResult, error) {
	for range landAttempts {
		out, err := s.erase(ctx, v, keys)
		if err == nil || feature.CodeOf(err) != feature.CodeConflict {
			return out, err
		}
	}
	return EraseResult{}, feature.Errorf(feature.CodeConflict, "offline.Erase", v.Subject(), "others were first %d times: try again later", landAttempts)
}

// erase is one attempt.
func (s *Store) erase(ctx context.Context, v *feature.BoundView, keys []feature.EntityKey) (EraseResult, error) {
	t, err := s.open(ctx, v, wire.AsOf{})
	if err != nil {
		return EraseResult{}, err
	}
	e := &eraser{store: s, table: t, keys: rowkey.MakeKeys(v.Keys, keys)}
	tx := delta.Transaction{Read: t.snap, Operation: "DELETE", Parameters: map[string]string{"entities": strconv.Itoa(e.keys.Len())}}
	err = e.run(ctx, &tx)
	out := EraseResult{Rows: e.rows, Files: len(tx.Remove), Version: t.version()}
	if err == nil && len(tx.Remove) > 0 {
		out.Version, err = s.log(v).Commit(ctx, tx)
		if err != nil && !certain(err) {
			return EraseResult{}, err
		}
	}
	if err != nil {
		s.removeFiles(ctx, v, tx.Add)
		return EraseResult{}, err
	}
	return out, nil
}

// eraser rewrites the files of a table that hold rows of some keys.
type eraser struct {
	store *Store
	table *table
	keys  rowkey.Keys
	rows  int64 // erased
}

func (e *eraser) run(ctx context.Context, tx *delta.Transaction) error {
	where := anything()
	where.keys = &e.keys
	units, err := e.table.units(ctx, where)
	if err != nil {
		return err
	}
	held := map[*dataFile]bool{}
	var files []*dataFile
	err = readUnits(ctx, units, e.table.orderColumns(), func(u unit, p piece) error {
		b, err := u.file.block(p, &e.keys)
		if err != nil {
			return err
		}
		for _, g := range b.Groups {
			e.rows += int64(g.End - g.Start)
			if !held[u.file] {
				held[u.file] = true
				files = append(files, u.file)
			}
		}
		return nil
	})
	for _, f := range files {
		if err != nil {
			return err
		}
		var added []delta.File
		added, err = e.rewrite(ctx, f)
		tx.Add = append(tx.Add, added...)
		tx.Remove = append(tx.Remove, f.File)
	}
	return err
}

// rewrite writes the rows of a file that stay, with the columns that the file
// has, to a file that stands in its place in the order of writing.
func (e *eraser) rewrite(ctx context.Context, f *dataFile) ([]delta.File, error) {
	schema, err := e.fileSchema(f)
	if err != nil {
		return nil, err
	}
	w := e.store.newFileWriter(e.table.view, schema, max(f.Size/max(f.pq.Rows(), 1), 1)*4)
	if !f.sorted {
		w.options.SortedBy = nil
	}
	for group := range f.pq.RowGroups() {
		if err := e.copyGroup(ctx, f, group, schema, w); err != nil {
			return nil, errors.Join(err, w.abort(ctx))
		}
	}
	if err := w.close(); err != nil {
		return nil, errors.Join(err, w.abort(ctx))
	}
	for i := range w.files {
		w.files[i].PartitionValues = f.PartitionValues
		w.files[i].Tags[tagOrder] = strconv.FormatInt(f.written, 10)
		w.files[i].Tags[tagPart] = strconv.FormatInt(f.part, 10)
	}
	return w.files, nil
}

// fileSchema is that of the file with the types of the table. A column that the
// view does not know would be lost: that is refused.
func (e *eraser) fileSchema(f *dataFile) (*arrow.Schema, error) {
	fields := make([]arrow.Field, 0, f.pq.Schema().NumFields())
	for c, field := range e.table.schema.Fields() {
		if f.column[c] != absent {
			fields = append(fields, field)
		}
	}
	if len(fields) != f.pq.Schema().NumFields() {
		return nil, feature.Errorf(feature.CodeFailedPrecondition, "offline.Erase", e.table.view.Subject(),
			"file %s has columns that the view does not: %s", f.Path, f.pq.Schema())
	}
	return arrow.NewSchema(fields, nil), nil
}

func (e *eraser) copyGroup(ctx context.Context, f *dataFile, group int, schema *arrow.Schema, w *fileWriter) error {
	for p, err := range f.read(ctx, group, upTo(e.table.schema.NumFields())) {
		if err != nil {
			return err
		}
		rec, err := e.stay(ctx, f, p, schema)
		if err != nil {
			return err
		}
		if err := w.write(ctx, rec); err != nil {
			return err
		}
	}
	return nil
}

// stay returns the rows of a piece that stay.
func (e *eraser) stay(ctx context.Context, f *dataFile, p piece, schema *arrow.Schema) (arrow.Record, error) {
	arrays := make([]arrow.Array, 0, schema.NumFields())
	for c, arr := range p.rec.Columns() {
		if f.column[c] != absent {
			arrays = append(arrays, arr)
		}
	}
	rec := array.NewRecord(schema, arrays, p.rec.NumRows())
	b, err := f.block(p, &e.keys)
	if err != nil || len(b.Groups) == 0 {
		return rec, err
	}
	rows := make([]gather.Ref, 0, p.rec.NumRows())
	at := int32(0)
	end := pit.Group{Start: int32(p.rec.NumRows())} //nolint:gosec // the rows of a piece
	for _, g := range append(b.Groups, end) {
		for ; at < g.Start; at++ {
			rows = append(rows, gather.Ref{Row: at})
		}
		at = g.End
	}
	return gather.Record(ctx, schema, []arrow.Record{rec}, rows)
}
