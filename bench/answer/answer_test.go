package answer

import (
	"math"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
)

func record(t *testing.T, floats []float64, texts []string) arrow.Record {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	fb := array.NewFloat64Builder(memory.DefaultAllocator)
	fb.AppendValues(floats, nil)
	fb.AppendNull()
	sb := array.NewStringBuilder(memory.DefaultAllocator)
	sb.AppendValues(texts, nil)
	sb.AppendNull()
	cols := []arrow.Array{fb.NewArray(), sb.NewArray()}
	return array.NewRecord(schema, cols, int64(len(floats)+1))
}

// The expected hash is what bench/peers/common.py gives for the same rows:
//
//	table_hash(pa.table({"f": [1.5, nan, None], "s": ["a", "bc", None]}))
func TestHashEqualsThePeers(t *testing.T) {
	var h Hash
	require.NoError(t, h.Add(record(t, []float64{1.5, math.NaN()}, []string{"a", "bc"})))
	require.Equal(t, "f72fe4c5cf1a4a8e28dc879b28a24f6b7425f466d3351aab8bdaa81cded4d6fa", h.Sum())
}

func TestHashDoesNotDependOnBatches(t *testing.T) {
	rec := record(t, []float64{1, 2, 3}, []string{"a", "b", "c"})
	var whole, parts Hash
	require.NoError(t, whole.Add(rec))
	for i := range rec.NumRows() {
		require.NoError(t, parts.Add(rec.NewSlice(i, i+1)))
	}
	require.Equal(t, whole.Sum(), parts.Sum())
}
