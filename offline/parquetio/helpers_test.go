package parquetio

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// allTypes are the types of features.
var allTypes = []feature.Type{
	feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes,
	feature.TimestampType, feature.ListOf(feature.Bool), feature.ListOf(feature.Int32), feature.ListOf(feature.Int64),
	feature.ListOf(feature.Float32), feature.ListOf(feature.Float64), feature.ListOf(feature.String),
	feature.ListOf(feature.Bytes), feature.ListOf(feature.TimestampType), feature.Vector(1), feature.Vector(3),
}

// allTypesSchema has a required and a nullable column of each type.
func allTypesSchema() *arrow.Schema {
	fields := make([]arrow.Field, 0, 2*len(allTypes))
	for i, t := range allTypes {
		fields = append(fields,
			arrow.Field{Name: fmt.Sprintf("r%d", i), Type: columns.DataType(t)},
			arrow.Field{Name: fmt.Sprintf("n%d", i), Type: columns.DataType(t), Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// randomScalar returns a value, the awkward ones among them.
func randomScalar(rng *rand.Rand, k feature.Kind) feature.Value {
	switch k {
	case feature.KindBool:
		return feature.BoolValue(rng.IntN(2) == 1)
	case feature.KindInt32:
		return feature.Int32Value(pick(rng, 0, math.MinInt32, math.MaxInt32, rng.Int32()))
	case feature.KindInt64:
		return feature.Int64Value(pick(rng, 0, math.MinInt64, math.MaxInt64, 9007199254740993, rng.Int64()))
	case feature.KindFloat32:
		return feature.Float32Value(float32(pick(rng, 0, math.Copysign(0, -1), math.NaN(), math.Inf(1), rng.Float64())))
	case feature.KindFloat64:
		return feature.Float64Value(pick(rng, 0, math.Copysign(0, -1), math.NaN(), math.Inf(-1), math.MaxFloat64, rng.Float64()))
	case feature.KindString:
		return feature.StringValue(pick(rng, "", "a", "grüße 😀", strconv.Itoa(rng.IntN(1000))))
	case feature.KindBytes:
		return feature.BytesValue([]byte(pick(rng, "", "\x00\xff", strconv.Itoa(rng.IntN(1000)))))
	case feature.KindTimestamp:
		return feature.TimestampValue(pick(rng, 0, -1, feature.MinTimestamp, feature.MaxTimestamp, feature.Timestamp(rng.Int64N(1e15))))
	case feature.KindInvalid:
	}
	return feature.Value{}
}

func pick[T any](rng *rand.Rand, values ...T) T { return values[rng.IntN(len(values))] }

// randomValue returns a value of any type; null with a chance of one in nulls.
func randomValue(rng *rand.Rand, t feature.Type, nulls int) feature.Value {
	if nulls > 0 && rng.IntN(nulls) == 0 {
		return feature.Null(t)
	}
	if t.IsScalar() {
		return randomScalar(rng, t.Kind)
	}
	n, elemNulls := int(t.Dim), 0
	if t.List {
		n, elemNulls = rng.IntN(4), 4
	}
	elems := make([]feature.Value, n)
	for i := range elems {
		elems[i] = randomValue(rng, t.Elem(), elemNulls)
	}
	return feature.ListValue(t, elems)
}

// randomRecord fills allTypesSchema.
func randomRecord(seed uint64, rows int) arrow.Record {
	rng := rand.New(rand.NewPCG(seed, 1))
	b := array.NewRecordBuilder(memory.DefaultAllocator, allTypesSchema())
	for range rows {
		for i, t := range allTypes {
			columns.Append(b.Field(2*i), randomValue(rng, t, 0))
			columns.Append(b.Field(2*i+1), randomValue(rng, t, 3))
		}
	}
	return b.NewRecord()
}

// requireRows compares records value by value through the types of features,
// bits of floats included.
func requireRows(t *testing.T, want, got arrow.Record) {
	t.Helper()
	require.Equal(t, want.NumRows(), got.NumRows())
	require.Equal(t, want.NumCols(), got.NumCols())
	for c := range int(want.NumCols()) {
		typ := allTypes[c/2]
		for i := range int(want.NumRows()) {
			w, err := columns.Value(want.Column(c), i, typ)
			require.NoError(t, err)
			g, err := columns.Value(got.Column(c), i, typ)
			require.NoError(t, err)
			require.True(t, w.Equal(g), "column %s, row %d: %s, not %s", want.ColumnName(c), i, g, w)
		}
	}
}

// write makes a file of records.
func write(tb testing.TB, schema *arrow.Schema, o WriterOptions, records ...arrow.Record) ([]byte, Summary) {
	tb.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, schema, o)
	require.NoError(tb, err)
	for _, rec := range records {
		require.NoError(tb, w.Write(rec))
	}
	sum, err := w.Close()
	require.NoError(tb, err)
	require.EqualValues(tb, buf.Len(), sum.Bytes)
	return buf.Bytes(), sum
}

// open opens bytes.
func open(tb testing.TB, data []byte) *File {
	tb.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)), "test.parquet", ReaderOptions{})
	require.NoError(tb, err)
	return f
}

// fromJSON makes a record of a schema.
func fromJSON(tb testing.TB, schema *arrow.Schema, rows string) arrow.Record {
	tb.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader([]byte(rows)))
	require.NoError(tb, err)
	return rec
}

// bytesJSON is how Arrow's JSON has bytes.
func bytesJSON(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
