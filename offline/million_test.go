package offline_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline"
)

// history is a random history in columns. Row i has the value i, so that an
// answer names its row; every seventh is null, and every tenth text is.
type history struct {
	view           *feature.BoundView
	key            []int64
	event, created []int64
}

func millionView(ttl time.Duration) *feature.BoundView {
	v := makeView(1, feature.Feature{Name: "v", Type: feature.Int64}, feature.Feature{Name: "s", Type: feature.String})
	v.TTL = feature.TTL(ttl)
	return v
}

// makeHistory draws rows whose created timestamps are all different, so that
// the order of arrival decides nothing.
func makeHistory(r *rand.Rand, v *feature.BoundView, rows, keys int) history {
	h := history{view: v}
	for i := range rows {
		event := int64(at(0)) + r.Int64N(1_000_000)
		h.key = append(h.key, r.Int64N(int64(keys))-int64(keys)/2)
		h.event = append(h.event, event)
		h.created = append(h.created, event+r.Int64N(1000)*int64(rows)+int64(i))
	}
	return h
}

func (h history) isNull(i int32) bool { return i%7 == 0 }

func (h history) text(i int32) string {
	if i%10 == 0 {
		return ""
	}
	return fmt.Sprintf("row %d", i)
}

// record makes a record of some rows.
func (h history) record(t *testing.T, rows []int32) arrow.Record {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns.TableSchema(h.view))
	key, ok0 := b.Field(0).(*array.Int64Builder)
	event, ok1 := b.Field(1).(*array.TimestampBuilder)
	created, ok2 := b.Field(2).(*array.TimestampBuilder)
	value, ok3 := b.Field(3).(*array.Int64Builder)
	text, ok4 := b.Field(4).(*array.StringBuilder)
	require.True(t, ok0 && ok1 && ok2 && ok3 && ok4)
	for _, i := range rows {
		key.Append(h.key[i])
		event.Append(arrow.Timestamp(h.event[i]))
		created.Append(arrow.Timestamp(h.created[i]))
		value.Append(int64(i))
		if h.isNull(i) {
			text.AppendNull()
		} else {
			text.Append(h.text(i))
		}
	}
	return b.NewRecord()
}

// load appends rows in that order, in so many commits.
func (h history) load(t *testing.T, s *offline.Store, order []int32, commits int) {
	t.Helper()
	const batch = 30_000
	for c := range commits {
		part := order[c*len(order)/commits : (c+1)*len(order)/commits]
		a, err := s.Append(t.Context(), h.view, offline.AppendOptions{})
		require.NoError(t, err)
		for start := 0; start < len(part); start += batch {
			require.NoError(t, a.Write(t.Context(), h.record(t, part[start:min(start+batch, len(part))])))
		}
		out, err := a.Commit(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, len(part), out.Rows)
	}
}

// spine is random questions in columns.
type spine struct {
	key, at []int64
}

func makeSpine(r *rand.Rand, rows, keys int) spine {
	var s spine
	for range rows {
		s.key = append(s.key, r.Int64N(int64(keys)*11/10)-int64(keys)/2)
		s.at = append(s.at, int64(at(0))+r.Int64N(1_300_000)-100_000)
	}
	return s
}

// reader gives the spine in batches, every fiftieth key null.
func (s spine) reader(t *testing.T, batch int) array.RecordReader {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "label", Type: arrow.PrimitiveTypes.Int32},
		{Name: "k", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "at", Type: columns.Timestamp},
	}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	label, ok0 := b.Field(0).(*array.Int32Builder)
	key, ok1 := b.Field(1).(*array.Int64Builder)
	when, ok2 := b.Field(2).(*array.TimestampBuilder)
	require.True(t, ok0 && ok1 && ok2)
	var recs []arrow.Record
	for i := range s.key {
		label.Append(int32(i))
		if i%50 == 0 {
			key.AppendNull()
		} else {
			key.Append(s.key[i])
		}
		when.Append(arrow.Timestamp(s.at[i]))
		if (i+1)%batch == 0 || i == len(s.key)-1 {
			recs = append(recs, b.NewRecord())
		}
	}
	r, err := array.NewRecordReader(schema, recs)
	require.NoError(t, err)
	return r
}

// naive answers every row of the spine by the definition; -1 is no row.
func (h history) naive(s spine, knownAt bool) []int32 {
	ofKey := map[int64][]int32{}
	for i, k := range h.key {
		ofKey[k] = append(ofKey[k], int32(i))
	}
	out := make([]int32, len(s.key))
	for q := range out {
		out[q] = -1
		if q%50 == 0 {
			continue
		}
		best := int32(-1)
		for _, i := range ofKey[s.key[q]] {
			if h.event[i] > s.at[q] || knownAt && h.created[i] > s.at[q] {
				continue
			}
			if best < 0 || h.event[i] > h.event[best] || h.event[i] == h.event[best] && h.created[i] > h.created[best] {
				best = i
			}
		}
		if best >= 0 && (h.view.TTL == 0 || h.event[best] >= s.at[q]-time.Duration(h.view.TTL).Microseconds()) {
			out[q] = best
		}
	}
	return out
}

// check reads an answer and compares it row by row.
func (h history) check(t *testing.T, want []int32, reader array.RecordReader) {
	t.Helper()
	defer reader.Release()
	q := 0
	for reader.Next() {
		rec := reader.Record()
		label, ok0 := rec.Column(0).(*array.Int32)
		value, ok1 := rec.Column(3).(*array.Int64)
		text, ok2 := rec.Column(4).(*array.String)
		require.True(t, ok0 && ok1 && ok2)
		for i := range int(rec.NumRows()) {
			if label.Value(i) != int32(q) || value.IsNull(i) != (want[q] < 0) {
				require.Failf(t, "differs", "row %d: want row %d, got label %d, null %t", q, want[q], label.Value(i), value.IsNull(i))
			}
			if want[q] >= 0 && (value.Value(i) != int64(want[q]) || text.IsNull(i) != h.isNull(want[q]) ||
				text.IsValid(i) && text.Value(i) != h.text(want[q])) {
				require.Failf(t, "differs", "row %d: want row %d, got %d %q", q, want[q], value.Value(i), text.Value(i))
			}
			q++
		}
	}
	require.NoError(t, reader.Err())
	require.Equal(t, len(want), q)
}

func shuffled(r *rand.Rand, n int) []int32 {
	out := make([]int32, n)
	for i := range out {
		out[i] = int32(i)
	}
	r.Shuffle(n, func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// TestHistoricalOfAMillionRows holds retrieval over real tables to the naive
// join, row by row: several commits of several files, sorted through runs that
// were spilled, a spine in several chunks; and the same rows in another order of
// arrival give the same answers.
func TestHistoricalOfAMillionRows(t *testing.T) {
	const rows, keys, asks = 1_000_000 / scale, 20_000 / scale, 200_000 / scale
	r := rand.New(rand.NewPCG(7, 8))
	h := makeHistory(r, millionView(0), rows, keys)
	s := makeSpine(r, asks, keys)
	want := map[bool][]int32{false: h.naive(s, false), true: h.naive(s, true)}
	for name, o := range map[string]offline.Options{
		"defaults":      {FileRows: 200_000},
		"little memory": {MemoryLimit: 8 << 20, FileRows: 150_000, RowGroupRows: 20_000},
	} {
		t.Run(name, func(t *testing.T) {
			store := openStore(t, memBucket(t), o)
			h.load(t, store, shuffled(r, rows), 3)
			for _, knownAt := range []bool{false, true} {
				reader, err := store.Historical(t.Context(), offline.HistoricalRequest{
					Spine: s.reader(t, 70_000), TimeColumn: "at", Selection: selectAll(h.view), KnownAt: knownAt,
				})
				require.NoError(t, err)
				h.check(t, want[knownAt], reader)
			}
		})
	}
}

// TestHistoricalOfRandomWorlds does the same with small worlds of every shape.
func TestHistoricalOfRandomWorlds(t *testing.T) {
	for seed := range uint64(25) {
		r := rand.New(rand.NewPCG(seed, 9))
		h := makeHistory(r, millionView(time.Duration(r.IntN(3))*time.Duration(r.Int64N(500))*time.Millisecond), 1+r.IntN(200), 1+r.IntN(30))
		s := makeSpine(r, 1+r.IntN(200), 1+r.IntN(30))
		o := offline.Options{
			MemoryLimit:  []int64{0, 1 << 10, 1 << 16}[r.IntN(3)],
			RowGroupRows: []int{0, 20, 60}[r.IntN(3)], FileRows: []int{0, 40, 90}[r.IntN(3)],
		}
		store := openStore(t, memBucket(t), o)
		h.load(t, store, shuffled(r, len(h.key)), 1+r.IntN(4))
		knownAt := r.IntN(2) == 0
		reader, err := store.Historical(t.Context(), offline.HistoricalRequest{
			Spine: s.reader(t, 1+r.IntN(50)), TimeColumn: "at", Selection: selectAll(h.view), KnownAt: knownAt,
		})
		require.NoError(t, err)
		h.check(t, h.naive(s, knownAt), reader)
	}
}
