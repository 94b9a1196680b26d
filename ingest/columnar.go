package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"

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
	return r.coerced(c.in.name, kept, f.Records(ctx, parquetio.ScanOptions{Columns: wanted})), nil
}

func fieldNames(s *arrow.Schema) []string {
	out := make([]string, s.NumFields())
	for i := range out {
		out[i] = s.Field(i).Name
	}
	return out
}

// coerced turns records into batches; slots say which column of the table each
// of their columns is.
func (r *reader) coerced(input string, slots []int, records iter.Seq2[arrow.Record, error]) iter.Seq2[*batch, error] {
	return func(yield func(*batch, error) bool) {
		for rec, err := range records {
			var b *batch
			if err == nil {
				b, err = r.coerce(input, slots, rec)
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
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

// arrow reads an Arrow IPC file or stream.
func (r *reader) arrow(ctx context.Context, c *content) (iter.Seq2[*batch, error], error) {
	schema, records, err := c.arrow(ctx, r.o.TempDir)
	if err != nil {
		return nil, err
	}
	slots, err := r.resolve(c.in.name, fieldNames(schema))
	if err != nil {
		return nil, err
	}
	return r.coerced(c.in.name, slots, records), nil
}

var (
	magicArrowFile = []byte("ARROW1")
	magicArrow     = []byte("\xff\xff\xff\xff") // before each message of a stream
)

// arrow opens Arrow IPC, a file or a stream.
func (c *content) arrow(ctx context.Context, tempDir string) (*arrow.Schema, iter.Seq2[arrow.Record, error], error) {
	stream, err := c.stream()
	if err != nil {
		return nil, nil, err
	}
	head, err := stream.Peek(len(magicArrowFile))
	switch {
	case bytes.HasPrefix(head, magicArrowFile):
		f, size, err := spool(ctx, stream, tempDir)
		if err != nil {
			return nil, nil, err
		}
		c.close = append(c.close, f.Close)
		return arrowFile(ctx, f, size)
	case bytes.HasPrefix(head, magicArrow):
		return arrowStream(ctx, stream)
	case err != nil && len(head) == 0:
		return nil, nil, feature.Errorf(feature.CodeInvalidArgument, "ingest", c.in.name, "the file is empty (expected Arrow IPC)")
	}
	what := sniff(head)
	if what == "" {
		what = "something else"
	}
	return nil, nil, c.notWhatItSays(what)
}

func arrowStream(ctx context.Context, r io.Reader) (schema *arrow.Schema, records iter.Seq2[arrow.Record, error], err error) {
	var in *ipc.Reader
	err = guarded(func() (err error) {
		in, err = ipc.NewReader(r)
		return err
	})
	if err != nil {
		return nil, nil, damagedArrow(err)
	}
	return in.Schema(), recordsOf(ctx, func() (arrow.Record, error) {
		if !in.Next() {
			if err := in.Err(); err != nil {
				return nil, err
			}
			return nil, io.EOF
		}
		return in.Record(), nil
	}), nil
}

func arrowFile(ctx context.Context, f ipc.ReadAtSeeker, _ int64) (schema *arrow.Schema, records iter.Seq2[arrow.Record, error], err error) {
	var in *ipc.FileReader
	err = guarded(func() (err error) {
		in, err = ipc.NewFileReader(f)
		return err
	})
	if err != nil {
		return nil, nil, damagedArrow(err)
	}
	next := 0
	return in.Schema(), recordsOf(ctx, func() (arrow.Record, error) {
		if next == in.NumRecords() {
			return nil, io.EOF
		}
		next++
		return in.RecordAt(next - 1)
	}), nil
}

// recordsOf yields what next returns until io.EOF.
func recordsOf(ctx context.Context, next func() (arrow.Record, error)) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		for {
			var rec arrow.Record
			err := ctx.Err()
			if err == nil {
				err = guarded(func() (err error) {
					rec, err = next()
					return err
				})
				if err == io.EOF { //nolint:errorlint // the end, not a stream that was cut
					return
				}
				err = damagedArrow(err)
			}
			if err == nil {
				rec.Retain()
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// guarded runs a step of the Arrow module, which panics on some damaged bytes.
func guarded(step func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return step()
}

func damagedArrow(err error) error {
	if err == nil {
		return nil
	}
	return feature.Errorf(feature.CodeInvalidArgument, "", "", "the Arrow data is damaged or truncated: %w", err)
}
