package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

// The benchmarks hold entities rows of ten float64 in each of several views.
const (
	benchEntities = 100_000
	benchViews    = 5
)

func benchView(tb testing.TB, id feature.ViewID) onlinetest.View {
	tb.Helper()
	features := make([]string, 10)
	for i := range features {
		features[i] = fmt.Sprintf("f%d float64", i)
	}
	return onlinetest.MakeView(tb, id, []string{"k int64"}, features)
}

// benchRows packs rows [from, to) of a view.
func benchRows(tb testing.TB, v onlinetest.View, from, to int64, at feature.Timestamp) []online.Row {
	tb.Helper()
	values := make([]feature.Value, len(v.Features))
	rows := make([]online.Row, 0, to-from)
	for k := from; k < to; k++ {
		for i := range values {
			values[i] = feature.Float64Value(float64(k*10+int64(i)) / 7)
		}
		rows = append(rows, v.Row(tb, v.Key(tb, feature.Int64Value(k)), at, at, values...))
	}
	return rows
}

// benchStore is a store on files with all rows, most of them in files.
func benchStore(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.TempDir(), Options{CacheBytes: 1 << 30})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	for id := range feature.ViewID(benchViews) {
		v := benchView(b, id)
		for from := int64(0); from < benchEntities; from += 10_000 {
			_, err := s.Write(b.Context(), id, benchRows(b, v, from, from+10_000, 1))
			require.NoError(b, err)
		}
	}
	require.NoError(b, s.db.Flush())
	return s
}

// BenchmarkStoreRead looks up entities in five views, which is one row each.
func BenchmarkStoreRead(b *testing.B) {
	s := benchStore(b)
	v := benchView(b, 0)
	r := rand.New(rand.NewPCG(1, 2))
	batches := make([][]feature.EntityKey, 64)
	for _, n := range []int{1, 10, 100} {
		for i := range batches {
			batches[i] = make([]feature.EntityKey, n)
			for j := range n {
				batches[i][j] = v.Key(b, feature.Int64Value(r.Int64N(benchEntities)))
			}
		}
		b.Run(fmt.Sprintf("keys=%d/views=%d", n, benchViews), func(b *testing.B) {
			b.ReportAllocs()
			var rows online.Rows
			lookups := make([]online.Lookup, benchViews)
			i := 0
			for b.Loop() {
				i++
				for id := range lookups {
					lookups[id] = online.Lookup{View: feature.ViewID(id), Keys: batches[i%len(batches)]}
				}
				if err := s.Read(b.Context(), lookups, &rows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n*benchViews), "ns/row")
		})
	}
}

// BenchmarkStoreWrite writes batches of rows that replace what is there.
func BenchmarkStoreWrite(b *testing.B) {
	for _, n := range []int64{1, 100, 10_000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			s, err := Open(b.TempDir(), Options{})
			require.NoError(b, err)
			defer func() { require.NoError(b, s.Close()) }()
			v := benchView(b, 1)
			rows := benchRows(b, v, 0, n, 1)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Write(b.Context(), v.ID, rows); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/row")
		})
	}
}
