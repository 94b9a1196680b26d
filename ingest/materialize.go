package ingest

import (
	"context"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/online"
)

// MaterializeRequest asks to load the newest rows of a view into the online
// store.
type MaterializeRequest struct {
	View *feature.BoundView
	// Full reads the whole table; otherwise what has arrived since the last run.
	Full bool
	// Start, if given, loads the rows of [Start, End) of the whole table and
	// leaves untouched what the last run has reached.
	Start *feature.Timestamp
	// End bounds the event timestamps, exclusive. Nil or the future is now.
	End *feature.Timestamp
	// Progress, if given, is called from the calling goroutine after each batch.
	Progress func(wire.ViewProgress)
}

// Materialize loads the newest row of each entity into the online store. It may
// be killed at any moment and run again, and run twice: the result is that of
// one run, because a row is only ever replaced by one that is not older, and
// the mark is set when the rows that it speaks of are durable.
func (i *Ingester) Materialize(ctx context.Context, req MaterializeRequest) (wire.ViewProgress, error) {
	progress := wire.ViewProgress{View: req.View.Name, Version: -1}
	if i.o.Online == nil {
		return progress, feature.Errorf(feature.CodeFailedPrecondition, "ingest.Materialize", req.View.Subject(), "there is no online store")
	}
	mark, marked, err := i.o.Online.Mark(ctx, req.View.ID)
	if err != nil {
		return progress, err
	}
	through := i.end(req.End)
	if marked && req.Start == nil {
		through = max(through, mark.Through) // what was reached stays reached
	}
	newest := offline.NewestRequest{Before: through}
	switch {
	case req.Start != nil:
		newest.Interval = &feature.Interval{Start: *req.Start, End: through}
		if newest.Interval.Empty() {
			return progress, feature.Errorf(feature.CodeInvalidArgument, "ingest.Materialize", req.View.Subject(),
				"the interval [%s, %s) is empty", *req.Start, through)
		}
	case marked && !req.Full:
		newest.After = offline.Mark{Version: mark.Version, Through: mark.Through}
	}
	rows, err := i.o.Offline.Newest(ctx, req.View, newest)
	if err != nil {
		return progress, err
	}
	defer rows.Release()
	progress.Version, progress.Through, progress.RowsTotal = rows.Version(), through, rows.TotalRows()
	w := i.onlineWriter(req.View)
	for rows.Next() {
		if err := w.add(ctx, rows.Record()); err != nil {
			return progress, err
		}
		progress.RowsRead += rows.Record().NumRows()
		progress.Written, progress.Superseded = w.stats.Written, w.stats.Superseded
		if req.Progress != nil {
			req.Progress(progress)
		}
	}
	if err := rows.Err(); err != nil {
		return progress, err
	}
	if err := w.flush(ctx); err != nil {
		return progress, err
	}
	progress.Written, progress.Superseded = w.stats.Written, w.stats.Superseded
	if req.Start == nil && rows.Version() >= 0 {
		return progress, i.o.Online.SetMark(ctx, req.View.ID, online.Mark{Version: rows.Version(), Through: through})
	}
	return progress, nil
}

// end is where a run ends: never in the future.
func (i *Ingester) end(asked *feature.Timestamp) feature.Timestamp {
	now := i.now()
	if asked != nil && *asked < now {
		return *asked
	}
	return now
}

// onlineWriter packs rows of a view's table and writes them to the online
// store, many at a time.
type onlineWriter struct {
	store  Online
	view   feature.ViewID
	layout *online.Layout
	most   int // rows of one write
	rows   []online.Row
	buf    []byte
	stats  online.WriteStats
}

func (i *Ingester) onlineWriter(v *feature.BoundView) *onlineWriter {
	return &onlineWriter{store: i.o.Online, view: v.ID, layout: online.NewLayout(v), most: i.o.WriteRows}
}

// add takes the rows of a record; they are durable after flush.
func (w *onlineWriter) add(ctx context.Context, rec arrow.Record) error {
	cols, err := w.layout.Columns(rec)
	if err != nil {
		return err
	}
	for row := range cols.Rows() {
		if err := w.pack(cols, row); err != nil {
			return err
		}
		if len(w.rows) >= w.most {
			if err := w.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// pack appends one row. The buffer may move as it grows: rows that lie in the
// old one keep it alive.
func (w *onlineWriter) pack(cols *online.Columns, row int) error {
	start := len(w.buf)
	key, err := cols.AppendKey(w.buf, row)
	if err != nil {
		return err
	}
	middle := len(key)
	packed, err := cols.AppendRow(key, row)
	if err != nil {
		return err
	}
	w.buf = packed
	w.rows = append(w.rows, online.Row{Key: feature.EntityKey(packed[start:middle]), Packed: slices.Clip(packed[middle:])})
	return nil
}

// flush writes what was added. A store keeps nothing of a write, so the buffer
// is used again.
func (w *onlineWriter) flush(ctx context.Context) error {
	if len(w.rows) == 0 {
		return nil
	}
	stats, err := w.store.Write(ctx, w.view, w.rows)
	w.stats.Add(stats)
	w.rows, w.buf = w.rows[:0], w.buf[:0]
	return err
}
