package offline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
)

// The shape of P5 and P11: ten float64 features, 100 rows per key, a year.
const (
	benchFeatures = 10
	benchYear     = 365 * 86400 * 1_000_000
	benchBatch    = 65536
)

func benchView() *feature.BoundView {
	v := makeView(1)
	for i := range benchFeatures {
		v.Features = append(v.Features, feature.Feature{Name: fmt.Sprintf("f%d", i), Type: feature.Float64})
	}
	return v
}

func int64Array(dt arrow.DataType, values []int64) arrow.Array {
	data := array.NewData(dt, len(values), []*memory.Buffer{nil, memory.NewBufferBytes(arrow.Int64Traits.CastToBytes(values))}, nil, 0, 0)
	return array.MakeFromData(data)
}

// benchRecords makes a history that arrives nearly in the order of time.
func benchRecords(v *feature.BoundView, rows int) []arrow.Record {
	r := rand.New(rand.NewPCG(1, 2))
	schema := columns.TableSchema(v)
	var out []arrow.Record
	for start := 0; start < rows; start += benchBatch {
		n := min(benchBatch, rows-start)
		key, event, created := make([]int64, n), make([]int64, n), make([]int64, n)
		for i := range n {
			key[i] = r.Int64N(int64(rows) / 100)
			created[i] = int64(start+i) * (benchYear / int64(rows))
			event[i] = created[i] - r.Int64N(600_000_000)
		}
		cols := []arrow.Array{int64Array(arrow.PrimitiveTypes.Int64, key), int64Array(columns.Timestamp, event), int64Array(columns.Timestamp, created)}
		for range benchFeatures {
			b := array.NewFloat64Builder(memory.DefaultAllocator)
			b.Reserve(n)
			for range n {
				b.UnsafeAppend(r.Float64())
			}
			cols = append(cols, b.NewArray())
		}
		out = append(out, array.NewRecord(schema, cols, int64(n)))
	}
	return out
}

func benchAppend(b *testing.B, s *offline.Store, v *feature.BoundView, records []arrow.Record) {
	b.Helper()
	a, err := s.Append(b.Context(), v, offline.AppendOptions{})
	require.NoError(b, err)
	for _, rec := range records {
		require.NoError(b, a.Write(b.Context(), rec))
	}
	_, err = a.Commit(b.Context())
	require.NoError(b, err)
}

func benchStore(b *testing.B) *offline.Store {
	b.Helper()
	files, err := bucket.Open(b.Context(), b.TempDir(), bucket.Options{})
	require.NoError(b, err)
	s, err := offline.Open(b.Context(), files, offline.Options{TempDir: b.TempDir()})
	require.NoError(b, err)
	return s
}

// BenchmarkAppend sorts and commits rows that arrive unsorted (P11 without the
// reading of the input).
func BenchmarkAppend(b *testing.B) {
	for _, rows := range []int{1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			v := benchView()
			records := benchRecords(v, rows)
			for b.Loop() {
				benchAppend(b, benchStore(b), v, records)
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkHistorical joins spines of several sizes (P5 and P6).
func BenchmarkHistorical(b *testing.B) {
	const rows = 10_000_000
	v := benchView()
	s := benchStore(b)
	benchAppend(b, s, v, benchRecords(v, rows))
	for _, asks := range []int{10_000, 1_000_000, 10_000_000} {
		b.Run(fmt.Sprintf("spine=%d", asks), func(b *testing.B) {
			r := rand.New(rand.NewPCG(3, 4))
			key, when := make([]int64, asks), make([]int64, asks)
			for i := range asks {
				key[i], when[i] = r.Int64N(rows/100), r.Int64N(benchYear)
			}
			schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Int64}, {Name: "at", Type: columns.Timestamp}}, nil)
			rec := array.NewRecord(schema, []arrow.Array{int64Array(arrow.PrimitiveTypes.Int64, key), int64Array(columns.Timestamp, when)}, int64(asks))
			for b.Loop() {
				spine, err := array.NewRecordReader(schema, []arrow.Record{rec})
				require.NoError(b, err)
				reader, err := s.Historical(b.Context(), offline.HistoricalRequest{Spine: spine, TimeColumn: "at", Selection: selectAll(v)})
				require.NoError(b, err)
				for reader.Next() {
					continue
				}
				require.NoError(b, reader.Err())
				reader.Release()
			}
			b.ReportMetric(float64(asks)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
