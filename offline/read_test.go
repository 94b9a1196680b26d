package offline_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
)

// withNullEvent returns a record with the first event timestamp null.
func withNullEvent(t *testing.T, rec arrow.Record) arrow.Record {
	t.Helper()
	b := array.NewTimestampBuilder(memory.DefaultAllocator, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"})
	for range rec.NumRows() {
		b.AppendNull()
	}
	out, err := rec.SetColumn(1, b.NewArray())
	require.NoError(t, err)
	return out
}

// layouts are stores that cut the same rows differently.
func layouts() map[string]offline.Options {
	return map[string]offline.Options{
		"one piece":  {},
		"many files": {FileRows: 3, RowGroupRows: 2},
		"row by row": {MemoryLimit: 1, RowGroupRows: 1000},
	}
}

// forLayouts runs a test on a store of each layout, with a clock that moves a
// second for each version.
func forLayouts(t *testing.T, test func(t *testing.T, s *offline.Store, b bucket.Bucket, c *clock.Manual)) {
	t.Helper()
	for name, o := range layouts() {
		t.Run(name, func(t *testing.T) {
			c := clock.NewManual(noon)
			o.Clock = c
			b := memBucket(t)
			test(t, openStore(t, b, o), b, c)
		})
	}
}

// sample loads two commits: keys 1 to 5 at 0 s, and 3 to 7 at 10 s.
func sample(t *testing.T, s *offline.Store, v *feature.BoundView) {
	t.Helper()
	for commit := range 2 {
		var rows []feature.Row
		for k := range int64(5) {
			key := k + 1 + 2*int64(commit)
			rows = append(rows, row(t, v, key, at(10*commit), at(10*commit), feature.Int64Value(key*100+int64(commit))))
		}
		slices.Reverse(rows)
		load(t, s, v, rows)
	}
}

func TestScan(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, _ *clock.Manual) {
		t.Helper()
		v := numbers(1)
		empty, err := s.Scan(t.Context(), v, offline.ScanRequest{})
		require.NoError(t, err)
		require.Empty(t, drain(t, empty, typesOf(v)))
		sample(t, s, v)
		one := int64(1)
		for _, c := range []struct {
			name string
			req  offline.ScanRequest
			want []string
		}{
			{"all", offline.ScanRequest{}, []string{
				"1 0 0 100", "2 0 0 200", "3 0 0 300", "4 0 0 400", "5 0 0 500",
				"3 10 10 301", "4 10 10 401", "5 10 10 501", "6 10 10 601", "7 10 10 701",
			}},
			{"version", offline.ScanRequest{AsOf: wire.AsOf{Version: &one}}, []string{"1 0 0 100", "2 0 0 200", "3 0 0 300", "4 0 0 400", "5 0 0 500"}},
			{"interval", offline.ScanRequest{Interval: feature.Interval{Start: at(1), End: at(10)}}, []string{}},
			{"interval to the end", offline.ScanRequest{
				Interval: feature.Interval{Start: at(10), End: at(11)}, Keys: []feature.EntityKey{entity(t, v, 7)},
			}, []string{"7 10 10 701"}},
			{"keys", offline.ScanRequest{Keys: []feature.EntityKey{entity(t, v, 9), entity(t, v, 4), entity(t, v, -4)}}, []string{"4 0 0 400", "4 10 10 401"}},
			{"no keys", offline.ScanRequest{Keys: []feature.EntityKey{}}, []string{}},
		} {
			reader, err := s.Scan(t.Context(), v, c.req)
			require.NoError(t, err, c.name)
			require.Equal(t, c.want, texts(drain(t, reader, typesOf(v))), c.name)
		}
		reader, err := s.Scan(t.Context(), v, offline.ScanRequest{Columns: []string{"v", "k"}, Keys: []feature.EntityKey{entity(t, v, 1)}})
		require.NoError(t, err)
		require.Equal(t, []string{"100 1"}, texts(drain(t, reader, []feature.Type{feature.Int64, feature.Int64})))
	})
}

func TestScanShards(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, _ *clock.Manual) {
		t.Helper()
		v := numbers(1)
		sample(t, s, v)
		var all []string
		for shard := range 3 {
			reader, err := s.Scan(t.Context(), v, offline.ScanRequest{Shard: shard, Shards: 3})
			require.NoError(t, err)
			all = append(all, texts(drain(t, reader, typesOf(v)))...)
		}
		require.Len(t, all, 10)
		slices.Sort(all)
		require.Len(t, slices.Compact(all), 10)
	})
}

func TestScanRefuses(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{})
	v := numbers(1)
	_, err := s.Scan(t.Context(), v, offline.ScanRequest{Columns: []string{"w", "v", "v"}, Shard: 2, Shards: 2})
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
	require.Len(t, feature.FaultsOf(err), 3)
	zero, now := int64(0), at(0)
	_, err = s.Scan(t.Context(), v, offline.ScanRequest{AsOf: wire.AsOf{Version: &zero}})
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	_, err = s.Scan(t.Context(), v, offline.ScanRequest{AsOf: wire.AsOf{Version: &zero, Time: &now}})
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
}

// TestReadersStop ends readers early, by Release and by the context; goleak
// looks at what is left.
func TestReadersStop(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, _ *clock.Manual) {
		t.Helper()
		v := numbers(1)
		sample(t, s, v)
		reader, err := s.Scan(t.Context(), v, offline.ScanRequest{})
		require.NoError(t, err)
		reader.Retain()
		require.True(t, reader.Next())
		reader.Release()
		reader.Release()

		ctx, cancel := context.WithCancel(t.Context())
		reader, err = s.Scan(ctx, v, offline.ScanRequest{})
		require.NoError(t, err)
		cancel()
		for reader.Next() {
			continue
		}
		require.Equal(t, feature.CodeCanceled, feature.CodeOf(reader.Err()), "%v", reader.Err())
		require.False(t, reader.Next())
		reader.Release()

		never, err := s.Scan(t.Context(), v, offline.ScanRequest{})
		require.NoError(t, err)
		never.Release()
	})
}

func TestAsOf(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, c *clock.Manual) {
		t.Helper()
		v := numbers(1)
		load(t, s, v, []feature.Row{row(t, v, 1, at(0), at(0), feature.Int64Value(1))})
		c.Set(noon.Add(3600e9))
		load(t, s, v, []feature.Row{row(t, v, 1, at(0), at(0), feature.Int64Value(2))})
		read := func(asOf wire.AsOf) []string {
			reader, err := s.Historical(t.Context(), offline.HistoricalRequest{
				Spine:      spineOf(t, spineColumns, [][]feature.Value{{feature.Int64Value(1), feature.TimestampValue(at(5))}}, 1),
				TimeColumn: "at", Selection: selectAll(v), AsOf: asOf,
			})
			require.NoError(t, err)
			return texts(drain(t, reader, []feature.Type{feature.Int64, feature.TimestampType, feature.Int64}))
		}
		early, late := at(1800), at(3600)
		one, two := int64(1), int64(2)
		require.Equal(t, []string{"1 5 2"}, read(wire.AsOf{}))
		require.Equal(t, []string{"1 5 1"}, read(wire.AsOf{Time: &early}))
		require.Equal(t, []string{"1 5 2"}, read(wire.AsOf{Time: &late}))
		require.Equal(t, []string{"1 5 1"}, read(wire.AsOf{Version: &one}))
		require.Equal(t, []string{"1 5 2"}, read(wire.AsOf{Version: &two}))
		before := at(-1)
		_, err := s.Scan(t.Context(), v, offline.ScanRequest{AsOf: wire.AsOf{Time: &before}})
		require.Error(t, err)
	})
}

var spineColumns = []feature.Feature{{Name: "k", Type: feature.Int64}, {Name: "at", Type: feature.TimestampType}}

func newest(t *testing.T, s *offline.Store, v *feature.BoundView, req offline.NewestRequest) []string {
	t.Helper()
	reader, err := s.Newest(t.Context(), v, req)
	require.NoError(t, err)
	rows := drain(t, reader, typesOf(v))
	require.GreaterOrEqual(t, reader.TotalRows(), int64(len(rows)))
	out := texts(rows)
	return out
}

func TestNewest(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{RowGroupRows: 2})
	v := numbers(1)
	require.Empty(t, newest(t, s, v, offline.NewestRequest{Before: at(100)}))
	value := feature.Int64Value
	// Keys span row groups: 1 has three rows, 2 has two, 3 has one of the future.
	load(t, s, v, []feature.Row{
		row(t, v, 1, at(0), at(0), value(10)), row(t, v, 1, at(1), at(0), value(11)), row(t, v, 1, at(2), at(0), value(12)),
		row(t, v, 2, at(5), at(0), value(20)), row(t, v, 2, at(5), at(1), value(21)), row(t, v, 2, at(50), at(1), value(22)),
		row(t, v, 3, at(60), at(0), value(30)),
	})
	load(t, s, v, []feature.Row{row(t, v, 1, at(1), at(9), value(13)), row(t, v, 4, at(9), at(9), value(40))})

	before := func(seconds int) offline.NewestRequest { return offline.NewestRequest{Before: at(seconds)} }
	require.Equal(t, []string{"1 2 0 12", "2 5 1 21", "1 1 9 13", "4 9 9 40"}, newest(t, s, v, before(10)))
	require.Equal(t, []string{"1 2 0 12", "2 50 1 22", "3 60 0 30", "1 1 9 13", "4 9 9 40"}, newest(t, s, v, before(100)))
	require.Equal(t, []string{"1 1 0 11"}, newest(t, s, v, offline.NewestRequest{
		Before: at(100), Interval: &feature.Interval{Start: at(1), End: at(2)}, After: offline.Mark{},
	})[:1])

	// After version 1 up to 10 s: the new file, and what has come of age.
	after := offline.Mark{Version: 1, Through: at(10)}
	require.ElementsMatch(t, []string{"1 1 9 13", "4 9 9 40"}, newest(t, s, v, offline.NewestRequest{After: after, Before: at(10)}))
	require.ElementsMatch(t, []string{"1 1 9 13", "4 9 9 40", "2 50 1 22"}, newest(t, s, v, offline.NewestRequest{After: after, Before: at(51)}))
	require.Empty(t, newest(t, s, v, offline.NewestRequest{After: offline.Mark{Version: 2, Through: at(100)}, Before: at(200)}))

	reader, err := s.Newest(t.Context(), v, before(10))
	require.NoError(t, err)
	require.EqualValues(t, 2, reader.Version())
	reader.Release()
}

// TestNewestEndsInTheState folds what Newest gives into the newest row per key,
// in many steps and layouts, and compares with the rows themselves.
func TestNewestEndsInTheState(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, _ *clock.Manual) {
		t.Helper()
		v := numbers(1)
		type version struct {
			v   feature.Version
			val int64
		}
		want, got := map[int64]version{}, map[int64]version{}
		keep := func(m map[int64]version, key int64, x version) {
			if old, ok := m[key]; !ok || feature.Newer(x.v, old.v) {
				m[key] = x
			}
		}
		mark := offline.Mark{}
		seq := int64(0)
		for step := range 6 {
			var rows []feature.Row
			for i := range 9 {
				seq++
				key, event := seq*7%5, at((i*13+step*5)%40)
				rows = append(rows, row(t, v, key, event, at(int(seq%3)), feature.Int64Value(seq)))
			}
			out := load(t, s, v, rows)
			end := at(10 * (step + 1))
			reader, err := s.Newest(t.Context(), v, offline.NewestRequest{After: mark, Before: end})
			require.NoError(t, err)
			for _, r := range drain(t, reader, typesOf(v)) {
				keep(got, r[0].Int(), version{feature.Version{Event: r[1].Timestamp(), Created: r[2].Timestamp()}, r[3].Int()})
			}
			mark = offline.Mark{Version: out.Version, Through: end}
		}
		reader, err := s.Scan(t.Context(), v, offline.ScanRequest{})
		require.NoError(t, err)
		for _, r := range drain(t, reader, typesOf(v)) {
			keep(want, r[0].Int(), version{feature.Version{Event: r[1].Timestamp(), Created: r[2].Timestamp()}, r[3].Int()})
		}
		require.Equal(t, want, got)
	})
}

func TestErase(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, _ *clock.Manual) {
		t.Helper()
		v := numbers(1)
		out, err := s.Erase(t.Context(), v, []feature.EntityKey{entity(t, v, 1)})
		require.NoError(t, err)
		require.Equal(t, offline.EraseResult{Version: -1}, out)
		sample(t, s, v)
		load(t, s, v, []feature.Row{row(t, v, 9, at(0), at(0), feature.Int64Value(900))})

		out, err = s.Erase(t.Context(), v, []feature.EntityKey{entity(t, v, 77)})
		require.NoError(t, err)
		require.Equal(t, offline.EraseResult{Version: 3}, out)

		out, err = s.Erase(t.Context(), v, []feature.EntityKey{entity(t, v, 9), entity(t, v, 3), entity(t, v, 77)})
		require.NoError(t, err)
		require.EqualValues(t, 3, out.Rows)
		require.EqualValues(t, 4, out.Version)
		reader, err := s.Scan(t.Context(), v, offline.ScanRequest{})
		require.NoError(t, err)
		require.Equal(t, []string{
			"1 0 0 100", "2 0 0 200", "4 0 0 400", "5 0 0 500",
			"4 10 10 401", "5 10 10 501", "6 10 10 601", "7 10 10 701",
		}, texts(drain(t, reader, typesOf(v))))
	})
}

// TestEraseKeepsTies rewrites the first of two files whose rows tie: the second
// still wins.
func TestEraseKeepsTies(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, _ *clock.Manual) {
		t.Helper()
		v := numbers(1)
		load(t, s, v, []feature.Row{row(t, v, 1, at(0), at(0), feature.Int64Value(1)), row(t, v, 2, at(0), at(0), feature.Int64Value(2))})
		load(t, s, v, []feature.Row{row(t, v, 1, at(0), at(0), feature.Int64Value(3))})
		_, err := s.Erase(t.Context(), v, []feature.EntityKey{entity(t, v, 2)})
		require.NoError(t, err)
		reader, err := s.Historical(t.Context(), offline.HistoricalRequest{
			Spine:      spineOf(t, spineColumns, [][]feature.Value{{feature.Int64Value(1), feature.TimestampValue(at(0))}}, 1),
			TimeColumn: "at", Selection: selectAll(v),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"1 0 3"}, texts(drain(t, reader, []feature.Type{feature.Int64, feature.TimestampType, feature.Int64})))
		require.Equal(t, []string{"1 0 0 1", "1 0 0 3"}, newest(t, s, v, offline.NewestRequest{Before: at(1)}))
	})
}

// TestScanOfStringKeys sorts and finds keys of text and of several columns.
func TestScanOfStringKeys(t *testing.T) {
	forLayouts(t, func(t *testing.T, s *offline.Store, _ bucket.Bucket, _ *clock.Manual) {
		t.Helper()
		v := numbers(1)
		v.Keys = []feature.JoinKey{{Name: "a", Type: feature.String}, {Name: "b", Type: feature.Int32}}
		key := func(a string, b int32) feature.EntityKey {
			k, err := feature.MakeEntityKey(v.Keys, []feature.Value{feature.StringValue(a), feature.Int32Value(b)})
			require.NoError(t, err)
			return k
		}
		var rows []feature.Row
		for i, a := range []string{"b", "", "a long key 2", "a long key 1", "é"} {
			for b := range int32(2) {
				rows = append(rows, feature.Row{Key: key(a, -b), Event: at(i), Created: at(i), Values: []feature.Value{feature.Int64Value(int64(10*i) + int64(b))}})
			}
		}
		load(t, s, v, rows)
		reader, err := s.Scan(t.Context(), v, offline.ScanRequest{Columns: []string{"a", "b"}})
		require.NoError(t, err)
		require.Equal(t, []string{
			`"" -1`, `"" 0`, `"a long key 1" -1`, `"a long key 1" 0`, `"a long key 2" -1`, `"a long key 2" 0`, `"b" -1`, `"b" 0`, `"é" -1`, `"é" 0`,
		}, texts(drain(t, reader, []feature.Type{feature.String, feature.Int32})))
		reader, err = s.Scan(t.Context(), v, offline.ScanRequest{Columns: []string{"v"}, Keys: []feature.EntityKey{key("a long key 2", -1), key("é", 0), key("x", 0)}})
		require.NoError(t, err)
		require.Equal(t, []string{"21", "40"}, texts(drain(t, reader, []feature.Type{feature.Int64})))
	})
}

func Example() {
	fmt.Println(offline.TablePath(numbers(3)))
	// Output: tables/p/v3-3
}
