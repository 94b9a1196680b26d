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

// check holds the training set to expected.json.
func (d *demo) check(ctx context.Context) error {
	data, err := os.ReadFile(filepath.Join(d.example, "expected.json"))
	if err != nil {
		return err
	}
	var want expected
	if err := json.Unmarshal(data, &want); err != nil {
		return err
	}
	rows, got, err := tallyFile(ctx, d.path("training.parquet"))
	if err != nil {
		return err
	}
	if rows != want.SpineRows {
		return fmt.Errorf("the training set has %d rows where %d are expected", rows, want.SpineRows)
	}
	var faults []error
	columns := 0
	for view, v := range want.Views {
		for name, f := range v.Features {
			columns++
			faults = append(faults, f.compare(view+"__"+name, got[view+"__"+name]))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	fmt.Printf("\nThe %d rows and the counts and sums of all %d feature columns are those of expected.json.\n", rows, columns)
	return nil
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

// tallyFile counts the feature columns of a Parquet file.
func tallyFile(ctx context.Context, path string) (rows int64, columns map[string]*tally, err error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return 0, nil, err
	}
	file, err := parquetio.Open(f, info.Size(), path, parquetio.ReaderOptions{})
	if err != nil {
		return 0, nil, err
	}
	columns = map[string]*tally{}
	for rec, err := range file.Records(ctx, parquetio.ScanOptions{}) {
		if err != nil {
			return 0, nil, err
		}
		rows += rec.NumRows()
		for i, field := range rec.Schema().Fields() {
			if strings.Contains(field.Name, "__") {
				if columns[field.Name] == nil {
					columns[field.Name] = &tally{distinct: map[string]bool{}}
				}
				columns[field.Name].add(rec.Column(i))
			}
		}
		rec.Release()
	}
	return rows, columns, file.Close()
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
