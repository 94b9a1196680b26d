package runs

import (
	"context"
	"errors"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/internal/gather"
)

// Options bound a sorter.
type Options struct {
	// Dir is where the folder of the runs is made, when there is a first run.
	Dir string
	// MemoryBytes is about how much memory the sorter may use.
	MemoryBytes int64
}

// Sorter sorts records of one schema. It is for one goroutine; it has at most
// one of its own, which Sorted and Close wait for.
type Sorter struct {
	schema  *arrow.Schema
	keys    []feature.JoinKey
	o       Options
	buffer  buffer
	rows    int64
	bytes   int64
	dir     *folder
	runs    []string
	spiller *errgroup.Group // writes the latest run
	spilled string          // its path, once the spiller is done
}

// New returns a sorter. The first columns of the schema are the join keys, then
// come the event and the created timestamp; none of these is null.
func New(schema *arrow.Schema, keys []feature.JoinKey, o Options) *Sorter {
	return &Sorter{schema: schema, keys: keys, o: o}
}

// Rows returns the number of rows so far.
func (s *Sorter) Rows() int64 { return s.rows }

// RowBytes returns the average size of a row in memory, at least 1.
func (s *Sorter) RowBytes() int64 { return max(1, s.bytes/max(1, s.rows)) }

// Add takes the rows of a record, which is retained until they are sorted.
func (s *Sorter) Add(ctx context.Context, rec arrow.Record) error {
	if rec.NumRows() == 0 {
		return nil
	}
	s.buffer.add(rec)
	s.rows += rec.NumRows()
	s.bytes += gather.Bytes(rec)
	// One buffer fills while the other is sorted and written.
	if s.buffer.bytes < s.o.MemoryBytes/2 {
		return nil
	}
	return s.spill(ctx)
}

// spill sorts and writes the buffer as a run, in a goroutine; it waits for the
// one before.
func (s *Sorter) spill(ctx context.Context) error {
	if err := s.wait(); err != nil {
		return err
	}
	if s.dir == nil {
		dir, err := makeFolder(s.o.Dir)
		if err != nil {
			return spillError(err)
		}
		s.dir = dir
	}
	path := s.dir.file(len(s.runs))
	full, batchRows := s.buffer, s.batchRows()
	s.buffer = buffer{}
	s.spiller = &errgroup.Group{}
	s.spilled = path
	s.spiller.Go(func() error {
		defer full.release()
		return writeRun(path, s.schema, full.sorted(ctx, s.schema, s.keys, batchRows))
	})
	return nil
}

// wait waits for the run that is being written.
func (s *Sorter) wait() error {
	if s.spiller == nil {
		return nil
	}
	err := s.spiller.Wait()
	s.spiller = nil
	if err == nil {
		s.runs = append(s.runs, s.spilled)
	}
	return err
}

// batchBytes is the size of the batches of a run. A merge holds one of each.
const batchBytes = 1 << 20

// batchRows is the number of rows of such a batch.
func (s *Sorter) batchRows() int {
	const most = 65536
	return int(min(max(batchBytes/s.RowBytes(), 1), most))
}

// fanIn is how many runs are merged at once.
func (s *Sorter) fanIn() int {
	const fewest, most = 8, 512
	return int(min(max(s.o.MemoryBytes/(2*batchBytes), fewest), most))
}

// Sorted yields all rows in order, in batches of about a megabyte. It is called
// once; nothing may be added after it.
func (s *Sorter) Sorted(ctx context.Context) iter.Seq2[arrow.Record, error] {
	fail := func(err error) iter.Seq2[arrow.Record, error] {
		return func(yield func(arrow.Record, error) bool) { yield(nil, err) }
	}
	if err := s.wait(); err != nil {
		return fail(err)
	}
	if len(s.runs) == 0 {
		return s.buffer.sorted(ctx, s.schema, s.keys, s.batchRows())
	}
	if len(s.buffer.records) > 0 && !s.keepsLast() {
		if err := s.spill(ctx); err != nil {
			return fail(err)
		}
		if err := s.wait(); err != nil {
			return fail(err)
		}
	}
	if err := s.reduce(ctx); err != nil {
		return fail(err)
	}
	return s.merge(ctx, s.runs, &s.buffer)
}

// keepsLast tells whether the last buffer can stay in memory while the runs are
// merged with it, whose batches then have the other half.
func (s *Sorter) keepsLast() bool {
	return int64(len(s.runs))*2*batchBytes <= s.o.MemoryBytes/2
}

// reduce merges neighbouring runs until there are few enough. Only neighbours
// are merged, so that the order of arrival is kept.
func (s *Sorter) reduce(ctx context.Context) error {
	made := len(s.runs)
	for len(s.runs) > s.fanIn() {
		var merged []string
		for start := 0; start < len(s.runs); start += s.fanIn() {
			part := s.runs[start:min(start+s.fanIn(), len(s.runs))]
			path := s.dir.file(made)
			made++
			if err := writeRun(path, s.schema, s.merge(ctx, part, &buffer{})); err != nil {
				return err
			}
			if err := removeAll(part); err != nil {
				return err
			}
			merged = append(merged, path)
		}
		s.runs = merged
	}
	return nil
}

// merge yields the rows of runs and of a buffer, which came after them, in order.
func (s *Sorter) merge(ctx context.Context, paths []string, last *buffer) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		m := merger{schema: s.schema, keys: s.keys, batchRows: s.batchRows()}
		var inMemory source
		if last.rows > 0 {
			inMemory = readBuffer(last.sorted(ctx, s.schema, s.keys, s.batchRows()))
		}
		err := m.open(paths, inMemory)
		if err == nil {
			err = m.run(ctx, yield)
		}
		if err = errors.Join(err, m.close()); err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// Close drops the rows and removes the runs.
func (s *Sorter) Close() error {
	err := s.wait()
	s.buffer.release()
	s.buffer = buffer{}
	if s.dir != nil {
		err = errors.Join(err, s.dir.remove())
		s.dir = nil
	}
	return err
}
