package ingest

import (
	"context"
	"io"
	"iter"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/parquetio"
)

// SpineOptions say how a spine is read.
type SpineOptions struct {
	// Format is how the spine is written. Empty: by its name.
	Format feature.Format
	// Name is what errors call the spine. Default: its path, or "spine".
	Name string
	CSV  feature.CSVOptions
	// Keys are the join keys of the views that are asked for: columns of these
	// names have their types.
	Keys []feature.JoinKey
	// TimeColumn is a timestamp. Default "event_timestamp".
	TimeColumn string
	// TempDir is a local folder for a spine that must be read twice. Default:
	// the system's.
	TempDir string
}

// OpenSpine opens a spine that is one local file, or one object of a bucket by
// its URL. The reader must be released; an error that ends it early is told by
// its Err.
//
// Columns of Arrow and Parquet keep their types. Of CSV and JSON, the join keys
// and the time column have the types that are wanted of them, and any other is
// int64, float64, bool or text, whichever holds all of its values.
func OpenSpine(ctx context.Context, path string, o SpineOptions) (array.RecordReader, error) {
	find := &resolver{format: o.Format, openBucket: func(ctx context.Context, url string) (bucket.Bucket, error) {
		return bucket.Open(ctx, url, bucket.Options{})
	}}
	spine, err := openSpine(ctx, find, path, o)
	if err != nil {
		_ = find.Close() // it was only read
		return nil, err
	}
	spine.onRelease(find.Close)
	return spine, nil
}

func openSpine(ctx context.Context, find *resolver, path string, o SpineOptions) (*spine, error) {
	inputs, err := find.resolve(ctx, []string{path})
	if err != nil {
		return nil, err
	}
	if len(inputs) != 1 {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "ingest", path, "%d files where the spine is one", len(inputs))
	}
	if o.Name != "" {
		inputs[0].name = o.Name
	}
	return newSpine(ctx, inputs[0], o)
}

// ReadSpine reads a spine from a stream, all of it before it returns unless it
// is an Arrow stream. See OpenSpine.
func ReadSpine(ctx context.Context, r io.Reader, o SpineOptions) (array.RecordReader, error) {
	if o.Name == "" {
		o.Name = "spine"
	}
	format, err := formatOf(o.Format, o.Name)
	if err != nil {
		return nil, err
	}
	in := &input{name: o.Name, format: format}
	if format == feature.FormatArrow {
		in.open = func(context.Context) (blob, error) { return onlyStream{Reader: r}, nil }
		return newSpine(ctx, in, o)
	}
	f, size, err := spool(ctx, r, o.TempDir)
	if err != nil {
		return nil, inputError(o.Name, err)
	}
	in.size = size
	in.open = func(context.Context) (blob, error) {
		_, err := f.Seek(0, io.SeekStart)
		return unclosed{f}, err
	}
	spine, err := newSpine(ctx, in, o)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	spine.onRelease(f.Close)
	return spine, nil
}

// onlyStream is a stream that is read once.
type onlyStream struct{ io.Reader }

// ReadAt implements blob; no stream can do it.
func (onlyStream) ReadAt([]byte, int64) (int, error) { return 0, io.ErrNoProgress }

// Close implements blob.
func (onlyStream) Close() error { return nil }

// spine is a reader of a spine's records.
type spine struct {
	schema  *arrow.Schema
	next    func() (arrow.Record, error, bool)
	stop    func()
	current arrow.Record
	err     error
	close   []func() error
	refs    atomic.Int64
}

func newSpine(ctx context.Context, in *input, o SpineOptions) (*spine, error) {
	if o.TimeColumn == "" {
		o.TimeColumn = feature.DefaultEventColumn
	}
	c, err := openContent(ctx, in, new(atomic.Int64))
	if err != nil {
		return nil, err
	}
	s := &spine{close: []func() error{c.Close}}
	s.refs.Store(1)
	var records iter.Seq2[arrow.Record, error]
	switch in.format {
	case feature.FormatArrow:
		s.schema, records, err = c.arrow(ctx, o.TempDir)
	case feature.FormatParquet:
		s.schema, records, err = c.parquet(ctx, o.TempDir)
	case feature.FormatCSV, feature.FormatNDJSON, feature.FormatJSON, feature.FormatByName:
		t := &textSpine{ctx: ctx.Err, in: in, o: o}
		s.schema, records, err = t.open(ctx, c)
	}
	if err != nil {
		return nil, errJoinClose(c.fail(err), c)
	}
	s.next, s.stop = iter.Pull2(failed(c, records))
	return s, nil
}

func errJoinClose(err error, c *content) error {
	_ = c.Close() // it was only read
	return err
}

// failed words the errors of a sequence as those of an input.
func failed(c *content, records iter.Seq2[arrow.Record, error]) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		for rec, err := range records {
			if !yield(rec, c.fail(err)) {
				return
			}
		}
	}
}

func (c *content) parquet(ctx context.Context, tempDir string) (*arrow.Schema, iter.Seq2[arrow.Record, error], error) {
	at, size, err := c.random(ctx, tempDir)
	if err != nil {
		return nil, nil, err
	}
	f, err := parquetio.Open(at, size, c.in.name, parquetio.ReaderOptions{})
	if err != nil {
		return nil, nil, err
	}
	return f.Schema(), f.Records(ctx, parquetio.ScanOptions{}), nil
}

func (s *spine) onRelease(f func() error) { s.close = append(s.close, f) }

// Retain implements array.RecordReader.
func (s *spine) Retain() { s.refs.Add(1) }

// Release implements array.RecordReader; the last one closes the input.
func (s *spine) Release() {
	if s.refs.Add(-1) != 0 {
		return
	}
	s.stop()
	for _, f := range s.close {
		_ = f() // it was only read
	}
}

// Schema implements array.RecordReader.
func (s *spine) Schema() *arrow.Schema { return s.schema }

// Next implements array.RecordReader.
func (s *spine) Next() bool {
	if s.err != nil {
		return false
	}
	rec, err, ok := s.next()
	s.current, s.err = rec, err
	return ok && err == nil
}

// Record implements array.RecordReader.
func (s *spine) Record() arrow.Record { return s.current }

// Err implements array.RecordReader.
func (s *spine) Err() error { return s.err }
