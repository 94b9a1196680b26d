package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc64"
	"os"
	"path/filepath"
	"runtime/debug"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"

	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/pebblestore"
)

// The sides. Ours takes the newest row of each entity and writes them by the
// newer-than rule; the peer sets every row, in the order of time.
const (
	sideOurs   = "ours"
	sideSet    = "set"
	sideNewest = "set-newest"
)

var sideNames = []string{sideOurs, sideSet, sideNewest}

const (
	writeRows  = 10_000 // of one batch, on every side
	recordRows = 128 << 10
	features   = 10
)

// workload is a history sorted by entity and time, as a table's files are.
type workload struct{ Entities, PerEntity int64 }

func (w workload) rows() int64 { return w.Entities * w.PerEntity }

func (w workload) view() *feature.BoundView {
	v := &feature.BoundView{View: feature.View{Name: "history"}, Project: "bench", ID: 1}
	v.Keys = []feature.JoinKey{{Name: "key", Type: feature.Int64}}
	for i := range features {
		v.Features = append(v.Features, feature.Feature{Name: fmt.Sprintf("f%d", i), Type: feature.Float64})
		v.Slots, v.SlotTypes = append(v.Slots, i), append(v.SlotTypes, feature.Float64)
	}
	return v
}

// records returns the history in columns.
func (w workload) records() []arrow.Record {
	schema := columns.TableSchema(w.view())
	var out []arrow.Record
	for from := int64(0); from < w.rows(); from += recordRows {
		out = append(out, w.record(schema, from, min(from+recordRows, w.rows())))
	}
	return out
}

func (w workload) record(schema *arrow.Schema, from, to int64) arrow.Record {
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Reserve(int(to - from))
	for i := from; i < to; i++ {
		columns.Append(b.Field(0), feature.Int64Value(i/w.PerEntity))
		at := feature.TimestampValue(feature.Timestamp(i%w.PerEntity) * 1e6)
		columns.Append(b.Field(1), at)
		columns.Append(b.Field(2), at)
		for f := range features {
			columns.Append(b.Field(3+f), feature.Float64Value(unit(i*features+int64(f))))
		}
	}
	return b.NewRecord()
}

// unit is a number in [0, 1) that follows from i.
func unit(i int64) float64 {
	x := uint64(i) * 0x9E3779B97F4A7C15 //nolint:gosec // a counter
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return float64((x^x>>31)>>11) / (1 << 53)
}

// worker runs a side and prints its outcome.
func worker(ctx context.Context, w workload, side string) error {
	dir, err := os.MkdirTemp("", "granary-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a folder of the machine's own temp
	records := w.records()
	debug.FreeOSMemory()
	load, ok := map[string]func() error{
		sideOurs:   func() error { return materialize(ctx, w, records, dir) },
		sideSet:    func() error { return setRows(w, records, dir, false) },
		sideNewest: func() error { return setRows(w, records, dir, true) },
	}[side]
	if !ok {
		return errNoSide
	}
	c := clock.Real{}
	started := c.Now()
	if err := load(); err != nil {
		return err
	}
	out := outcome{Seconds: c.Now().Sub(started).Seconds(), PeakMB: harness.PeakMB(), DiskMB: diskMB(dir)}
	if out.Hash, err = hashRows(dir); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// newest calls visit with the last row of each entity of the sorted history.
func newest(l *online.Layout, records []arrow.Record, visit func(key, packed []byte) error) error {
	var key, next, packed []byte
	var last *online.Columns
	lastRow := 0
	flush := func() error {
		if last == nil {
			return nil
		}
		var err error
		if packed, err = last.AppendRow(packed[:0], lastRow); err != nil {
			return err
		}
		return visit(key, packed)
	}
	for _, rec := range records {
		c, err := l.Columns(rec)
		if err != nil {
			return err
		}
		for i := range c.Rows() {
			if next, err = c.AppendKey(next[:0], i); err != nil {
				return err
			}
			if last != nil && !bytes.Equal(next, key) {
				if err := flush(); err != nil {
					return err
				}
			}
			key, next, last, lastRow = next, key, c, i
		}
	}
	return flush()
}

// materialize is ours.
func materialize(ctx context.Context, w workload, records []arrow.Record, dir string) error {
	s, err := pebblestore.Open(dir, pebblestore.Options{})
	if err != nil {
		return err
	}
	v := w.view()
	batch := make([]online.Row, 0, writeRows)
	arena := make([]byte, 0, writeRows*160)
	write := func() error {
		_, err := s.Write(ctx, v.ID, batch)
		batch, arena = batch[:0], arena[:0]
		return err
	}
	err = newest(online.NewLayout(v), records, func(key, packed []byte) error {
		start := len(arena)
		arena = append(arena, packed...)
		batch = append(batch, online.Row{Key: feature.EntityKey(key), Packed: arena[start:len(arena):len(arena)]})
		if len(batch) == writeRows {
			return write()
		}
		return nil
	})
	if err == nil {
		err = write()
	}
	if err == nil {
		err = s.SetMark(ctx, v.ID, online.Mark{Version: 1, Through: feature.MaxTimestamp})
	}
	return errors.Join(err, s.Close())
}

// peerOptions are those of the store, as far as they make a difference.
func peerOptions() *pebble.Options {
	o := &pebble.Options{
		CacheSize: 256 << 20, MemTableSize: 64 << 20, MemTableStopWritesThreshold: 4,
		L0CompactionThreshold: 2, L0StopWritesThreshold: 1000, LBaseMaxBytes: 64 << 20,
		CompactionConcurrencyRange: func() (lower, upper int) { return 1, 2 },
		FormatMajorVersion:         pebble.FormatTableFormatV6,
		Logger:                     quiet{},
	}
	o.TargetFileSizes[0] = 8 << 20
	for i := range o.Levels {
		o.Levels[i].BlockSize, o.Levels[i].IndexBlockSize = 16<<10, 256<<10
		o.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	return o
}

// quiet keeps standard error for what went wrong.
type quiet struct{}

func (quiet) Infof(string, ...any)           {}
func (quiet) Errorf(format string, a ...any) { fmt.Fprintf(os.Stderr, format+"\n", a...) }
func (quiet) Fatalf(format string, a ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", a...)
	os.Exit(1)
}

// setRows is the peer: a loop of Set, a synced batch at a time.
func setRows(w workload, records []arrow.Record, dir string, newestOnly bool) error {
	db, err := pebble.Open(dir, peerOptions())
	if err != nil {
		return err
	}
	v := w.view()
	b, n := db.NewBatch(), 0
	var at []byte
	set := func(key, packed []byte) error {
		at = online.AppendRowKey(at[:0], v.ID, 0, feature.EntityKey(key))
		if err := b.Set(at, packed, nil); err != nil {
			return err
		}
		if n++; n < writeRows {
			return nil
		}
		err := b.Commit(pebble.Sync)
		b, n = db.NewBatch(), 0
		return err
	}
	l := online.NewLayout(v)
	if newestOnly {
		err = newest(l, records, set)
	} else {
		err = everyRow(l, records, set)
	}
	if err == nil {
		err = b.Commit(pebble.Sync)
	}
	return errors.Join(err, db.Close())
}

func everyRow(l *online.Layout, records []arrow.Record, visit func(key, packed []byte) error) error {
	var key, packed []byte
	for _, rec := range records {
		c, err := l.Columns(rec)
		if err != nil {
			return err
		}
		for i := range c.Rows() {
			if key, err = c.AppendKey(key[:0], i); err != nil {
				return err
			}
			if packed, err = c.AppendRow(packed[:0], i); err != nil {
				return err
			}
			if err := visit(key, packed); err != nil {
				return err
			}
		}
	}
	return nil
}

// hashRows reads every row of a directory and returns the hash of keys and
// values.
func hashRows(dir string) (uint64, error) {
	db, err := pebble.Open(dir, peerOptions())
	if err != nil {
		return 0, err
	}
	start, end := online.AppendRowPrefix(nil, 1, 0), online.AppendRowPrefix(nil, 1, 1)
	iter, err := db.NewIter(&pebble.IterOptions{LowerBound: start, UpperBound: end})
	if err != nil {
		return 0, errors.Join(err, db.Close())
	}
	sum := crc64.New(crc64.MakeTable(crc64.ECMA))
	for iter.First(); iter.Valid() && err == nil; iter.Next() {
		if _, err = sum.Write(iter.Key()); err == nil {
			_, err = sum.Write(iter.Value())
		}
	}
	return sum.Sum64(), errors.Join(err, iter.Close(), db.Close())
}

// diskMB returns the bytes of the files of a directory.
func diskMB(dir string) float64 {
	total := int64(0)
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return 0
	}
	for _, name := range names {
		if info, err := os.Stat(name); err == nil {
			total += info.Size()
		}
	}
	return float64(total) / 1e6
}
