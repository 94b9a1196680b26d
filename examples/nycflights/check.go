package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/offline/parquetio"
)

// expected is expected.json: the answer that the naive rule gives.
type expected struct {
	SpineRows int64                   `json:"spine_rows"`
	Views     map[string]expectedView `json:"views"`
}

type expectedView struct {
	Features map[string]expectedFeature `json:"features"`
}

// expectedFeature is what is known of one column: how many values it has, and
// their sum or how many different ones there are.
type expectedFeature struct {
	NotNull  int64    `json:"not_null"`
	Sum      *float64 `json:"sum"`
	Distinct *int     `json:"distinct"`
}

// tally is what is counted of one column.
type tally struct {
	notNull  int64
	sum      float64
	distinct map[string]bool
}

// counts are the tallies of all feature columns.
type counts struct {
	rows    int64
	columns map[string]*tally
}

// check holds the training set to expected.json.
func (d *demo) check(ctx context.Context) error {
	want, err := readExpected(d.example)
	if err != nil {
		return err
	}
	got, err := countFile(ctx, d.path("training.parquet"))
	if err != nil {
		return err
	}
	if err := want.compare(got); err != nil {
		return err
	}
	fmt.Printf("\nThe %d rows and the counts and sums of all %d feature columns are those of expected.json.\n", got.rows, len(got.columns))
	return nil
}

func readExpected(example string) (expected, error) {
	var want expected
	data, err := os.ReadFile(filepath.Clean(filepath.Join(example, "expected.json")))
	if err != nil {
		return want, err
	}
	err = json.Unmarshal(data, &want)
	return want, err
}

// compare tells every column that is not as expected.
func (e expected) compare(got *counts) error {
	var faults []error
	if got.rows != e.SpineRows {
		faults = append(faults, fmt.Errorf("the training set has %d rows where %d are expected", got.rows, e.SpineRows))
	}
	for view, v := range e.Views {
		for name, f := range v.Features {
			faults = append(faults, f.compare(view+"__"+name, got.columns[view+"__"+name]))
		}
	}
	return errors.Join(faults...)
}

func (f expectedFeature) compare(column string, got *tally) error {
	switch {
	case got == nil:
		return fmt.Errorf("%s is missing", column)
	case got.notNull != f.NotNull:
		return fmt.Errorf("%s has %d values where %d are expected", column, got.notNull, f.NotNull)
	case f.Sum != nil && math.Abs(got.sum-*f.Sum) > 0.01:
		return fmt.Errorf("%s sums to %f where %f is expected", column, got.sum, *f.Sum)
	case f.Distinct != nil && len(got.distinct) != *f.Distinct:
		return fmt.Errorf("%s has %d different values where %d are expected", column, len(got.distinct), *f.Distinct)
	}
	return nil
}

// countFile counts the feature columns of a Parquet file.
func countFile(ctx context.Context, path string) (*counts, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquetio.Open(f, info.Size(), path, parquetio.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	got := &counts{columns: map[string]*tally{}}
	for rec, err := range file.Records(ctx, parquetio.ScanOptions{}) {
		if err != nil {
			return nil, err
		}
		got.add(rec)
		rec.Release()
	}
	return got, file.Close()
}

// add counts the feature columns of one batch.
func (c *counts) add(rec arrow.Record) {
	c.rows += rec.NumRows()
	for i, field := range rec.Schema().Fields() {
		if !strings.Contains(field.Name, "__") {
			continue
		}
		if c.columns[field.Name] == nil {
			c.columns[field.Name] = &tally{distinct: map[string]bool{}}
		}
		c.columns[field.Name].add(rec.Column(i))
	}
}

// add counts the values of one batch.
func (t *tally) add(column arrow.Array) {
	for i := range column.Len() {
		if column.IsNull(i) {
			continue
		}
		t.notNull++
		switch c := column.(type) {
		case *array.Float64:
			t.sum += c.Value(i)
		case *array.Int64:
			t.sum += float64(c.Value(i))
		case *array.String:
			t.distinct[strings.Clone(c.Value(i))] = true
		}
	}
}
