package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/bench/answer"
	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/offline/parquetio"
)

// batchRows is the batch that the peers are asked for.
const batchRows = 131072

// worker scans once to warm up, once on the clock, and once for the hash.
func worker(ctx context.Context, spec string) error {
	var j job
	if err := json.Unmarshal([]byte(spec), &j); err != nil {
		return err
	}
	drop := func(arrow.Record) error { return nil }
	if err := j.scan(ctx, drop); err != nil {
		return err
	}
	var kept []arrow.Record
	keep := func(rec arrow.Record) error {
		kept = append(kept, rec)
		return nil
	}
	if j.Mode == "stream" {
		keep = drop
	}
	start := time.Now()
	if err := j.scan(ctx, keep); err != nil {
		return err
	}
	out := outcome{Seconds: time.Since(start).Seconds(), PeakMB: harness.PeakMB()}
	var h answer.Hash
	if err := j.scan(ctx, h.Add); err != nil {
		return err
	}
	out.Hash = h.Sum()
	return json.NewEncoder(os.Stdout).Encode(out)
}

// scan reads the file and hands each record on.
func (j job) scan(ctx context.Context, use func(arrow.Record) error) (err error) {
	src, err := os.Open(filepath.Clean(j.File))
	if err != nil {
		return err
	}
	info, err := src.Stat()
	if err != nil {
		return errors.Join(err, src.Close())
	}
	f, err := parquetio.Open(src, info.Size(), j.File, parquetio.ReaderOptions{})
	if err != nil {
		return errors.Join(err, src.Close())
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	columns := j.selection(f.Schema())
	if j.Mode == "table" {
		for i := range f.RowGroups() {
			rec, err := f.ReadRowGroup(ctx, i, columns)
			if err != nil {
				return err
			}
			if err := use(rec); err != nil {
				return err
			}
		}
		return nil
	}
	for rec, err := range f.Records(ctx, parquetio.ScanOptions{Columns: columns, BatchRows: batchRows}) {
		if err != nil {
			return err
		}
		if err := use(rec); err != nil {
			return err
		}
	}
	return nil
}

// selection is that of peers/scan.py: all columns, or features spread over the
// file.
func (j job) selection(schema *arrow.Schema) []string {
	if j.Columns == 0 {
		return nil
	}
	var features, out []string
	for _, f := range schema.Fields() {
		if !slices.Contains([]string{"key", "event_timestamp", "created"}, f.Name) {
			features = append(features, f.Name)
		}
	}
	for i := 0; i < len(features) && len(out) < j.Columns; i += len(features) / j.Columns {
		out = append(out, features[i])
	}
	return out
}
