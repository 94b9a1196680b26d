package onlinetest

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// Run holds a store to the contract of the package online. Each test opens an
// empty store; open closes it in t.Cleanup, unless the test did.
func Run(t *testing.T, open func(tb testing.TB) online.Store) {
	t.Helper()
	tests := map[string]func(*testing.T, online.Store){
		"Empty":            testEmpty,
		"Permutations":     testPermutations,
		"Positions":        testPositions,
		"ManyLookups":      testManyLookups,
		"LargeRows":        testLargeRows,
		"RefusedRows":      testRefusedRows,
		"OwnMemory":        testOwnMemory,
		"RandomOperations": testRandomOperations,
		"ConcurrentWrites": testConcurrentWrites,
		"ReadersSeeWhole":  testReadersSeeWhole,
		"Canceled":         testCanceled,
		"Closed":           testClosed,
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	t.Run("Scripts", func(t *testing.T) { RunScripts(t, open) })
}

// counter is a view of one int64 by one int64.
func counter(tb testing.TB, id feature.ViewID) View {
	tb.Helper()
	return MakeView(tb, id, []string{"k int64"}, []string{"v int64"})
}

// count is a row of counter.
func (v View) count(tb testing.TB, k int64, event feature.Timestamp, value int64) online.Row {
	tb.Helper()
	return v.Row(tb, v.Key(tb, feature.Int64Value(k)), event, event, feature.Int64Value(value))
}

func (v View) intKeys(tb testing.TB, ks ...int64) []feature.EntityKey {
	tb.Helper()
	keys := make([]feature.EntityKey, len(ks))
	for i, k := range ks {
		keys[i] = v.Key(tb, feature.Int64Value(k))
	}
	return keys
}

// counts reads rows of counter; missing ones are math.MinInt64.
func (v View) counts(tb testing.TB, s online.Store, ks ...int64) []int64 {
	tb.Helper()
	var rows online.Rows
	require.NoError(tb, s.Read(tb.Context(), []online.Lookup{{View: v.ID, Keys: v.intKeys(tb, ks...)}}, &rows))
	out := make([]int64, len(ks))
	for i := range ks {
		out[i] = v.countOf(tb, rows.Row(0, i))
	}
	return out
}

func (v View) countOf(tb testing.TB, packed []byte) int64 {
	tb.Helper()
	if packed == nil {
		return none
	}
	value, err := v.Value(packed, 0)
	require.NoError(tb, err)
	return value.Int()
}

// none stands for a row that is not there.
const none = math.MinInt64

// write writes rows and returns the counts.
func write(tb testing.TB, s online.Store, view feature.ViewID, rows ...online.Row) online.WriteStats {
	tb.Helper()
	stats, err := s.Write(tb.Context(), view, rows)
	require.NoError(tb, err)
	return stats
}

func testEmpty(t *testing.T, s online.Store) {
	t.Helper()
	v := counter(t, 1)
	require.NoError(t, s.Ping(t.Context()))
	require.Equal(t, []int64{none, none}, v.counts(t, s, 1, 2))
	require.Empty(t, v.counts(t, s))
	require.Equal(t, online.WriteStats{}, write(t, s, v.ID))
	var rows online.Rows
	require.NoError(t, s.Read(t.Context(), nil, &rows))
	_, ok, err := s.Mark(t.Context(), v.ID)
	require.NoError(t, err)
	require.False(t, ok)
	n, err := s.DeleteEntities(t.Context(), v.ID, nil)
	require.NoError(t, err)
	require.Zero(t, n)
	require.NoError(t, s.DeleteView(t.Context(), v.ID))
	require.NoError(t, s.DeleteView(t.Context(), v.ID))
}

// testPermutations is T2 over every order and every cut into batches.
func testPermutations(t *testing.T, s online.Store) {
	t.Helper()
	orders := [][3]int64{{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}}
	id := feature.ViewID(0)
	for _, order := range orders {
		for cut := range 4 { // bit i: a batch ends after row i
			id++
			v := counter(t, id)
			var batch []online.Row
			for i, n := range order {
				batch = append(batch, v.count(t, 1, feature.Timestamp(n), 10*n))
				if i == 2 || cut>>i&1 == 1 {
					write(t, s, v.ID, batch...)
					batch = nil
				}
			}
			require.Equal(t, []int64{30}, v.counts(t, s, 1), "order %v cut %b", order, cut)
		}
	}
}

// testPositions is T13 for positions: answers stand where their keys do.
func testPositions(t *testing.T, s online.Store) {
	t.Helper()
	v := counter(t, 1)
	for k := range int64(100) {
		write(t, s, v.ID, v.count(t, k, 1, 10*k))
	}
	require.Equal(t, []int64{30, 10, 30, none, 20}, v.counts(t, s, 3, 1, 3, 999, 2))
	require.Equal(t, []int64{none, none, 990}, v.counts(t, s, 999, 999, 99))
	require.Equal(t, []int64{0, 0, 0}, v.counts(t, s, 0, 0, 0))
}

// testManyLookups asks several views at once, one of them twice, by shared and
// by own lists of keys, in one Rows that is used again and again.
func testManyLookups(t *testing.T, s online.Store) {
	t.Helper()
	views := []View{counter(t, 9), counter(t, 2), counter(t, 5)}
	for _, v := range views {
		write(t, s, v.ID, v.count(t, 1, 1, int64(v.ID)*10+1), v.count(t, 2, 1, int64(v.ID)*10+2))
	}
	shared := views[0].intKeys(t, 2, 3, 1)
	lookups := []online.Lookup{
		{View: 9, Keys: shared},
		{View: 2, Keys: shared},
		{View: 5, Keys: views[0].intKeys(t, 1)},
		{View: 9, Keys: views[0].intKeys(t, 1, 2)},
		{View: 7, Keys: shared},
		{View: 2},
	}
	want := [][]int64{{92, none, 91}, {22, none, 21}, {51}, {91, 92}, {none, none, none}, nil}
	var rows online.Rows
	for range 3 {
		require.NoError(t, s.Read(t.Context(), lookups, &rows))
		for i, l := range lookups {
			for j := range l.Keys {
				require.Equal(t, want[i][j], views[0].countOf(t, rows.Row(i, j)), "lookup %d key %d", i, j)
			}
		}
		require.NoError(t, s.Read(t.Context(), lookups[:1], &rows)) // fewer leave no trace
		require.Equal(t, int64(92), views[0].countOf(t, rows.Row(0, 0)))
	}
}

// testLargeRows stores keys and rows at and near their limits.
func testLargeRows(t *testing.T, s online.Store) {
	t.Helper()
	v := MakeView(t, 1, []string{"k bytes"}, []string{"s string", "l list<string>"})
	largest := v.Key(t, feature.BytesValue([]byte(strings.Repeat("k", feature.MaxEntityKeyBytes-2))))
	require.Len(t, string(largest), feature.MaxEntityKeyBytes)
	nearly := largest[:len(largest)-3] + "\x00\x01"
	text := feature.StringValue(strings.Repeat("text", 1<<18))
	list := feature.ListValue(feature.ListOf(feature.String), []feature.Value{text, feature.Null(feature.String), text})
	rows := []online.Row{v.Row(t, largest, 1, 1, text, list), v.Row(t, nearly, 2, 2, text, feature.Null(list.Type()))}
	require.Equal(t, online.WriteStats{Written: 2}, write(t, s, v.ID, rows...))
	var got online.Rows
	require.NoError(t, s.Read(t.Context(), []online.Lookup{{View: 1, Keys: []feature.EntityKey{largest, nearly, largest[:9]}}}, &got))
	require.True(t, bytes.Equal(rows[0].Packed, got.Row(0, 0)))
	require.True(t, bytes.Equal(rows[1].Packed, got.Row(0, 1)))
	require.Nil(t, got.Row(0, 2))
}

// testRefusedRows: one bad row, and nothing of the batch is written.
func testRefusedRows(t *testing.T, s online.Store) {
	t.Helper()
	v := counter(t, 1)
	good := v.count(t, 1, 1, 1)
	flipped := v.count(t, 2, 1, 2)
	flipped.Packed[len(flipped.Packed)/2] ^= 1
	long := good
	long.Key = feature.EntityKey(strings.Repeat("k", feature.MaxEntityKeyBytes+1))
	bad := map[string]online.Row{
		"damaged":  flipped,
		"empty":    {Key: good.Key},
		"no row":   {Key: good.Key, Packed: []byte("a text that is long enough to be one")},
		"long key": long,
	}
	for name, row := range bad {
		_, err := s.Write(t.Context(), v.ID, []online.Row{good, row})
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), name)
		require.Equal(t, "rows[1]", feature.FaultsOf(err)[0].Field, name)
		require.Equal(t, []int64{none, none}, v.counts(t, s, 1, 2), name)
	}
}

// testOwnMemory changes what was given to a write, and reads what was written.
func testOwnMemory(t *testing.T, s online.Store) {
	t.Helper()
	v := counter(t, 1)
	rows := []online.Row{v.count(t, 1, 1, 10), v.count(t, 2, 1, 20)}
	write(t, s, v.ID, rows...)
	for i := range rows {
		clear(rows[i].Packed)
		rows[i].Key = "changed"
	}
	require.Equal(t, []int64{10, 20}, v.counts(t, s, 1, 2))
	var held online.Rows
	require.NoError(t, s.Read(t.Context(), []online.Lookup{{View: 1, Keys: v.intKeys(t, 1)}}, &held))
	write(t, s, v.ID, v.count(t, 1, 2, 11))
	_, err := s.DeleteEntities(t.Context(), v.ID, v.intKeys(t, 2))
	require.NoError(t, err)
	require.Equal(t, int64(10), v.countOf(t, held.Row(0, 0)), "a row that was read stays as it was")
}

// testRandomOperations gives one sequence to the store and to the reference and
// compares every answer.
func testRandomOperations(t *testing.T, s online.Store) {
	t.Helper()
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 5)) //nolint:gosec // a test repeats
		ref := NewReference()
		for id := range feature.ViewID(3) {
			require.NoError(t, s.DeleteView(t.Context(), id))
		}
		for step := range 300 {
			got, want := randomStep(t, r, s, ref)
			require.Equal(t, want, got, "seed %d step %d", seed, step)
		}
	}
}

// randomStep makes one random call to both stores and returns their answers.
func randomStep(tb testing.TB, r *rand.Rand, got, want online.Store) (gotAnswer, wantAnswer any) {
	tb.Helper()
	const entities = 20
	v := counter(tb, feature.ViewID(r.Uint32N(3)))
	ks := make([]int64, r.IntN(8))
	for i := range ks {
		ks[i] = r.Int64N(entities) - entities/2
	}
	call := func(f func(online.Store) any) { gotAnswer, wantAnswer = f(got), f(want) }
	switch r.IntN(20) {
	case 0:
		call(func(s online.Store) any { return s.DeleteView(tb.Context(), v.ID) })
	case 1, 2:
		call(func(s online.Store) any {
			n, err := s.DeleteEntities(tb.Context(), v.ID, v.intKeys(tb, ks...))
			return [2]any{n, err}
		})
	case 3:
		m := online.Mark{Version: r.Int64(), Through: feature.Timestamp(r.Int64())}
		call(func(s online.Store) any { return s.SetMark(tb.Context(), v.ID, m) })
	case 4:
		call(func(s online.Store) any {
			m, ok, err := s.Mark(tb.Context(), v.ID)
			return [3]any{m, ok, err}
		})
	case 5, 6, 7, 8, 9, 10:
		call(func(s online.Store) any { return v.counts(tb, s, ks...) })
	default:
		rows := make([]online.Row, len(ks))
		for i, k := range ks {
			event := feature.Timestamp(r.Int64N(6))
			rows[i] = v.Row(tb, v.intKeys(tb, k)[0], event, feature.Timestamp(r.Int64N(3)), feature.Int64Value(r.Int64()))
		}
		call(func(s online.Store) any { return write(tb, s, v.ID, rows...) })
	}
	return gotAnswer, wantAnswer
}

// testConcurrentWrites lets writers of one set of rows race, each in its own
// order: the newest wins, and every row is either written or superseded.
func testConcurrentWrites(t *testing.T, s online.Store) {
	t.Helper()
	const writers, keys, versions = 8, 10, 20
	v := counter(t, 1)
	var wg sync.WaitGroup
	totals := make([]online.WriteStats, writers)
	for w := range writers {
		r := rand.New(rand.NewPCG(uint64(w), 1)) //nolint:gosec // a test repeats
		wg.Go(func() {
			for _, n := range r.Perm(keys * versions) {
				k, version := int64(n%keys), int64(n/keys)
				stats, err := s.Write(t.Context(), v.ID, []online.Row{v.count(t, k, feature.Timestamp(version), version)})
				if err != nil {
					t.Error(err)
					return
				}
				totals[w].Add(stats)
			}
		})
	}
	wg.Wait()
	for _, stats := range totals {
		require.Equal(t, int64(keys*versions), stats.Written+stats.Superseded)
	}
	for k := range int64(keys) {
		require.Equal(t, []int64{versions - 1}, v.counts(t, s, k))
	}
}

// testReadersSeeWhole reads while batches land: a reader never sees a key go
// back to an older row.
func testReadersSeeWhole(t *testing.T, s online.Store) {
	t.Helper()
	const versions = 200
	v := counter(t, 1)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			last := []int64{none, none, none}
			for ctx.Err() == nil {
				now := v.counts(t, s, 1, 2, 3)
				for i := range now {
					if now[i] < last[i] {
						t.Errorf("key %d went from %d back to %d", i+1, last[i], now[i])
					}
				}
				last = now
			}
		})
	}
	for n := range int64(versions) {
		at := feature.Timestamp(n)
		write(t, s, v.ID, v.count(t, 3, at, n), v.count(t, 1, at, n), v.count(t, 2, at, n))
	}
	stop()
	wg.Wait()
	require.Equal(t, []int64{versions - 1, versions - 1, versions - 1}, v.counts(t, s, 1, 2, 3))
}

func testCanceled(t *testing.T, s online.Store) {
	t.Helper()
	v := counter(t, 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range everyCall(t, ctx, s, v) {
		require.ErrorIs(t, err, context.Canceled, name)
		require.Equal(t, feature.CodeCanceled, feature.CodeOf(err), name)
	}
	require.Equal(t, []int64{none}, v.counts(t, s, 1))
}

func testClosed(t *testing.T, s online.Store) {
	t.Helper()
	v := counter(t, 1)
	write(t, s, v.ID, v.count(t, 1, 1, 1))
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	for name, err := range everyCall(t, t.Context(), s, v) {
		require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err), "%s: %v", name, err)
	}
}

// everyCall makes every call of a store and returns the errors.
func everyCall(tb testing.TB, ctx context.Context, s online.Store, v View) map[string]error { //nolint:revive // a helper's testing.TB stands first
	tb.Helper()
	keys := v.intKeys(tb, 1)
	var rows online.Rows
	_, writeErr := s.Write(ctx, v.ID, []online.Row{v.count(tb, 1, 1, 1)})
	_, _, markErr := s.Mark(ctx, v.ID)
	_, eraseErr := s.DeleteEntities(ctx, v.ID, keys)
	return map[string]error{
		"Read":           s.Read(ctx, []online.Lookup{{View: v.ID, Keys: keys}}, &rows),
		"Mark":           markErr,
		"Write":          writeErr,
		"SetMark":        s.SetMark(ctx, v.ID, online.Mark{}),
		"DeleteEntities": eraseErr,
		"DeleteView":     s.DeleteView(ctx, v.ID),
		"Ping":           s.Ping(ctx),
	}
}

// RunDurable holds a store that outlives the process to the rest of the
// contract. open opens the store that is kept under a name: the same name finds
// the same rows, once the store before was closed.
func RunDurable(t *testing.T, open func(tb testing.TB, name string) online.Store) {
	t.Helper()
	v := counter(t, 3)
	s := open(t, "reopen")
	write(t, s, v.ID, v.count(t, 1, 10, 1), v.count(t, 2, 10, 2))
	write(t, s, 4, v.count(t, 1, 10, 4))
	mark := online.Mark{Version: 5, Through: 6}
	require.NoError(t, s.SetMark(t.Context(), v.ID, mark))
	require.NoError(t, s.DeleteView(t.Context(), 4))
	_, err := s.DeleteEntities(t.Context(), v.ID, v.intKeys(t, 2))
	require.NoError(t, err)
	require.NoError(t, s.Close())

	s = open(t, "reopen")
	require.Equal(t, []int64{1, none}, v.counts(t, s, 1, 2))
	got, ok, err := s.Mark(t.Context(), v.ID)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, mark, got)
	require.Equal(t, online.WriteStats{Superseded: 1}, write(t, s, v.ID, v.count(t, 1, 9, 9)), "an older row after a restart")
	var rows online.Rows
	require.NoError(t, s.Read(t.Context(), []online.Lookup{{View: 4, Keys: v.intKeys(t, 1)}}, &rows))
	require.Nil(t, rows.Row(0, 0))
	require.NoError(t, s.Close())
	require.Equal(t, []int64{none}, v.counts(t, open(t, "another"), 1))
}
