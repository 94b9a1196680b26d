package ingest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online/onlinetest"
)

const noteYAML = `
entities: [{name: e, join_keys: [{name: k, type: int64}]}]
views: [{name: f, entities: [e], created_timestamp: created, features: [{name: v, type: int64}, {name: note, type: string}]}]
`

// TestPushLarge: a body that does not fit the memory that a push may take is
// spooled, and decoded a second time for the online side; what lands is what
// would have landed from memory, and nothing stays behind.
func TestPushLarge(t *testing.T) {
	const keys, noteBytes = 20_000, 1 << 10
	w := newWorld(t)
	w.apply(t, noteYAML)
	v := w.view(t, "f")
	var body bytes.Buffer
	body.WriteString("k,event_timestamp,created,v,note\n")
	note := strings.Repeat("n", noteBytes)
	for k := range keys {
		fmt.Fprintf(&body, "%d,2024-01-01T10:00:00Z,,%d,%s\n", k, k, note)
		if k%1000 == 0 {
			fmt.Fprintf(&body, "%d,2024-01-01T10:00:00Z,,seven,\n", k)
		}
	}
	require.Greater(t, body.Len(), memoryBody)
	require.Greater(t, body.Len(), maxKeptBytes)

	faults := onlinetest.NewFaults(w.online, 1, onlinetest.Fault{Op: "Write", Nth: 2})
	w.o.Online = faults
	push := func() (wire.PushResult, error) {
		return w.ingester().Push(t.Context(), PushRequest{
			View: v, Format: feature.FormatCSV, Body: bytes.NewReader(body.Bytes()), Options: wire.PushOptions{IdempotencyKey: "large"},
		})
	}
	out, err := push()
	require.ErrorContains(t, err, "the rows are in the table (version 1)")
	require.EqualValues(t, keys, out.Accepted)
	require.Len(t, out.Rejected, keys/1000)
	require.Equal(t, wire.Rejected{Row: 1001 + 1, Field: "v", Reason: `"seven": not a number`}, out.Rejected[1])

	w.clock.Advance(time.Hour)
	out, err = push()
	require.NoError(t, err)
	require.True(t, out.Repeated)
	served := w.counts(t, v, keys)
	require.Len(t, served, keys)
	for k, got := range served {
		require.Equal(t, k, got)
	}

	// Without a fault, the second decoding writes all of them.
	w = newWorld(t)
	w.apply(t, noteYAML)
	out, err = push()
	require.NoError(t, err)
	require.EqualValues(t, keys, out.Accepted)
	require.Zero(t, out.Superseded)
	require.Len(t, w.counts(t, v, keys), keys)
	left, err := os.ReadDir(w.o.TempDir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestPushPermutations is T2 and T3: rows of one key in every order, in one push
// and in one each, and all of them once more, give one state.
func TestPushPermutations(t *testing.T) {
	rows := []string{
		"1,2024-01-01T10:00:00Z,2024-01-01T10:01:00Z,1,a",
		"1,2024-01-01T09:00:00Z,2024-01-01T11:00:00Z,0,b",
		"1,2024-01-01T10:00:00Z,2024-01-01T10:05:00Z,2,c",
		"1,2024-01-01T10:00:00Z,2024-01-01T10:02:00Z,3,d",
	}
	for _, order := range permutations(len(rows)) {
		for _, batch := range []int{1, len(rows)} {
			w := newWorld(t)
			w.apply(t, noteYAML)
			v := w.view(t, "f")
			for range 2 {
				for at := 0; at < len(rows); at += batch {
					lines := []string{"k,event_timestamp,created,v,note"}
					for _, i := range order[at : at+batch] {
						lines = append(lines, rows[i])
					}
					out, err := w.ingester().Push(t.Context(), PushRequest{View: v, Format: feature.FormatCSV, Body: strings.NewReader(strings.Join(lines, "\n"))})
					require.NoError(t, err)
					require.EqualValues(t, batch, out.Accepted)
				}
			}
			require.Equal(t, map[int64]int64{1: 2}, w.counts(t, v, 2), "order %v, %d at a time", order, batch)

			// The table has them all, and loads the same.
			store := onlinetest.NewReference()
			w.o.Online, w.online = store, store
			_, err := w.ingester().Materialize(t.Context(), MaterializeRequest{View: v})
			require.NoError(t, err)
			require.Equal(t, map[int64]int64{1: 2}, w.counts(t, v, 2), "order %v, %d at a time", order, batch)
		}
	}
}

// permutations returns the orders of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, rest := range permutations(n - 1) {
		for at := range n {
			out = append(out, slices.Insert(slices.Clone(rest), at, n-1))
		}
	}
	return out
}

// TestPushAgainWithoutKey: a push without a key that comes twice is in the table
// twice, and once online.
func TestPushAgainWithoutKey(t *testing.T) {
	w := newWorld(t)
	w.apply(t, noteYAML)
	v := w.view(t, "f")
	for i := range 2 {
		out, err := w.ingester().Push(t.Context(), PushRequest{
			View: v, Format: feature.FormatNDJSON, Body: strings.NewReader(`{"k": 0, "event_timestamp": "2024-01-01", "v": 1}`),
		})
		require.NoError(t, err)
		require.EqualValues(t, i+1, out.Version)
		require.False(t, out.Repeated)
	}
	require.Equal(t, 2, strings.Count(w.rows(t, v), "\n"))
	require.Equal(t, map[int64]int64{0: 1}, w.counts(t, v, 1))
}

// TestPushManyChunks: a push that is decoded in many pieces goes online as a
// whole.
func TestPushManyChunks(t *testing.T) {
	w := newWorld(t)
	w.apply(t, counterYAML)
	w.o.ChunkBytes, w.o.WriteRows = 64, 7
	v := w.view(t, "f")
	out, err := w.ingester().Push(t.Context(), PushRequest{View: v, Format: feature.FormatCSV, Body: bytes.NewReader(counterCSV(100))})
	require.NoError(t, err)
	require.EqualValues(t, 200, out.Accepted)
	served := w.counts(t, v, 100)
	require.Len(t, served, 100)
	for k, got := range served {
		require.Equal(t, k, got)
	}
}

// TestPushRepeatedTakesItsOwnRows: a push that is repeated finishes its own rows
// online, not what others have left in the table for the next materialization.
func TestPushRepeatedTakesItsOwnRows(t *testing.T) {
	w := newWorld(t)
	w.apply(t, counterYAML)
	v := w.view(t, "f")
	push := func(key string, k int, o wire.PushOptions) wire.PushResult {
		o.IdempotencyKey = key
		out, err := w.ingester().Push(t.Context(), PushRequest{
			View: v, Format: feature.FormatCSV, Options: o,
			Body: strings.NewReader(fmt.Sprintf("k,event_timestamp,v\n%d,2024-01-01,%d\n", k, k)),
		})
		require.NoError(t, err)
		return out
	}
	push("zero", 0, wire.PushOptions{Offline: true})
	push("one", 1, wire.PushOptions{Offline: true})
	push("two", 2, wire.PushOptions{Offline: true})
	require.Empty(t, w.counts(t, v, 3))
	require.True(t, push("one", 1, wire.PushOptions{}).Repeated)
	require.Equal(t, map[int64]int64{1: 1}, w.counts(t, v, 3))
}
