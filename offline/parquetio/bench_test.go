package parquetio

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// history is a view's table as tables mostly are: a key, two times, ten floats
// with some nulls, sorted.
func history(rows int) arrow.Record {
	fields := []arrow.Field{
		{Name: "key", Type: arrow.PrimitiveTypes.Int64},
		{Name: "event_timestamp", Type: columns.Timestamp},
		{Name: "created", Type: columns.Timestamp},
	}
	for i := range 10 {
		fields = append(fields, arrow.Field{Name: fmt.Sprintf("f%d", i), Type: arrow.PrimitiveTypes.Float64, Nullable: true})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	null := feature.Null(feature.Float64)
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	for i := range rows {
		columns.Append(b.Field(0), feature.Int64Value(int64(i/100)))
		at := int64(1704067200000000) + int64(i)*3_000_000 + rng.Int64N(1_000_000)
		columns.Append(b.Field(1), feature.TimestampValue(feature.Timestamp(at)))
		columns.Append(b.Field(2), feature.TimestampValue(feature.Timestamp(at+rng.Int64N(600_000_000))))
		for f := range 10 {
			v := null
			switch {
			case rng.IntN(33) == 0:
			case f%3 == 0:
				v = feature.Float64Value(rng.Float64()*200 - 100)
			case f%3 == 1:
				v = feature.Float64Value(float64(rng.IntN(1_000_000)) / 100)
			default:
				v = feature.Float64Value(float64(rng.IntN(1000)))
			}
			columns.Append(b.Field(3+f), v)
		}
	}
	return b.NewRecord()
}

var benchCodecs = map[string]Codec{"zstd": Zstd, "snappy": Snappy, "none": Uncompressed}

func BenchmarkWrite(b *testing.B) {
	rec := history(1 << 19)
	for name, codec := range benchCodecs {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			size := int64(0)
			for b.Loop() {
				w, err := NewWriter(io.Discard, rec.Schema(), WriterOptions{Codec: codec, SortedBy: []string{"key", "event_timestamp", "created"}})
				require.NoError(b, err)
				require.NoError(b, w.Write(rec))
				sum, err := w.Close()
				require.NoError(b, err)
				size = sum.Bytes
			}
			report(b, rec, size)
		})
	}
}

func BenchmarkRead(b *testing.B) {
	rec := history(1 << 19)
	for name, codec := range benchCodecs {
		data, _ := write(b, rec.Schema(), WriterOptions{Codec: codec}, rec)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/workers=%d", name, workers), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f, err := Open(bytes.NewReader(data), int64(len(data)), "bench", ReaderOptions{Workers: workers})
					require.NoError(b, err)
					for i := range f.RowGroups() {
						_, err := f.ReadRowGroup(b.Context(), i, nil)
						require.NoError(b, err)
					}
				}
				report(b, rec, int64(len(data)))
			})
		}
	}
}

func report(b *testing.B, rec arrow.Record, size int64) {
	b.Helper()
	b.ReportMetric(float64(rec.NumRows())*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(float64(size)/1e6, "MB")
}
