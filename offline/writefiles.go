package offline

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/parquetio"
)

// fileWriter writes sorted rows as files of a table. Nothing of them is visible
// before a commit names them.
type fileWriter struct {
	store   *Store
	view    *feature.BoundView
	schema  *arrow.Schema
	name    string // random, the same for all files of a write
	options parquetio.WriterOptions

	files []delta.File
	out   bucket.Writer     // the file that is being written
	pq    *parquetio.Writer // nil: none is
	rows  int64             // in it
}

// newFileWriter starts a write of rows of about that many bytes each.
func (s *Store) newFileWriter(v *feature.BoundView, schema *arrow.Schema, rowBytes int64) *fileWriter {
	const groupBytes = 64 << 20 // of wide rows; narrow ones make RowGroupRows
	rows := int(max(groupBytes/max(rowBytes, 1), 1))
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return &fileWriter{
		store: s, view: v, schema: schema, name: hex.EncodeToString(random[:]),
		options: parquetio.WriterOptions{
			RowGroupRows: min(s.o.RowGroupRows, rows), SortedBy: sortedBy(v), VectorsAsLists: true,
			// Twice the size of zstd's at worst, and read twice as fast; written
			// four times as fast.
			Codec: parquetio.Snappy,
		},
	}
}

// writeFiles writes all rows of the append, sorted, as files of FileRows rows.
// Sorting is ahead of writing by a few batches.
func (a *Appender) writeFiles(ctx context.Context) ([]delta.File, error) {
	w := a.store.newFileWriter(a.view, a.schema, a.sorter.RowBytes())
	group, groupCtx := errgroup.WithContext(ctx)
	const ahead = 4
	batches := make(chan arrow.Record, ahead)
	group.Go(func() error {
		defer close(batches)
		return sendAll(groupCtx, a.sorter.Sorted(groupCtx), batches)
	})
	// The files are made with the caller's context: it covers their commits,
	// too, and that of the group ends with the group.
	group.Go(func() error {
		for rec := range batches {
			if err := w.write(ctx, rec); err != nil {
				return err
			}
		}
		return nil
	})
	err := group.Wait()
	if err == nil {
		err = w.close()
	}
	if err != nil {
		err = errors.Join(err, w.abort(ctx))
	}
	return w.files, err
}

func sendAll(ctx context.Context, records iter.Seq2[arrow.Record, error], to chan<- arrow.Record) error {
	for rec, err := range records {
		if err != nil {
			return err
		}
		select {
		case to <- rec:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// write appends a batch, which it releases; a full file is closed.
func (w *fileWriter) write(ctx context.Context, rec arrow.Record) error {
	defer rec.Release()
	for start := int64(0); start < rec.NumRows(); {
		if w.pq == nil {
			if err := w.start(ctx); err != nil {
				return err
			}
		}
		n := min(rec.NumRows()-start, int64(w.store.o.FileRows)-w.rows)
		part := rec.NewSlice(start, start+n)
		err := w.pq.Write(part)
		part.Release()
		if err != nil {
			return err
		}
		w.rows += n
		start += n
		if w.rows == int64(w.store.o.FileRows) {
			if err := w.close(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *fileWriter) start(ctx context.Context) error {
	part := len(w.files)
	file := delta.File{
		Path:       fmt.Sprintf("part-%s-%05d.parquet", w.name, part),
		DataChange: true,
		Tags:       map[string]string{tagPart: strconv.Itoa(part)},
	}
	out, err := w.store.bucket.Create(ctx, path.Join(TablePath(w.view), file.Path), bucket.CreateOptions{IfAbsent: true})
	if err != nil {
		return err
	}
	pq, err := parquetio.NewWriter(out, w.schema, w.options)
	if err != nil {
		return errors.Join(err, out.Abort())
	}
	w.files = append(w.files, file)
	w.out, w.pq, w.rows = out, pq, 0
	return nil
}

// close ends the file that is being written, and makes it durable.
func (w *fileWriter) close() error {
	if w.pq == nil {
		return nil
	}
	summary, err := w.pq.Close()
	if err != nil {
		return err
	}
	if err := w.out.Commit(); err != nil {
		return err
	}
	w.pq, w.out = nil, nil
	f := &w.files[len(w.files)-1]
	f.Size = summary.Bytes
	f.ModificationTime = feature.FromTime(w.store.o.Clock.Now())
	f.Stats = w.stats(summary)
	return nil
}

// stats takes from what was written what the log keeps: the bounds of the first
// columns, keys and times among them.
func (w *fileWriter) stats(summary parquetio.Summary) delta.Stats {
	const most = 32 // as other writers do
	out := delta.Stats{Rows: summary.Rows, Columns: map[string]delta.ColumnStats{}}
	for i, field := range w.schema.Fields() {
		if c, ok := summary.Columns[field.Name]; ok && i < most {
			out.Columns[field.Name] = delta.ColumnStats{Min: clip(c.Min), Max: clip(c.Max), Nulls: c.Nulls}
		}
	}
	return out
}

// clip leaves out bounds that are long text.
func clip(v feature.Value) feature.Value {
	const most = 64
	if len(v.Text()) > most {
		return feature.Null(v.Type())
	}
	return v
}

// abort drops the file that is being written and removes those that are.
func (w *fileWriter) abort(ctx context.Context) error {
	var err error
	if w.out != nil {
		err = w.out.Abort()
		w.files = w.files[:len(w.files)-1]
	}
	w.store.removeFiles(ctx, w.view, w.files)
	w.files, w.pq, w.out = nil, nil, nil
	return err
}
