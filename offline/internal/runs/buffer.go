package runs

import (
	"context"
	"errors"
	"iter"
	"math"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/internal/rowkey"
)

// buffer is records that are not sorted yet.
type buffer struct {
	records []arrow.Record
	rows    int
	bytes   int64 // with what sorting them needs
}

// sortBytes is what sorting needs for each row: two items of package rowkey,
// the key, both times, the reference and the order.
const sortBytes = 2*24 + 8 + 16 + 8 + 4

func (b *buffer) add(rec arrow.Record) {
	rec.Retain()
	b.records = append(b.records, rec)
	b.rows += int(rec.NumRows())
	b.bytes += gather.Bytes(rec) + sortBytes*rec.NumRows()
}

func (b *buffer) release() {
	for _, rec := range b.records {
		rec.Release()
	}
	b.records = nil
}

// sorted yields the rows of the buffer in order.
func (b *buffer) sorted(ctx context.Context, schema *arrow.Schema, keys []feature.JoinKey, batchRows int) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		refs, err := b.order(keys)
		if err != nil {
			yield(nil, err)
			return
		}
		for len(refs) > 0 {
			n := min(batchRows, len(refs))
			rec, err := gather.Record(ctx, schema, b.records, refs[:n])
			if !yield(rec, err) || err != nil {
				return
			}
			refs = refs[n:]
		}
	}
}

// bufferReader reads a buffer as if it were a run.
type bufferReader struct {
	pull func() (arrow.Record, error, bool)
	stop func()
}

func readBuffer(sorted iter.Seq2[arrow.Record, error]) *bufferReader {
	pull, stop := iter.Pull2(sorted)
	return &bufferReader{pull: pull, stop: stop}
}

func (r *bufferReader) next() (arrow.Record, error) {
	rec, err, _ := r.pull()
	return rec, err
}

func (r *bufferReader) close() error {
	r.stop()
	return nil
}

// order returns the rows in order.
func (b *buffer) order(keys []feature.JoinKey) ([]gather.Ref, error) {
	if b.rows > math.MaxInt32 {
		return nil, feature.Errorf(feature.CodeInternal, "runs.Sort", "", "%d rows in one buffer", b.rows)
	}
	event, created := make([]int64, 0, b.rows), make([]int64, 0, b.rows)
	cols := make([]rowkey.Columns, 0, len(b.records))
	for _, rec := range b.records {
		c, times, err := keyColumns(rec, keys)
		if err != nil {
			return nil, err
		}
		cols = append(cols, c)
		event, created = append(event, times[0]...), append(created, times[1]...)
	}
	order := rowkey.Order(rowkey.Number(cols).Numbers, event, created)
	all := make([]gather.Ref, 0, b.rows)
	for source, rec := range b.records {
		for row := range rec.NumRows() {
			all = append(all, gather.Ref{Source: int32(source), Row: int32(row)})
		}
	}
	out := make([]gather.Ref, len(order))
	for i, row := range order {
		out[i] = all[row]
	}
	return out, nil
}

// keyColumns returns the columns that a table is sorted by: the first ones.
func keyColumns(rec arrow.Record, keys []feature.JoinKey) (rowkey.Columns, [2][]int64, error) {
	var times [2][]int64
	cols, err := rowkey.MakeColumns(keys, rec.Columns()[:len(keys)], int(rec.NumRows()))
	if err != nil {
		return rowkey.Columns{}, times, feature.Errorf(feature.CodeInternal, "runs.Sort", "", "%w", err)
	}
	for i := range times {
		values, ok := rowkey.Int64s(rec.Column(len(keys) + i))
		if !ok {
			return rowkey.Columns{}, times, feature.Errorf(feature.CodeInternal, "runs.Sort", "",
				"column %s is %s where a timestamp is expected", rec.ColumnName(len(keys)+i), rec.Column(len(keys)+i).DataType())
		}
		times[i] = values
	}
	return cols, times, nil
}

var errStopped = errors.New("the reader has stopped")
