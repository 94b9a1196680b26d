package metamorphic

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
)

// run is one sequence under one configuration.
type run struct {
	t       *testing.T
	rng     *rand.Rand
	sys     *system
	model   *model
	keys    int64
	created feature.Timestamp // counts up, so that no version is used twice
	log     []string          // the history, equal under every configuration
}

func (r *run) note(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *run) now() feature.Timestamp { return feature.FromTime(r.sys.clock.Now()) }

// step does one random operation.
func (r *run) step() {
	switch n := r.rng.IntN(100); {
	case n < 20:
		r.push()
	case n < 40:
		r.ingest()
	case n < 55:
		r.materialize()
	case n < 60:
		r.sys.clock.Advance(time.Duration(r.rng.IntN(7200)) * time.Second)
		r.note("now %s", r.now())
	case n < 63:
		r.sys.reopen(r.t)
		r.note("reopen")
	case n < 66:
		r.erase()
	case n < 83:
		r.lookup()
	default:
		r.join()
	}
}

// rows makes a random batch: in order or not, late, doubled keys, nulls. The
// events lie on whole milliseconds, the clock never does: no event is now.
func (r *run) rows(most int, latest feature.Timestamp) []row {
	out := make([]row, 1+r.rng.IntN(most))
	for i := range out {
		age := time.Duration(r.rng.Int64N(int64(6 * time.Hour)))
		event := latest.Add(-age) / 1000 * 1000
		r.created++
		out[i] = row{key: r.rng.Int64N(r.keys), event: event, created: r.created, v: r.rng.Int64N(1000), null: r.rng.IntN(10) == 0}
	}
	return out
}

func ndjson(rows []row) string {
	var b strings.Builder
	for _, r := range rows {
		v := strconv.FormatInt(r.v, 10)
		if r.null {
			v = "null"
		}
		fmt.Fprintf(&b, `{"k": %d, "event_timestamp": %q, "created": %q, "v": %s}`+"\n", r.key, r.event, r.created, v)
	}
	return b.String()
}

func (r *run) push() {
	rows := r.rows(20, r.now())
	res, err := r.sys.service.Push(r.t.Context(), project, view, feature.FormatNDJSON, strings.NewReader(ndjson(rows)), wire.PushOptions{})
	require.NoError(r.t, err)
	require.Equal(r.t, int64(len(rows)), res.Accepted, "%v", res.Rejected)
	for _, w := range rows {
		r.model.rows = append(r.model.rows, w)
		r.model.write(w)
	}
	r.note("push %d", len(rows))
}

// ingest brings a file in; some of its rows are dated in the future.
func (r *run) ingest() {
	rows := r.rows(300, r.now().Add(time.Hour))
	file := filepath.Join(r.t.TempDir(), "rows.ndjson")
	require.NoError(r.t, os.WriteFile(file, []byte(ndjson(rows)), 0o600))
	sum, err := r.sys.ingester.Files(r.t.Context(), ingest.FileRequest{View: r.sys.view(r.t), Inputs: []string{file}})
	require.NoError(r.t, err)
	require.Equal(r.t, int64(len(rows)), sum.Accepted)
	r.model.rows = append(r.model.rows, rows...)
	r.note("ingest %d", len(rows))
}

// materialize loads, and holds the online answer at now to the join at now.
func (r *run) materialize() {
	job, err := r.sys.service.Materialize(r.t.Context(), project, wire.MaterializeRequest{Full: r.rng.IntN(4) == 0})
	require.NoError(r.t, err)
	job, err = r.sys.service.Wait(r.t.Context(), project, job.ID, nil)
	require.NoError(r.t, err)
	require.Equal(r.t, wire.JobDone, job.State, "%v", job.Error)
	r.model.materialize(r.now())
	r.note("materialize")
	for key := range r.keys {
		online, _, _ := strings.Cut(r.model.lookup(key, r.now()), " ")
		require.Equal(r.t, r.model.joined(key, r.now(), false), online, "the model disagrees with itself on key %d", key)
	}
	r.lookup()
}

func (r *run) erase() {
	key := r.rng.Int64N(r.keys)
	_, err := r.sys.service.Erase(r.t.Context(), project, view, wire.EraseRequest{Entities: keyColumn([]int64{key})})
	require.NoError(r.t, err)
	r.model.erase(key)
	r.note("erase %d", key)
}

func keyColumn(keys []int64) map[string][]wire.RawValue {
	raw := make([]wire.RawValue, len(keys))
	for i, k := range keys {
		raw[i] = wire.RawValue(strconv.FormatInt(k, 10))
	}
	return map[string][]wire.RawValue{"k": raw}
}

func (r *run) someKeys(n int) []int64 {
	keys := make([]int64, n)
	for i := range keys {
		keys[i] = r.rng.Int64N(r.keys + 2) // a few that never exist
	}
	return keys
}

func (r *run) lookup() {
	keys := r.someKeys(15)
	res, err := r.sys.service.Online(r.t.Context(), project, wire.OnlineRequest{
		Features: []string{view + ":v"}, Entities: keyColumn(keys), Include: []string{wire.IncludeStatus},
	})
	require.NoError(r.t, err)
	for i, key := range keys {
		col := res.Columns[1]
		got := string(col.Values[i]) + " " + col.Status[i]
		require.Equal(r.t, r.model.lookup(key, r.now()), got, "lookup of key %d at %s", key, r.now())
		r.note("lookup %d %s", key, got)
	}
}

func (r *run) join() {
	keys, knownAt := r.someKeys(60), r.rng.IntN(3) == 0
	times := make([]feature.Timestamp, len(keys))
	var spine strings.Builder
	for i, key := range keys {
		times[i] = r.spineTime(key)
		fmt.Fprintf(&spine, `{"k": %d, "event_timestamp": %q}`+"\n", key, times[i])
	}
	o := wire.HistoricalOptions{Features: []string{view + ":v"}, KnownAt: knownAt}
	in, err := r.sys.service.ReadSpine(r.t.Context(), project, o, feature.FormatNDJSON, strings.NewReader(spine.String()))
	require.NoError(r.t, err)
	out, err := r.sys.service.Historical(r.t.Context(), project, o, in)
	require.NoError(r.t, err)
	got := int64Column(r.t, out, "v")
	require.Len(r.t, got, len(keys))
	for i, key := range keys {
		require.Equal(r.t, r.model.joined(key, times[i], knownAt), got[i], "join of key %d at %s, known at: %v", key, times[i], knownAt)
		r.note("join %d %s %s", key, times[i], got[i])
	}
}

// spineTime is any time, or one at the edge of a row: its event, a microsecond
// before, its end of life, a microsecond after.
func (r *run) spineTime(key int64) feature.Timestamp {
	at := r.now().Add(time.Hour - time.Duration(r.rng.Int64N(int64(10*time.Hour))))
	for range 5 {
		if len(r.model.rows) == 0 {
			break
		}
		if w := r.model.rows[r.rng.IntN(len(r.model.rows))]; w.key == key {
			edges := []feature.Timestamp{0, -1, feature.Timestamp(r.model.ttl / 1000), feature.Timestamp(r.model.ttl/1000) + 1}
			return w.event + edges[r.rng.IntN(len(edges))]
		}
	}
	return at
}

func int64Column(t *testing.T, r array.RecordReader, name string) []string {
	t.Helper()
	defer r.Release()
	var out []string
	for r.Next() {
		i := r.Record().Schema().FieldIndices(name)
		require.Len(t, i, 1)
		col, ok := r.Record().Column(i[0]).(*array.Int64)
		require.True(t, ok)
		for row := range col.Len() {
			if col.IsNull(row) {
				out = append(out, "null")
				continue
			}
			text, err := json.Marshal(col.Value(row))
			require.NoError(t, err)
			out = append(out, string(text))
		}
	}
	require.NoError(t, r.Err())
	return out
}
