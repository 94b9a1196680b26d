package ingest

import (
	"context"
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/parquetio"
)

// parquet reads the columns that are needed of a Parquet file.
func (r *reader) parquet(ctx context.Context, c *content) (iter.Seq2[*batch, error], error) {
	at, size, err := c.random(ctx, r.o.TempDir)
	if err != nil {
		return nil, err
	}
	f, err := parquetio.Open(at, size, c.in.name, parquetio.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	slots, err := r.resolve(c.in.name, fieldNames(f.Schema()))
	if err != nil {
		return nil, err
	}
	var wanted []string
	var kept []int
	for i, k := range slots {
		if k >= 0 {
			wanted, kept = append(wanted, f.Schema().Field(i).Name), append(kept, k)
		}
	}
	return r.coerced(ctx, c.in.name, kept, f.Records(ctx, parquetio.ScanOptions{Columns: wanted})), nil
}

func fieldNames(s *arrow.Schema) []string {
	out := make([]string, s.NumFields())
	for i := range out {
		out[i] = s.Field(i).Name
	}
	return out
}

// coerced turns records into batches, several at a time; slots say which column
// of the table each of their columns is.
func (r *reader) coerced(ctx context.Context, input string, slots []int, records iter.Seq2[arrow.Record, error]) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		pull, stop := iter.Pull2(records)
		defer stop()
		next := func(context.Context) (arrow.Record, error) {
			rec, err, ok := pull()
			if !ok {
				return nil, io.EOF
			}
			return rec, err
		}
		ordered(ctx, next, func(_ context.Context, rec arrow.Record) (*batch, error) {
			return r.coerce(input, slots, rec)
		})(yield)
	}
}

func (r *reader) coerce(input string, slots []int, rec arrow.Record) (*batch, error) {
	d := &decoded{rows: int(rec.NumRows()), arrays: make([]arrow.Array, len(r.columns))}
	var faults []feature.Fault
	for i, k := range slots {
		if k < 0 {
			continue
		}
		c := coercer{typ: r.columns[k].typ, bad: func(row int, reason string) {
			d.faults = append(d.faults, fault{row: row, column: k, reason: reason})
		}}
		arr, err := c.coerce(rec.Column(i))
		if err != nil {
			faults = append(faults, feature.Fault{Field: rec.ColumnName(i), Detail: err.Error()})
			continue
		}
		d.arrays[k] = arr
	}
	if len(faults) > 0 {
		return nil, &feature.Error{Code: feature.CodeInvalidArgument, Op: "ingest", Subject: input, Faults: faults}
	}
	return r.finish(d)
}
