package pit_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/pit"
)

// fact is a row of a history.
type fact struct {
	key            int32
	event, created int64
	position       int64
}

// question is a row of a spine.
type question struct {
	key int32
	at  int64
}

// naive is the definition: look at every row of the key, keep the newest of
// those that may be seen.
func naive(q question, ofKey []fact, rule pit.Rule) (position int64, status pit.Status) {
	found := false
	var best fact
	for _, f := range ofKey {
		if f.event > q.at || rule.KnownAt && f.created > q.at {
			continue
		}
		newer := !found || f.event > best.event ||
			f.event == best.event && (f.created > best.created || f.created == best.created && f.position > best.position)
		if newer {
			best, found = f, true
		}
	}
	switch {
	case !found:
		return 0, pit.NotFound
	case rule.TTL > 0 && best.event < q.at-time.Duration(rule.TTL).Microseconds():
		return 0, pit.OutsideMaxAge
	}
	return best.position, pit.Found
}

// world is a history cut into blocks, and a spine.
type world struct {
	keys   int32
	facts  []fact
	blocks []pit.Block
	spine  []question // sorted
}

// shape is the size of a world: a history of rows in so many loads, each sorted
// and cut into blocks of at most size rows, and a spine of asks rows. Few
// different times make many ties.
type shape struct {
	keys                    int32
	rows, loads, size, asks int
	times                   int64
}

// makeWorld draws a world.
func makeWorld(r *rand.Rand, s shape) world {
	keys, rows, loads, size, asks, times := s.keys, s.rows, s.loads, s.size, s.asks, s.times
	w := world{keys: keys}
	for l := range loads {
		part := make([]fact, rows/loads)
		for i := range part {
			event := r.Int64N(times)
			part[i] = fact{key: r.Int32N(keys), event: event, created: event + r.Int64N(times)/8}
			if r.IntN(20) == 0 {
				part[i].created = r.Int64N(2 * times)
			}
		}
		slices.SortStableFunc(part, compareFacts)
		for i := range part {
			part[i].position = int64(l)<<32 + int64(i)
		}
		w.facts = append(w.facts, part...)
		for start := 0; start < len(part); start += size {
			w.blocks = append(w.blocks, blockOf(part[start:min(start+size, len(part))]))
		}
	}
	for range asks {
		w.spine = append(w.spine, question{key: r.Int32N(keys), at: r.Int64N(times + times/4)})
	}
	slices.SortFunc(w.spine, func(a, b question) int {
		if a.key != b.key {
			return int(a.key) - int(b.key)
		}
		return int(a.at - b.at)
	})
	return w
}

func compareFacts(a, b fact) int {
	switch {
	case a.key != b.key:
		return int(a.key) - int(b.key)
	case a.event != b.event:
		return int(a.event - b.event)
	}
	return int(a.created - b.created)
}

func blockOf(facts []fact) pit.Block {
	b := pit.Block{Position: facts[0].position}
	for i, f := range facts {
		b.Event, b.Created = append(b.Event, f.event), append(b.Created, f.created)
		if n := len(b.Groups); n > 0 && b.Groups[n-1].Key == f.key {
			b.Groups[n-1].End++
			continue
		}
		b.Groups = append(b.Groups, pit.Group{Key: f.key, Start: int32(i), End: int32(i) + 1})
	}
	return b
}

func (w world) pitSpine(t require.TestingT) pit.Spine {
	first := make([]int32, w.keys+1)
	at := make([]int64, len(w.spine))
	for i, q := range w.spine {
		first[q.key+1]++
		at[i] = q.at
	}
	for k := range w.keys {
		first[k+1] += first[k]
	}
	s, err := pit.MakeSpine(first, at)
	require.NoError(t, err)
	return s
}

// check compares every row of the join with the definition.
func (w world) check(t require.TestingT, join *pit.Join, rule pit.Rule) {
	byKey := make([][]fact, w.keys)
	for _, f := range w.facts {
		byKey[f.key] = append(byKey[f.key], f)
	}
	for i, q := range w.spine {
		want, wantStatus := naive(q, byKey[q.key], rule)
		got, _, status := join.Row(i)
		if status != wantStatus || status == pit.Found && got != want {
			require.Failf(t, "differs", "row %d %+v: got %d %s, want %d %s", i, q, got, status, want, wantStatus)
		}
	}
}

// newestFirst adds the blocks as a table of many files does, with the promise
// of Settle.
func (w world) newestFirst(join *pit.Join) {
	latest := func(b pit.Block) int64 { return slices.Max(b.Event) }
	blocks := slices.Clone(w.blocks)
	slices.SortStableFunc(blocks, func(a, b pit.Block) int { return int(latest(b) - latest(a)) })
	for _, b := range blocks {
		join.Settle(feature.Timestamp(latest(b)))
		join.Add(b)
	}
}

// TestJoinIsTheDefinition draws small worlds that are full of ties.
func TestJoinIsTheDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 4))
		w := makeWorld(r, shape{1 + r.Int32N(4), r.IntN(120), 1 + r.IntN(4), 1 + r.IntN(20), r.IntN(60), 1 + r.Int64N(40)})
		rule := pit.Rule{TTL: feature.TTL(time.Duration(r.IntN(20)) * time.Microsecond), KnownAt: rapid.Bool().Draw(t, "known_at")}
		join := pit.NewJoin(w.pitSpine(t), rule)
		switch rapid.IntRange(0, 2).Draw(t, "order") {
		case 0:
			for _, b := range w.blocks {
				require.NoError(t, b.Check())
				join.Add(b)
			}
		case 1:
			r.Shuffle(len(w.blocks), func(i, j int) { w.blocks[i], w.blocks[j] = w.blocks[j], w.blocks[i] })
			for _, b := range w.blocks {
				join.Add(b)
			}
		case 2:
			w.newestFirst(join)
		}
		w.check(t, join, rule)
	})
}

// TestJoinOfAMillionRows holds a million random rows to the definition, row by
// row, in blocks as files have them.
func TestJoinOfAMillionRows(t *testing.T) {
	s := shape{10_000 / scale, 1_000_000 / scale, 5, 40_000 / scale, 300_000 / scale, 1_000_000 / scale}
	w := makeWorld(rand.New(rand.NewPCG(5, 6)), s)
	for _, rule := range []pit.Rule{{}, {TTL: feature.TTL(50 * time.Millisecond)}, {KnownAt: true}} {
		join := pit.NewJoin(w.pitSpine(t), rule)
		w.newestFirst(join)
		w.check(t, join, rule)
	}
}

// TestKnownAtOfABackfill is the case for which known.go has its second way:
// everything was created after all events, in the opposite order.
func TestKnownAtOfABackfill(t *testing.T) {
	const rows = 20_000
	var w world
	w.keys = 1
	for i := range int64(rows) {
		w.facts = append(w.facts, fact{event: i, created: 3*rows - i, position: i})
		w.spine = append(w.spine, question{at: 2 * i})
	}
	rule := pit.Rule{KnownAt: true}
	join := pit.NewJoin(w.pitSpine(t), rule)
	join.Add(blockOf(w.facts))
	for i := 0; i < rows; i += 997 {
		want, wantStatus := naive(w.spine[i], w.facts, rule)
		got, _, status := join.Row(i)
		require.Equal(t, wantStatus, status, "row %d", i)
		require.Equal(t, want, got, "row %d", i)
	}
}

func TestMakeSpineRefuses(t *testing.T) {
	for _, c := range []struct {
		first []int32
		at    []int64
		want  string
	}{
		{nil, nil, "do not cover"},
		{[]int32{0, 1}, []int64{1, 2}, "do not cover"},
		{[]int32{0, 2, 1, 2}, []int64{1, 2}, "ordinal 1 of the spine begins after its end"},
		{[]int32{0, 2}, []int64{2, 1}, "row 1 of the spine is out of order"},
	} {
		_, err := pit.MakeSpine(c.first, c.at)
		require.ErrorContains(t, err, c.want)
	}
	s, err := pit.MakeSpine([]int32{0, 2, 3}, []int64{1, 2, 0})
	require.NoError(t, err)
	require.Equal(t, 3, s.Len())
	require.Equal(t, 2, s.Keys())
	start, end := s.Rows(1)
	require.Equal(t, []int{2, 3}, []int{start, end})
	require.Equal(t, feature.Timestamp(2), s.At(1))
}

func TestBlockCheck(t *testing.T) {
	good := func() pit.Block {
		return pit.Block{
			Groups: []pit.Group{{Key: 0, Start: 0, End: 2}, {Key: 3, Start: 2, End: 4}},
			Event:  []int64{1, 2, 0, 0}, Created: []int64{5, 4, 1, 1},
		}
	}
	require.NoError(t, good().Check())
	for _, c := range []struct {
		want   string
		damage func(b *pit.Block)
	}{
		{"4 event and 3 created", func(b *pit.Block) { b.Created = b.Created[:3] }},
		{"group {3 2 4} after group {3 0 2}", func(b *pit.Block) { b.Groups[0].Key = 3 }},
		{"in a block of 4 rows", func(b *pit.Block) { b.Groups[1].End = 5 }},
		{"row 1 is older", func(b *pit.Block) { b.Event[0] = 3 }},
		{"row 3 is older", func(b *pit.Block) { b.Created[3] = 0 }},
	} {
		b := good()
		c.damage(&b)
		require.ErrorContains(t, b.Check(), c.want)
	}
}

func TestStatusString(t *testing.T) {
	require.Equal(t, "UNKNOWN", pit.Status(math.MaxUint8).String())
}

func BenchmarkJoin(b *testing.B) {
	w := makeWorld(rand.New(rand.NewPCG(5, 6)), shape{10_000, 1_000_000, 1, 131_072, 100_000, 1 << 40})
	spine := w.pitSpine(b)
	for b.Loop() {
		join := pit.NewJoin(spine, pit.Rule{})
		for _, block := range w.blocks {
			join.Add(block)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(w.spine)), "ns/row")
}
