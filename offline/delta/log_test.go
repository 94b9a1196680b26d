package delta_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func openBucket(t *testing.T, address string) bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), address, bucket.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func columns() []delta.Field {
	return []delta.Field{
		{Name: "k", Type: feature.Int64},
		{Name: "ts", Type: feature.TimestampType},
		{Name: "v", Type: feature.Float64, Nullable: true},
	}
}

func requireCode(t *testing.T, want feature.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want.String(), feature.CodeOf(err).String(), "error: %v", err)
}

func file(name string, rows int64) delta.File {
	return delta.File{Path: name, Size: 100 + rows, DataChange: true, Stats: delta.Stats{Rows: rows}}
}

func paths(s *delta.Snapshot) []string {
	out := make([]string, len(s.Files))
	for i, f := range s.Files {
		out[i] = f.Path
	}
	return out
}

// table makes a table in a bucket and returns its log.
func table(t *testing.T, b bucket.Bucket, o delta.Options) *delta.Log {
	t.Helper()
	l := delta.New(b, "tables/t", o)
	v, err := l.Create(t.Context(), delta.Metadata{Fields: columns()})
	require.NoError(t, err)
	require.Zero(t, v)
	return l
}

func appendFile(t *testing.T, l *delta.Log, f ...delta.File) int64 {
	t.Helper()
	v, err := l.Commit(t.Context(), delta.Transaction{Add: f})
	require.NoError(t, err)
	return v
}

func TestLogLifeOfATable(t *testing.T) {
	b := openBucket(t, t.TempDir())
	ctx := t.Context()
	l := delta.New(b, "tables/t", delta.Options{})
	_, err := l.Snapshot(ctx)
	requireCode(t, feature.CodeNotFound, err)
	_, err = l.Commit(ctx, delta.Transaction{Add: []delta.File{file("a", 1)}})
	requireCode(t, feature.CodeNotFound, err)
	table(t, b, delta.Options{})
	_, err = l.Create(ctx, delta.Metadata{Fields: columns()})
	requireCode(t, feature.CodeAlreadyExists, err)

	for i := range 5 {
		require.EqualValues(t, i+1, appendFile(t, l, file(fmt.Sprintf("b/%d", i), 1), file(fmt.Sprintf("a/%d", i), 2)))
	}
	snap, err := l.Snapshot(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 5, snap.Version)
	require.Equal(t, []string{"b/0", "a/0", "b/1", "a/1", "b/2", "a/2", "b/3", "a/3", "b/4", "a/4"}, paths(snap))
	require.EqualValues(t, 3, snap.Files[4].Version)

	v, err := l.Commit(ctx, delta.Transaction{
		Read: snap, Operation: "DELETE", Remove: []delta.File{snap.Files[2], snap.Files[7]}, Add: []delta.File{file("c", 9)},
	})
	require.NoError(t, err)
	require.EqualValues(t, 6, v)
	require.Len(t, snap.Files, 10, "a snapshot never changes")

	for name, other := range map[string]*delta.Log{"same": l, "another process": delta.New(b, "tables/t", delta.Options{})} {
		now, err := other.Snapshot(ctx)
		require.NoError(t, err, name)
		require.Equal(t, []string{"b/0", "a/0", "a/1", "b/2", "a/2", "b/3", "b/4", "a/4", "c"}, paths(now), name)
		old, err := other.At(ctx, 5)
		require.NoError(t, err, name)
		require.Equal(t, snap.Files, old.Files, name)
		require.Equal(t, snap.Time, old.Time, name)
		_, err = other.At(ctx, 7)
		requireCode(t, feature.CodeNotFound, err)
		require.ErrorContains(t, err, "version 7")
	}
}

func TestLogCommitTimes(t *testing.T) {
	c := clock.NewManual(noon)
	l := table(t, openBucket(t, "mem://"), delta.Options{Clock: c})
	ctx := t.Context()
	appendFile(t, l, file("same-instant", 1))
	c.Set(noon.Add(-time.Hour))
	appendFile(t, l, file("clock-went-back", 1))
	c.Set(noon.Add(time.Minute))
	appendFile(t, l, file("later", 1))

	at := feature.FromTime(noon)
	for _, q := range []struct {
		t    feature.Timestamp
		want int64
	}{
		{at, 0}, {at + 1, 1}, {at + 2, 2}, {at + 3, 2}, {at + 59_999_999, 2}, {at + 60_000_000, 3}, {feature.MaxTimestamp, 3},
	} {
		snap, err := l.AsOf(ctx, q.t)
		require.NoError(t, err)
		require.Equal(t, q.want, snap.Version, "as of %s", q.t)
		require.LessOrEqual(t, snap.Time, q.t)
	}
	_, err := l.AsOf(ctx, at-1)
	requireCode(t, feature.CodeNotFound, err)
	require.ErrorContains(t, err, "2024-01-01T12:00:00Z")

	history, err := l.History(ctx, 2)
	require.NoError(t, err)
	require.Len(t, history, 2)
	require.EqualValues(t, 3, history[0].Version)
	require.Equal(t, at+2, history[1].Time)
	require.Equal(t, 1, history[0].Added)
	history, err = l.History(ctx, 0)
	require.NoError(t, err)
	require.Len(t, history, 4)
	require.Equal(t, "CREATE TABLE", history[3].Operation)
}
