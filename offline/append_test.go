package offline_test

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
)

func TestTablePath(t *testing.T) {
	require.Equal(t, "tables/p/v7-7", offline.TablePath(numbers(7)))
}

func TestAppendAndState(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{})
	v := numbers(1)
	state, err := s.State(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, offline.TableState{Version: -1}, state)

	// Nothing to write makes no table.
	a, err := s.Append(t.Context(), v, offline.AppendOptions{})
	require.NoError(t, err)
	out, err := a.Commit(t.Context())
	require.NoError(t, err)
	require.Equal(t, offline.AppendResult{Version: -1}, out)

	out = load(t, s, v, []feature.Row{row(t, v, 1, at(0), at(0), feature.Int64Value(1)), row(t, v, 2, at(0), at(0), feature.Int64Value(2))})
	require.EqualValues(t, 1, out.Version)
	require.EqualValues(t, 2, out.Rows)
	require.Equal(t, 1, out.Files)
	state, err = s.State(t.Context(), v)
	require.NoError(t, err)
	require.EqualValues(t, 1, state.Version)
	require.EqualValues(t, 2, state.Rows)
	require.Equal(t, out.Bytes, state.Bytes)
	require.GreaterOrEqual(t, state.Time, at(0))
}

func TestAppendRefuses(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{})
	v := numbers(1)
	a, err := s.Append(t.Context(), v, offline.AppendOptions{})
	require.NoError(t, err)
	other := makeView(2, feature.Feature{Name: "w", Type: feature.Bool})
	err = a.Write(t.Context(), record(t, other, nil))
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), "%v", err)

	nulls := record(t, v, []feature.Row{row(t, v, 1, at(0), at(0), feature.Int64Value(1))})
	b := withNullEvent(t, nulls)
	require.ErrorContains(t, a.Write(t.Context(), b), "column event_timestamp has 1 nulls")

	require.NoError(t, a.Abort(t.Context()))
	require.NoError(t, a.Abort(t.Context()))
	require.ErrorContains(t, a.Write(t.Context(), nulls), "has ended")
	_, err = a.Commit(t.Context())
	require.ErrorContains(t, err, "has ended")
}

func TestAppendAbortLeavesNothing(t *testing.T) {
	b := memBucket(t)
	dir := t.TempDir()
	s := openStore(t, b, offline.Options{TempDir: dir, MemoryLimit: 1})
	v := numbers(1)
	a, err := s.Append(t.Context(), v, offline.AppendOptions{})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, a.Write(t.Context(), record(t, v, []feature.Row{row(t, v, 1, 0, 0, feature.Int64Value(1))})))
	}
	require.NoError(t, a.Abort(t.Context()))
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, keysOf(t, b))
}

func keysOf(t *testing.T, b bucket.Bucket) []string {
	t.Helper()
	var out []string
	for o, err := range b.List(t.Context(), "", "") {
		require.NoError(t, err)
		out = append(out, o.Key)
	}
	return out
}

func TestAppendOnceByIdempotencyKey(t *testing.T) {
	b := memBucket(t)
	s := openStore(t, b, offline.Options{})
	v := numbers(1)
	rows := []feature.Row{row(t, v, 1, at(0), at(0), feature.Int64Value(1))}
	_, landed, err := s.Landed(t.Context(), v, "batch 1")
	require.NoError(t, err)
	require.False(t, landed)

	out, err := tryLoad(t, s, v, rows, offline.AppendOptions{IdempotencyKey: "batch 1"})
	require.NoError(t, err)
	require.Equal(t, int64(1), out.Version)
	require.False(t, out.Repeated)

	for _, store := range []*offline.Store{s, openStore(t, b, offline.Options{})} {
		out, err = tryLoad(t, store, v, rows, offline.AppendOptions{IdempotencyKey: "batch 1"})
		require.NoError(t, err)
		require.Equal(t, offline.AppendResult{Version: 1, Repeated: true}, out)
		version, landed, err := store.Landed(t.Context(), v, "batch 1")
		require.NoError(t, err)
		require.True(t, landed)
		require.EqualValues(t, 1, version)
	}
	out, err = tryLoad(t, s, v, rows, offline.AppendOptions{IdempotencyKey: "batch 2"})
	require.NoError(t, err)
	require.Equal(t, int64(2), out.Version)
	// A batch without rows leaves its key, too.
	a, err := s.Append(t.Context(), v, offline.AppendOptions{IdempotencyKey: "empty"})
	require.NoError(t, err)
	_, err = a.Commit(t.Context())
	require.NoError(t, err)
	_, landed, err = s.Landed(t.Context(), v, "empty")
	require.NoError(t, err)
	require.True(t, landed)
}

// TestAppendersAtOnce makes ten writers race for a table that is not there; two
// of each have one idempotency key.
func TestAppendersAtOnce(t *testing.T) {
	b := memBucket(t)
	v := numbers(1)
	var wg sync.WaitGroup
	results := make([]offline.AppendResult, 10)
	errs := make([]error, 10)
	for i := range results {
		wg.Go(func() {
			s := openStore(t, b, offline.Options{})
			results[i], errs[i] = tryLoad(t, s, v, []feature.Row{row(t, v, int64(i/2), at(i), at(i), feature.Int64Value(int64(i)))},
				offline.AppendOptions{IdempotencyKey: string(rune('a' + i/2))})
		})
	}
	wg.Wait()
	repeated := 0
	for i := range results {
		require.NoError(t, errs[i])
		if results[i].Repeated {
			repeated++
		}
	}
	require.Equal(t, 5, repeated)
	state, err := openStore(t, b, offline.Options{}).State(t.Context(), v)
	require.NoError(t, err)
	require.EqualValues(t, 5, state.Rows)
	files := 0
	for _, key := range keysOf(t, b) {
		if len(key) > 8 && key[len(key)-8:] == ".parquet" {
			files++
		}
	}
	require.Equal(t, 5, files, "files of appends that were there before are removed")
}

// TestAppendEvolves adds a feature to a view: old rows have null, and writers
// of the old view go on.
func TestAppendEvolves(t *testing.T) {
	s := openStore(t, memBucket(t), offline.Options{})
	old := numbers(1)
	load(t, s, old, []feature.Row{row(t, old, 1, at(0), at(0), feature.Int64Value(1))})
	grown := numbers(1)
	grown.Features = append(grown.Features,
		feature.Feature{Name: "list", Type: feature.ListOf(feature.String)},
		feature.Feature{Name: "vec", Type: feature.Vector(2)},
		feature.Feature{Name: "text", Type: feature.String})
	load(t, s, grown, []feature.Row{row(t, grown, 1, at(1), at(1), feature.Int64Value(2),
		feature.ListValue(feature.ListOf(feature.String), []feature.Value{feature.StringValue("x"), feature.Null(feature.String)}),
		feature.VectorValue([]float32{1, 2}), feature.StringValue("t"))})
	load(t, s, old, []feature.Row{row(t, old, 2, at(2), at(2), feature.Int64Value(3))})

	reader, err := s.Scan(t.Context(), grown, offline.ScanRequest{})
	require.NoError(t, err)
	require.Equal(t, []string{
		"1 0 0 1 null null null",
		`1 1 1 2 ["x",null] [1.0,2.0] "t"`,
		"2 2 2 3 null null null",
	}, texts(drain(t, reader, typesOf(grown))))

	changed := numbers(1)
	changed.Features[0].Type = feature.String
	_, err = tryLoad(t, s, changed, []feature.Row{row(t, changed, 1, at(0), at(0), feature.StringValue("1"))}, offline.AppendOptions{})
	require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
	require.ErrorContains(t, err, "column v is int64 in the table and string in the view: make a new view")
}

// TestOpenRemovesLeftRuns finds what a dead process left, and keeps the rest.
func TestOpenRemovesLeftRuns(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/granary-runs-1", 0o700))
	require.NoError(t, os.Mkdir(dir+"/other", 0o700))
	openStore(t, memBucket(t), offline.Options{TempDir: dir})
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
