package delta

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/offline/bucket"
)

func inMemory(t *testing.T) bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func requireFault(t *testing.T, code feature.Code, says string, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code.String(), feature.CodeOf(err).String(), "error: %v", err)
	require.ErrorContains(t, err, says)
}

var key = []Field{{Name: "k", Type: feature.Int64}}

// logOf writes log entries as another writer would.
func logOf(t *testing.T, b bucket.Bucket, texts ...string) *Log {
	t.Helper()
	l := New(b, "t", Options{CheckpointEvery: -1})
	for v, text := range texts {
		require.NoError(t, b.PutIfAbsent(t.Context(), l.dir+commitFile(int64(v)), []byte(text)))
	}
	return l
}

const tableEntry = `{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}
{"metaData":{"id":"x","format":{"provider":"parquet","options":{}},"schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"k\",\"type\":\"long\",\"nullable\":true,\"metadata\":{}}]}","partitionColumns":[],"configuration":{}}}`

func TestCheckpointInParts(t *testing.T) {
	b := inMemory(t)
	ctx := t.Context()
	l := New(b, "t", Options{CheckpointEvery: -1})
	_, err := l.Create(ctx, Metadata{Fields: key})
	require.NoError(t, err)
	for i := range 6 {
		_, err := l.Commit(ctx, Transaction{Add: []File{{Path: fmt.Sprintf("z%d", i)}, {Path: fmt.Sprintf("a%d", i)}}})
		require.NoError(t, err)
	}
	want, err := l.Snapshot(ctx)
	require.NoError(t, err)
	actions, err := want.actions()
	require.NoError(t, err)
	slices.Reverse(actions) // other engines keep no order
	for part := range 3 {
		var buf bytes.Buffer
		third := actions[part*len(actions)/3 : (part+1)*len(actions)/3]
		require.NoError(t, encodeCheckpoint(&buf, third))
		require.NoError(t, l.replace(ctx, fmt.Sprintf("%020d.checkpoint.%010d.%010d.parquet", 6, part+1, 3), buf.Bytes()))
	}
	for v := range int64(6) {
		require.NoError(t, b.Delete(ctx, l.dir+commitFile(v)))
	}
	got, err := New(b, "t", Options{}).Snapshot(ctx)
	require.NoError(t, err)
	require.Len(t, got.Files, 12)
	for i, f := range got.Files {
		require.Equal(t, want.Files[i].Path, f.Path)
		require.Equal(t, want.Files[i].Version, f.Version)
	}
	require.NoError(t, b.Delete(ctx, l.dir+fmt.Sprintf("%020d.checkpoint.%010d.%010d.parquet", 6, 2, 3)))
	_, err = New(b, "t", Options{}).Snapshot(ctx)
	requireFault(t, feature.CodeDataLoss, "version 0 is missing", err)
}

func TestCheckpointNames(t *testing.T) {
	v := "00000000000000000010"
	for name, parts := range map[string]int{
		v + ".checkpoint.parquet": 1, v + ".checkpoint.0000000002.0000000003.parquet": 3, v + ".checkpoint.0000000001.0000000000.parquet": 0,
		v + ".checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11.parquet": 0, v + ".json": 0, "10.checkpoint.parquet": 0,
		v + ".checkpoint.json": 0, v + ".crc": 0, "x" + v[1:] + ".checkpoint.parquet": 0,
	} {
		got, ok := parseCheckpointName(name)
		require.Equal(t, parts > 0, ok, name)
		if ok {
			require.Equal(t, checkpointRefKey{version: 10, parts: parts}, got)
		}
	}
	for name, ok := range map[string]bool{v + ".json": true, v + ".json.tmp": false, "1.json": false, v[1:] + "-.json": false} {
		_, got := parseCommitName(name)
		require.Equal(t, ok, got, name)
	}
}

// TestCheckpointKeepsTombstones for as long as readers of old versions may
// need the files; of a file that is back there is none.
func TestCheckpointKeepsTombstones(t *testing.T) {
	c := clock.NewManual(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	l := New(inMemory(t), "t", Options{Clock: c})
	ctx := t.Context()
	_, err := l.Create(ctx, Metadata{Fields: key})
	require.NoError(t, err)
	_, err = l.Commit(ctx, Transaction{Add: []File{{Path: "old"}, {Path: "late"}, {Path: "back"}}})
	require.NoError(t, err)
	for _, name := range []string{"old", "late", "back"} {
		snap, err := l.Snapshot(ctx)
		require.NoError(t, err)
		_, err = l.Commit(ctx, Transaction{Read: snap, Remove: []File{{Path: name, DataChange: true}}})
		require.NoError(t, err)
		c.Advance(4 * 24 * time.Hour)
	}
	_, err = l.Commit(ctx, Transaction{Add: []File{{Path: "back"}}})
	require.NoError(t, err)
	snap, err := l.Snapshot(ctx)
	require.NoError(t, err)
	stones := snap.tombstones()
	require.Empty(t, stones, "the removals are 12 and 8 days old, and the third file is back")
	c.Advance(-6 * 24 * time.Hour) // times increase all the same: by a microsecond
	_, err = l.Commit(ctx, Transaction{Read: snap, Remove: []File{{Path: "back"}}})
	require.NoError(t, err)
	snap, err = l.Snapshot(ctx)
	require.NoError(t, err)
	stones = snap.tombstones()
	require.Len(t, stones, 1)
	require.Equal(t, "back", stones[0].Remove.Path)
	require.False(t, stones[0].Remove.DataChange)
}

func TestForeignEntries(t *testing.T) {
	b := inMemory(t)
	l := logOf(t, b, tableEntry,
		"\n"+`{"commitInfo":{"timestamp":"odd","operationParameters":[1]}}`+"\r\n\n"+`{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":5,"dataChange":true,"unknown":{}}}`,
		`{"commitInfo":{"timestamp":1700000000000,"inCommitTimestamp":1700000000001,"operation":"WRITE","operationParameters":{"mode":"Append","n":5,"l":"[\"x\"]"}}}`+"\n"+`{"cdc":{"path":"c"}}`)
	snap, err := l.Snapshot(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1700000000001000, snap.Time)
	require.EqualValues(t, 5000, snap.Files[0].ModificationTime)
	require.EqualValues(t, -1, snap.Files[0].Stats.Rows)
	old, err := l.At(t.Context(), 1)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now(), old.Time.Time(), time.Hour, "the time of the file")
	history, err := l.History(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"mode": "Append", "n": "5", "l": `["x"]`}, history[0].Parameters)
}

func TestForeignEntriesRefused(t *testing.T) {
	add := `{"add":{"path":"a","partitionValues":{},"size":1,"modificationTime":5,"dataChange":true`
	for _, c := range []struct {
		text string
		code feature.Code
		says string
	}{
		{add + `,"deletionVector":{"storageType":"u"}}}`, feature.CodeFailedPrecondition, "deletion vector"},
		{`{"add":{"path":"s3://other/a","size":1}}`, feature.CodeFailedPrecondition, "shallow clone"},
		{`{"remove":{"path":"%zz"}}`, feature.CodeDataLoss, "not a URI"},
		{`{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"]}}`, feature.CodeFailedPrecondition, "deletionVectors"},
		{`{"metaData":{"id":"x","format":{"provider":"orc"},"schemaString":"{}"}}`, feature.CodeFailedPrecondition, "orc"},
		{`{"metaData":{"id":"x","schemaString":"no"}}`, feature.CodeDataLoss, "not a schema"},
		{`{"metaData":{"id":"x","schemaString":"{}","configuration":{"delta.columnMapping.mode":"id"}}}` + "\n" +
			`{"protocol":{"minReaderVersion":2,"minWriterVersion":5}}`, feature.CodeFailedPrecondition, "columnMapping"},
		{`{"add":`, feature.CodeDataLoss, "line 1"},
		{add + "}}\n{\"add\":{\"path\":\"b\",\"size\":\"1\"}}", feature.CodeDataLoss, "line 2"},
	} {
		_, err := logOf(t, inMemory(t), tableEntry, c.text).Snapshot(t.Context())
		requireFault(t, c.code, c.says, err)
	}
	_, err := logOf(t, inMemory(t), `{"commitInfo":{"timestamp":1}}`).Snapshot(t.Context())
	requireFault(t, feature.CodeDataLoss, "without a protocol", err)

	// A log that is open already stays where it was.
	b := inMemory(t)
	l := logOf(t, b, tableEntry)
	_, err = l.Snapshot(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.PutIfAbsent(t.Context(), l.dir+commitFile(1), []byte(`{"add":{"path":"a"}}`+"\n"+`{"add":{"path":"/b"}}`)))
	for range 2 {
		_, err = l.Snapshot(t.Context())
		requireFault(t, feature.CodeFailedPrecondition, "shallow clone", err)
	}
	old, err := l.At(t.Context(), 0)
	require.NoError(t, err)
	require.Empty(t, old.Files)
}

func TestCreateRefuses(t *testing.T) {
	l := New(inMemory(t), "t", Options{})
	_, err := l.Create(t.Context(), Metadata{
		Fields: []Field{
			{Name: "", Type: feature.Int64},
			{Name: "a", Type: feature.Int64},
			{Name: "A", Type: feature.Int64},
			{Name: "z"},
			{Name: "l", Type: feature.ListOf(feature.Int64)},
		},
		PartitionColumns: []string{"none", "l"},
	})
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
	require.Len(t, feature.FaultsOf(err), 5, "every fault at once: %v", err)
	_, err = l.Create(t.Context(), Metadata{})
	requireFault(t, feature.CodeInvalidArgument, "at least one column", err)
}

func TestCommitRefuses(t *testing.T) {
	ctx := t.Context()
	l := New(inMemory(t), "t", Options{})
	_, err := l.Create(ctx, Metadata{Fields: key, Configuration: map[string]string{"delta.appendOnly": "true"}})
	require.NoError(t, err)
	_, err = l.Commit(ctx, Transaction{Add: []File{{Path: "a", DataChange: true}}})
	require.NoError(t, err)
	snap, err := l.Snapshot(ctx)
	require.NoError(t, err)
	_, err = l.Commit(ctx, Transaction{
		Add:      []File{{Path: "../up"}, {Path: "x"}, {Path: "x"}, {Path: "y", PartitionValues: map[string]string{"p": "1"}}},
		Remove:   []File{{Path: "a"}},
		Metadata: &snap.Metadata,
		Apps:     []AppTransaction{{Version: 1}},
	})
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
	require.Len(t, feature.FaultsOf(err), 5, "every fault at once: %v", err)

	_, err = l.Commit(ctx, Transaction{Read: snap, Remove: []File{{Path: "a", DataChange: true}}})
	requireFault(t, feature.CodeFailedPrecondition, "append only", err)
	v, err := l.Commit(ctx, Transaction{Read: snap, Remove: []File{{Path: "a"}}, Add: []File{{Path: "compacted"}}})
	require.NoError(t, err, "rearranging rows is no removal")
	require.EqualValues(t, 2, v)
	other := snap.Metadata
	other.ID = "another"
	_, err = l.Commit(ctx, Transaction{Read: snap, Metadata: &other})
	requireFault(t, feature.CodeInvalidArgument, "never changes", err)
}

func TestPartitionValues(t *testing.T) {
	ctx := t.Context()
	b := inMemory(t)
	l := New(b, "t", Options{CheckpointEvery: 1})
	_, err := l.Create(ctx, Metadata{Fields: append([]Field{{Name: "day", Type: feature.String}}, key...), PartitionColumns: []string{"day"}})
	require.NoError(t, err)
	_, err = l.Commit(ctx, Transaction{Add: []File{
		{Path: "day=2024-01-01/a", PartitionValues: map[string]string{"day": "2024-01-01"}}, {Path: "b"},
	}})
	require.NoError(t, err)
	data, err := b.Get(ctx, l.dir+commitFile(1))
	require.NoError(t, err)
	require.Contains(t, string(data), `"partitionValues":{"day":"2024-01-01"}`)
	require.Contains(t, string(data), `"partitionValues":{"day":null}`)
	require.NoError(t, b.Delete(ctx, l.dir+commitFile(0)))
	snap, err := New(b, "t", Options{}).Snapshot(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"day"}, snap.Metadata.PartitionColumns)
	require.Equal(t, map[string]string{"day": "2024-01-01"}, snap.Files[0].PartitionValues)
	require.Empty(t, snap.Files[1].PartitionValues)
}

func TestIncompatible(t *testing.T) {
	base := Metadata{Fields: []Field{{Name: "k", Type: feature.Int64}, {Name: "v", Type: feature.Float64, Nullable: true}}}
	for _, c := range []struct {
		now  Metadata
		says string
	}{
		{base, ""},
		{Metadata{Fields: []Field{base.Fields[1], {Name: "k", Type: feature.Int64, Nullable: true}}}, ""},
		{Metadata{Fields: append([]Field{{Name: "new", Type: feature.Bool, Nullable: true}}, base.Fields...)}, ""},
		{Metadata{Fields: base.Fields[:1]}, "drops column v"},
		{Metadata{Fields: []Field{{Name: "k", Type: feature.String}, base.Fields[1]}}, "makes column k a string"},
		{Metadata{Fields: []Field{base.Fields[0], {Name: "v", Type: feature.Float64}}}, "forbids nulls in column v"},
		{Metadata{Fields: append([]Field{{Name: "new", Type: feature.Bool}}, base.Fields...)}, "column new, which may not be null"},
		{Metadata{Fields: base.Fields, PartitionColumns: []string{"k"}}, "partition columns"},
	} {
		got := incompatible(&base, &c.now)
		if c.says == "" {
			require.Empty(t, got)
			continue
		}
		require.Contains(t, got, c.says)
	}
}

// TestRestoreRepeatsTheProtocol, which is no change of it.
func TestRestoreRepeatsTheProtocol(t *testing.T) {
	b := inMemory(t)
	l := logOf(t, b, tableEntry)
	snap, err := l.Snapshot(t.Context())
	require.NoError(t, err)
	for v, c := range []struct {
		protocol string
		code     feature.Code
	}{
		{`{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}`, 0},
		{`{"protocol":{"minReaderVersion":1,"minWriterVersion":7,"writerFeatures":["appendOnly"]}}`, feature.CodeConflict},
	} {
		require.NoError(t, b.PutIfAbsent(t.Context(), l.dir+commitFile(int64(2*v+1)), []byte(c.protocol)))
		_, err := l.Commit(t.Context(), Transaction{Read: snap, Add: []File{{Path: strconv.Itoa(v)}}})
		if c.code == 0 {
			require.NoError(t, err)
			continue
		}
		requireFault(t, c.code, "changes the protocol", err)
	}
}

// TestTimeOfACleanedTable: what is older than the log cannot be asked for.
func TestTimeOfACleanedTable(t *testing.T) {
	c := clock.NewManual(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	b := inMemory(t)
	ctx := t.Context()
	l := New(b, "t", Options{Clock: c, CheckpointEvery: 4})
	_, err := l.Create(ctx, Metadata{Fields: key})
	require.NoError(t, err)
	for i := range 9 {
		c.Advance(time.Hour)
		_, err := l.Commit(ctx, Transaction{Add: []File{{Path: strconv.Itoa(i)}}})
		require.NoError(t, err)
	}
	for v := range int64(4) {
		require.NoError(t, b.Delete(ctx, l.dir+commitFile(v)))
	}
	for _, reader := range []*Log{l, New(b, "t", Options{})} {
		for hour, want := range map[int]int64{4: 4, 5: 5, 8: 8, 9: 9, 99: 9} {
			snap, err := reader.AsOf(ctx, feature.FromTime(time.Date(2024, 1, 1, hour, 30, 0, 0, time.UTC)))
			require.NoError(t, err)
			require.Equal(t, want, snap.Version)
			require.Len(t, snap.Files, int(want))
		}
		_, err := reader.AsOf(ctx, feature.FromTime(time.Date(2024, 1, 1, 3, 30, 0, 0, time.UTC)))
		require.Error(t, err)
	}
}

func TestCommitEndsWithItsContext(t *testing.T) {
	l := logOf(t, inMemory(t), tableEntry)
	_, err := l.Snapshot(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.Commit(ctx, Transaction{Add: []File{{Path: "a"}}})
	requireFault(t, feature.CodeCanceled, "unknown whether", err)
}
