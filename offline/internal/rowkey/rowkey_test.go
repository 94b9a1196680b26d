package rowkey_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/internal/rowkey"
	"github.com/granary-ml/granary/offline/pit"
)

func joinKeys(types ...feature.Type) []feature.JoinKey {
	out := make([]feature.JoinKey, len(types))
	for i, t := range types {
		out[i] = feature.JoinKey{Name: fmt.Sprintf("k%d", i), Type: t}
	}
	return out
}

// shapes are join keys with and without an exact prefix.
var shapes = [][]feature.JoinKey{
	joinKeys(feature.Int64), joinKeys(feature.Int32), joinKeys(feature.Bool), joinKeys(feature.TimestampType),
	joinKeys(feature.Int32, feature.Int32), joinKeys(feature.Bool, feature.Int32, feature.Bool),
	joinKeys(feature.String), joinKeys(feature.Bytes), joinKeys(feature.Int64, feature.String),
	joinKeys(feature.String, feature.String), joinKeys(feature.Int64, feature.Int64),
}

func TestExact(t *testing.T) {
	for i, want := range []bool{true, true, true, true, true, true, false, false, false, false, false} {
		require.Equal(t, want, rowkey.Exact(shapes[i]), "%v", shapes[i])
	}
}

func randomKey(r *rand.Rand, t feature.Type) feature.Value {
	n := r.IntN(7) - 3
	switch t.Kind {
	case feature.KindBool:
		return feature.BoolValue(n > 0)
	case feature.KindInt32:
		return feature.Int32Value(int32(n) * 500_000_000)
	case feature.KindInt64:
		return feature.Int64Value(int64(n) * 3_000_000_000_000_000_000)
	case feature.KindTimestamp:
		return feature.TimestampValue(feature.Timestamp(n))
	case feature.KindString:
		return feature.StringValue([]string{"", "a", "a\x00", "longer than the prefix 1", "longer than the prefix 2", "é", "b"}[n+3])
	case feature.KindBytes:
		return feature.BytesValue([][]byte{{}, {0}, {0, 0}, {0xff}, {0xff, 0}, {1, 2, 3}, []byte("12345678")}[n+3])
	case feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
	}
	return feature.Value{}
}

// table is random rows with what the encoding of package feature says of them.
type table struct {
	keys           []feature.JoinKey
	encoded        []feature.EntityKey
	values         [][]feature.Value
	event, created []int64
}

func randomTable(t require.TestingT, r *rand.Rand, keys []feature.JoinKey, rows int) table {
	out := table{keys: keys}
	for range rows {
		values := make([]feature.Value, len(keys))
		for i, k := range keys {
			values[i] = randomKey(r, k.Type)
		}
		key, err := feature.MakeEntityKey(keys, values)
		require.NoError(t, err)
		out.encoded, out.values = append(out.encoded, key), append(out.values, values)
		out.event, out.created = append(out.event, int64(r.IntN(5)-2)), append(out.created, int64(r.IntN(3)))
	}
	return out
}

// order is the definition: a stable sort by the encoded keys and the times.
func (tb table) order() []int32 {
	out := make([]int32, len(tb.encoded))
	for i := range out {
		out[i] = int32(i)
	}
	slices.SortStableFunc(out, func(a, b int32) int {
		return cmp.Or(cmp.Compare(tb.encoded[a], tb.encoded[b]), cmp.Compare(tb.event[a], tb.event[b]), cmp.Compare(tb.created[a], tb.created[b]))
	})
	return out
}

// columns returns rows of the table as columns.
func (tb table) columns(t require.TestingT, rows []int32) rowkey.Columns {
	arrays := make([]arrow.Array, len(tb.keys))
	for i, k := range tb.keys {
		b := array.NewBuilder(memory.DefaultAllocator, columns.DataType(k.Type))
		columns.Append(b, randomKey(rand.New(rand.NewPCG(0, 0)), k.Type)) // so that the array is a slice
		for _, row := range rows {
			columns.Append(b, tb.values[row][i])
		}
		all := b.NewArray()
		arrays[i] = array.NewSlice(all, 1, int64(all.Len()))
	}
	cols, err := rowkey.MakeColumns(tb.keys, arrays, len(rows))
	require.NoError(t, err)
	return cols
}

func identity(n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	return out
}

func forShapes(t *testing.T, check func(t require.TestingT, r *rand.Rand, keys []feature.JoinKey)) {
	t.Helper()
	for i, keys := range shapes {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				check(rt, rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2)), keys)
			})
		})
	}
}

func TestAppendIsTheEntityKey(t *testing.T) {
	forShapes(t, func(t require.TestingT, r *rand.Rand, keys []feature.JoinKey) {
		tb := randomTable(t, r, keys, 1+r.IntN(20))
		cols := tb.columns(t, identity(len(tb.encoded)))
		for row := range tb.encoded {
			require.Equal(t, string(tb.encoded[row]), string(cols.Append(nil, row)))
		}
	})
}

func TestOrder(t *testing.T) {
	forShapes(t, func(t require.TestingT, r *rand.Rand, keys []feature.JoinKey) {
		tb := randomTable(t, r, keys, r.IntN(60))
		half := len(tb.encoded) / 2
		rows := identity(len(tb.encoded))
		numbers := rowkey.Number([]rowkey.Columns{tb.columns(t, rows[:half]), tb.columns(t, rows[half:])})
		require.Equal(t, tb.order(), rowkey.Order(numbers.Numbers, tb.event, tb.created))
	})
}

// TestOrderOfManyRowsPerKey reaches the sorts for long runs of one key.
func TestOrderOfManyRowsPerKey(t *testing.T) {
	for _, rows := range []int{100, 1000, 5000, 50_000} {
		r := rand.New(rand.NewPCG(1, 2))
		keys, event, created := make([]uint64, rows), make([]int64, rows), make([]int64, rows)
		for i := range rows {
			keys[i], event[i], created[i] = r.Uint64N(2)<<60|r.Uint64N(3)<<20, r.Int64N(200)-100, r.Int64N(3)
		}
		want := identity(rows)
		slices.SortStableFunc(want, func(a, b int32) int {
			return cmp.Or(cmp.Compare(keys[a], keys[b]), cmp.Compare(event[a], event[b]), cmp.Compare(created[a], created[b]))
		})
		require.Equal(t, want, rowkey.Order(keys, event, created))
	}
}

func TestMatch(t *testing.T) {
	forShapes(t, func(t require.TestingT, r *rand.Rand, keys []feature.JoinKey) {
		tb := randomTable(t, r, keys, r.IntN(60))
		order := tb.order()
		sorted := tb.columns(t, order)
		grouped := sorted.Group()
		asked := randomTable(t, r, keys, r.IntN(10)).encoded
		wanted := rowkey.MakeKeys(keys, asked)
		var want []pit.Group
		slices.Sort(asked)
		for k, key := range slices.Compact(asked) {
			require.Equal(t, key, wanted.Key(keys, k))
			start := slices.IndexFunc(order, func(row int32) bool { return tb.encoded[row] == key })
			if start < 0 {
				continue
			}
			end := start
			for end < len(order) && tb.encoded[order[end]] == key {
				end++
			}
			want = append(want, pit.Group{Key: int32(k), Start: int32(start), End: int32(end)})
		}
		require.Equal(t, want, grouped.Match(&wanted, len(order)))
	})
}

func TestAnyIn(t *testing.T) {
	for _, keys := range [][]feature.JoinKey{joinKeys(feature.Int64), joinKeys(feature.Int64, feature.String)} {
		key := func(v int64) feature.EntityKey {
			values := []feature.Value{feature.Int64Value(v), feature.StringValue("x")}[:len(keys)]
			k, err := feature.MakeEntityKey(keys, values)
			require.NoError(t, err)
			return k
		}
		asked := rowkey.MakeKeys(keys, []feature.EntityKey{key(20), key(-5), key(10)})
		bound := func(v int64) []byte { return feature.AppendKey(nil, feature.Int64Value(v)) }
		for _, c := range []struct {
			low, high int64
			want      bool
		}{{-9, -5, false}, {-9, -4, true}, {-4, 10, false}, {10, 11, true}, {11, 20, false}, {-100, 100, true}, {21, 30, false}} {
			require.Equal(t, c.want, asked.AnyIn(bound(c.low), bound(c.high)), "%v", c)
		}
		require.True(t, asked.AnyIn(bound(20), nil))
		require.False(t, asked.AnyIn(bound(21), nil))
	}
}

func TestMakeColumnsRefusesOtherTypes(t *testing.T) {
	b := array.NewInt32Builder(memory.DefaultAllocator)
	_, err := rowkey.MakeColumns(joinKeys(feature.Int64), []arrow.Array{b.NewArray()}, 0)
	require.ErrorContains(t, err, "join key k0 is int32 where int64 is expected")
}

func BenchmarkOrder(b *testing.B) {
	const rows = 1 << 20
	r := rand.New(rand.NewPCG(1, 2))
	keys, event, created := make([]uint64, rows), make([]int64, rows), make([]int64, rows)
	for i := range rows {
		keys[i], event[i] = uint64(r.Int64N(100_000))^1<<63, r.Int64N(365*86400e6)
	}
	for b.Loop() {
		rowkey.Order(keys, event, created)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
}
