package ingest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/parquetio"
)

// wideView is a key, two timestamps and ten floats.
func wideView() *feature.BoundView {
	v := &feature.BoundView{
		View:    feature.View{Name: "wide", CreatedTimestamp: "created"},
		Project: "bench", ID: 1, Keys: []feature.JoinKey{{Name: "key", Type: feature.Int64}},
	}
	for j := range 10 {
		v.Features = append(v.Features, feature.Feature{Name: fmt.Sprintf("f%d", j), Type: feature.Float64})
		v.Slots, v.SlotTypes = append(v.Slots, j), append(v.SlotTypes, feature.Float64)
	}
	return v
}

func wideCSV(rows int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	b.WriteString("key,event_timestamp,created,f0,f1,f2,f3,f4,f5,f6,f7,f8,f9\n")
	for i := range rows {
		at := feature.Timestamp(1_704_067_200_000_000 + int64(i)*3_000_001).Time().Format("2006-01-02 15:04:05.000000Z")
		fmt.Fprintf(&b, "%d,%s,%s", rng.IntN(100_000), at, at)
		for j := range 10 {
			switch j % 3 {
			case 0:
				fmt.Fprintf(&b, ",%v", rng.Float64()*200-100)
			case 1:
				fmt.Fprintf(&b, ",%v", float64(rng.IntN(1_000_000))/100)
			default:
				fmt.Fprintf(&b, ",%d", rng.IntN(1000))
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func wideNDJSON(rows int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var b bytes.Buffer
	for i := range rows {
		at := feature.Timestamp(1_704_067_200_000_000 + int64(i)*3_000_001)
		fmt.Fprintf(&b, `{"key": %d, "event_timestamp": "%s", "created": "%s"`, rng.IntN(100_000), at, at)
		for j := range 10 {
			fmt.Fprintf(&b, `, "f%d": %v`, j, float64(rng.IntN(1_000_000))/100)
		}
		b.WriteString("}\n")
	}
	return b.Bytes()
}

// wideParquet has the rows of wideCSV.
func wideParquet(b *testing.B, rows int) []byte {
	b.Helper()
	data := wideCSV(rows)
	in := &input{name: "bench", format: feature.FormatCSV, open: func(context.Context) (blob, error) { return newMemory(data), nil }}
	var out bytes.Buffer
	var w *parquetio.Writer
	for batch, err := range New(Options{}).reader(bindFiles(wideView(), 0)).batches(b.Context(), in) {
		require.NoError(b, err)
		if w == nil {
			w, err = parquetio.NewWriter(&out, batch.record.Schema(), parquetio.WriterOptions{})
			require.NoError(b, err)
		}
		require.NoError(b, w.Write(batch.record))
	}
	_, err := w.Close()
	require.NoError(b, err)
	return out.Bytes()
}

func benchmarkDecode(b *testing.B, format feature.Format, data []byte) {
	b.Helper()
	i := New(Options{})
	bound := bindFiles(wideView(), 0)
	in := &input{name: "bench", format: format, size: int64(len(data)), open: func(context.Context) (blob, error) { return newMemory(data), nil }}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		for batch, err := range i.reader(bound).batches(b.Context(), in) {
			require.NoError(b, err)
			require.Zero(b, batch.rejected)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	const rows = 200_000
	b.Run("csv", func(b *testing.B) { benchmarkDecode(b, feature.FormatCSV, wideCSV(rows)) })
	b.Run("parquet", func(b *testing.B) { benchmarkDecode(b, feature.FormatParquet, wideParquet(b, rows)) })
	b.Run("ndjson", func(b *testing.B) { benchmarkDecode(b, feature.FormatNDJSON, wideNDJSON(rows)) })
}
