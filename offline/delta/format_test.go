package delta_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	arrowcols "github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/parquetio"
)

var makeFormat = flag.String("make-format", "", "write the table of testdata/format_v1 into this folder")

// formatFields has a column of every type.
func formatFields() []delta.Field {
	fields := []delta.Field{{Name: "k", Type: feature.Int64}, {Name: "ts", Type: feature.TimestampType}}
	for kind := feature.KindBool; kind <= feature.KindTimestamp; kind++ {
		scalar := feature.Type{Kind: kind}
		fields = append(fields,
			delta.Field{Name: "a_" + kind.String(), Type: scalar, Nullable: true},
			delta.Field{Name: "l_" + kind.String(), Type: feature.ListOf(scalar), Nullable: true})
	}
	return append(fields, delta.Field{Name: "e", Type: feature.Vector(2), Nullable: true, Metadata: map[string]string{"comment": "embedding"}})
}

// formatValue is the value of row i in a column; every third row is null.
func formatValue(t feature.Type, i int) feature.Value {
	if !t.IsScalar() {
		elems := []feature.Value{formatValue(t.Elem(), 1), formatValue(t.Elem(), i+4-i%3)}
		if t.List && i%2 == 1 {
			elems[0] = feature.Null(t.Elem())
		}
		if i%3 == 2 {
			return feature.Null(t)
		}
		return feature.ListValue(t, elems)
	}
	if i%3 == 2 {
		return feature.Null(t)
	}
	switch t.Kind {
	case feature.KindBool:
		return feature.BoolValue(i%2 == 0)
	case feature.KindInt32:
		return feature.Int32Value(int32(-i))
	case feature.KindInt64:
		return feature.Int64Value(1<<53 + int64(i))
	case feature.KindFloat32:
		return feature.Float32Value(float32(i) / 4)
	case feature.KindFloat64:
		return feature.Float64Value(float64(i) / 10)
	case feature.KindString:
		return feature.StringValue(fmt.Sprintf("é%d", i))
	case feature.KindBytes:
		return feature.BytesValue([]byte{0xff, byte(i)})
	case feature.KindTimestamp, feature.KindInvalid:
	}
	return feature.TimestampValue(feature.Timestamp(1704103200123456 + int64(i)))
}

// writeData writes a Parquet file of n rows, keys from first on.
func writeData(t *testing.T, b bucket.Bucket, prefix, name string, first, n int) delta.File {
	t.Helper()
	fields := formatFields()
	arrowFields := make([]arrow.Field, len(fields))
	for i, f := range fields {
		stored := f.Type
		if stored.IsVector() {
			// To the log a vector is an array, and engines compare the two: a
			// fixed size in the file's Arrow schema is refused by some.
			stored = feature.ListOf(stored.Elem())
		}
		arrowFields[i] = arrow.Field{Name: f.Name, Type: arrowcols.DataType(stored), Nullable: f.Nullable}
	}
	schema := arrow.NewSchema(arrowFields, nil)
	rb := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer rb.Release()
	for row := range n {
		for i, f := range fields {
			v := formatValue(f.Type, first+row)
			switch f.Name {
			case "k":
				v = feature.Int64Value(int64(first + row))
			case "ts":
				v = feature.TimestampValue(feature.Timestamp(1704103200000000 + int64(first+row)*1001))
			}
			arrowcols.Append(rb.Field(i), v)
		}
	}
	rec := rb.NewRecord()
	defer rec.Release()
	var buf bytes.Buffer
	w, err := parquetio.NewWriter(&buf, schema, parquetio.WriterOptions{SortedBy: []string{"k", "ts"}})
	require.NoError(t, err)
	require.NoError(t, w.Write(rec))
	summary, err := w.Close()
	require.NoError(t, err)
	require.NoError(t, b.PutIfAbsent(t.Context(), prefix+name, buf.Bytes()))
	stats := delta.Stats{Rows: summary.Rows, Columns: map[string]delta.ColumnStats{}}
	for name := range summary.Columns {
		stats.Columns[name] = delta.ColumnStats(summary.Columns[name])
	}
	return delta.File{
		Path: name, Size: int64(buf.Len()), ModificationTime: feature.FromTime(noon), DataChange: true, Stats: stats,
		Tags: map[string]string{"granary.sorted": "k,ts"},
	}
}

// writeFormat writes the table of testdata/format_v1: seven versions, a
// checkpoint at the third and the sixth, applications, a removal, a new column.
func writeFormat(t *testing.T, b bucket.Bucket, prefix string) *delta.Log {
	t.Helper()
	c := clock.NewManual(noon)
	l := delta.New(b, prefix, delta.Options{Clock: c, CheckpointEvery: 3})
	_, err := l.Create(t.Context(), delta.Metadata{
		Name: "weather", Description: "as the first release writes it", Fields: formatFields(),
		Configuration: map[string]string{"granary.view": "7"},
	})
	require.NoError(t, err)
	for i := range 5 {
		c.Advance(time.Second)
		_, err := l.Commit(t.Context(), delta.Transaction{
			Operation: "WRITE", Parameters: map[string]string{"mode": "Append"},
			Add:  []delta.File{writeData(t, b, prefix+"/", fmt.Sprintf("part %d.parquet", i), i*3, 3)},
			Apps: []delta.AppTransaction{{ID: "loader", Version: int64(i)}, {ID: fmt.Sprintf("granary.idempotency/%d", i), Version: delta.OwnVersion}},
		})
		require.NoError(t, err)
	}
	snap, err := l.Snapshot(t.Context())
	require.NoError(t, err)
	more := snap.Metadata
	more.Fields = append(formatFields(), delta.Field{Name: "added", Type: feature.String, Nullable: true})
	for _, tx := range []delta.Transaction{
		{Read: snap, Operation: "DELETE", Remove: snap.Files[1:2]},
		{Read: snap, Operation: "ADD COLUMNS", Metadata: &more},
	} {
		c.Advance(time.Second)
		_, err := l.Commit(t.Context(), tx)
		require.NoError(t, err)
	}
	return l
}

// TestFormatV1 opens the table that the first release wrote. It must do so for
// ever: the files of testdata/format_v1 are never written again.
func TestFormatV1(t *testing.T) {
	if *makeFormat != "" {
		b, err := bucket.Open(t.Context(), *makeFormat, bucket.Options{})
		require.NoError(t, err)
		writeFormat(t, b, "weather")
		require.NoError(t, b.Close())
	}
	want, err := writeFormat(t, openBucket(t, "mem://"), "weather").Snapshot(t.Context())
	require.NoError(t, err)
	for _, cleaned := range []bool{false, true} {
		root := t.TempDir()
		require.NoError(t, os.CopyFS(root, os.DirFS("testdata/format_v1")))
		for v := range 6 {
			if cleaned {
				require.NoError(t, os.Remove(fmt.Sprintf("%s/weather/_delta_log/%020d.json", root, v)))
			}
		}
		got, err := delta.New(openBucket(t, root), "weather", delta.Options{}).Snapshot(t.Context())
		require.NoError(t, err)
		want.Metadata.ID = got.Metadata.ID
		requireSame(t, want, got)
		version, ok := got.App("loader")
		require.True(t, ok)
		require.EqualValues(t, 4, version)
		version, ok = got.App("granary.idempotency/2")
		require.True(t, ok)
		require.EqualValues(t, 3, version)
	}
}
