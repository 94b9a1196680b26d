package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/bench/answer"
	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/parquetio"
)

// view is the one that the generator's rows belong to: ten float64 features of
// an int64 key, good for 30 days.
func view() *feature.BoundView {
	v := &feature.BoundView{
		Project: "bench", ID: 1,
		View: feature.View{Name: "v00", Entities: []string{"key"}, TTL: feature.TTL(30 * 24 * time.Hour), CreatedTimestamp: "created"},
		Keys: []feature.JoinKey{{Name: "key", Type: feature.Int64}},
	}
	for i := range 10 {
		v.Features = append(v.Features, feature.Feature{Name: fmt.Sprintf("f%d", i), Type: feature.Float64})
		v.Slots = append(v.Slots, i)
		v.SlotTypes = append(v.SlotTypes, feature.Float64)
	}
	return v
}

// worker does one job and prints its outcome.
func worker(ctx context.Context, spec string) error {
	var j job
	if err := json.Unmarshal([]byte(spec), &j); err != nil {
		return err
	}
	b, err := bucket.Open(ctx, j.Store, bucket.Options{})
	if err != nil {
		return err
	}
	defer func() { _ = b.Close() }() // nothing is buffered in it
	store, err := offline.Open(ctx, b, offline.Options{TempDir: j.Store})
	if err != nil {
		return err
	}
	do := j.join
	if j.Mode == "ingest" {
		do = j.ingest
	}
	out, err := do(ctx, store)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// timed calls run warmups times and once more on the clock.
func (j job) timed(run func() error) (outcome, error) {
	var out outcome
	for range j.Warmups {
		if err := run(); err != nil {
			return out, err
		}
	}
	start := time.Now()
	err := run()
	out.Seconds = time.Since(start).Seconds()
	out.PeakMB = harness.PeakMB()
	return out, err
}

// join reads the spine, joins, and holds the whole answer in memory or writes
// it to a Parquet file.
func (j job) join(ctx context.Context, store *offline.Store) (outcome, error) {
	var kept []arrow.Record
	path := filepath.Join(j.Store, "answer.parquet")
	out, err := j.timed(func() error {
		kept = kept[:0]
		res, err := j.retrieve(ctx, store)
		if err != nil {
			return err
		}
		defer res.Release()
		if j.Sink == "parquet" {
			return writeParquet(path, res)
		}
		for res.Next() {
			rec := res.Record()
			rec.Retain()
			kept = append(kept, rec)
		}
		return res.Err()
	})
	if err != nil {
		return out, err
	}
	if j.Sink == "parquet" {
		kept, err = readParquet(ctx, path)
		if err != nil {
			return out, err
		}
	}
	err = out.hash(kept)
	return out, err
}

func (j job) retrieve(ctx context.Context, store *offline.Store) (array.RecordReader, error) {
	v := view()
	spine, err := ingest.OpenSpine(ctx, filepath.Join(j.Data, "spine", j.Spine+".parquet"), ingest.SpineOptions{Keys: v.Keys, TimeColumn: "t"})
	if err != nil {
		return nil, err
	}
	var sel feature.Selection
	for i := range v.Features {
		sel.Features = append(sel.Features, feature.SelectedFeature{View: v, Index: i})
	}
	return store.Historical(ctx, offline.HistoricalRequest{Spine: spine, TimeColumn: "t", Selection: sel})
}

func writeParquet(path string, res array.RecordReader) error {
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return err
	}
	w, err := parquetio.NewWriter(f, res.Schema(), parquetio.WriterOptions{Codec: parquetio.Snappy})
	if err != nil {
		return err
	}
	for res.Next() {
		if err := w.Write(res.Record()); err != nil {
			return err
		}
	}
	if err := res.Err(); err != nil {
		return err
	}
	if _, err := w.Close(); err != nil {
		return err
	}
	return f.Close()
}

func readParquet(ctx context.Context, path string) ([]arrow.Record, error) {
	data, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	f, err := parquetio.Open(bytes.NewReader(data), int64(len(data)), path, parquetio.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	var out []arrow.Record
	for rec, err := range f.Records(ctx, parquetio.ScanOptions{}) {
		if err != nil {
			return nil, err
		}
		rec.Retain()
		out = append(out, rec)
	}
	return out, f.Close()
}

// ingest brings the unsorted file in; the hash is that of the table as it is
// scanned.
func (j job) ingest(ctx context.Context, store *offline.Store) (outcome, error) {
	v := view()
	in := ingest.New(ingest.Options{Offline: store, TempDir: j.Store})
	out, err := j.timed(func() error {
		_, err := in.Files(ctx, ingest.FileRequest{
			View: v, Inputs: []string{filepath.Join(j.Data, "history", "v00", "unsorted."+j.Source)}, Strict: true,
		})
		return err
	})
	if err != nil {
		return out, err
	}
	rows, err := store.Scan(ctx, v, offline.ScanRequest{})
	if err != nil {
		return out, err
	}
	defer rows.Release()
	var h answer.Hash
	for rows.Next() {
		if err := h.Add(rows.Record()); err != nil {
			return out, err
		}
		out.Rows += rows.Record().NumRows()
	}
	out.Hash = h.Sum()
	return out, rows.Err()
}

func (o *outcome) hash(records []arrow.Record) error {
	var h answer.Hash
	for _, rec := range records {
		if err := h.Add(rec); err != nil {
			return err
		}
		o.Rows += rec.NumRows()
	}
	o.Hash = h.Sum()
	return nil
}
