package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/testutil"
	"github.com/granary-ml/granary/offline/parquetio"
	"github.com/granary-ml/granary/sdk"
)

// TestDemo runs the demo twice, whose training sets must be the same, and then
// asks for the same training set by every other way in.
func TestDemo(t *testing.T) {
	binary, dir := testutil.Granary(t), filepath.Join(t.TempDir(), "demo")
	first := filepath.Join(t.TempDir(), "first.parquet")
	require.NoError(t, run(t.Context(), binary, dir, "."))
	require.NoError(t, os.Rename(filepath.Join(dir, "training.parquet"), first))
	require.NoError(t, run(t.Context(), binary, dir, "."))

	d := &demo{binary: binary, dir: dir, example: "."}
	serverURL, stop, err := d.serve(t.Context())
	require.NoError(t, err)
	t.Run("CommandLineThroughAServer", func(t *testing.T) {
		spine, err := filepath.Abs("data/flights.csv.zst")
		require.NoError(t, err)
		require.NoError(t, d.granary(t.Context(), "train", "--server", serverURL, "--service", "delay", "--spine", spine,
			"--time-column", "scheduled_at", "--full-names", "--out", "remote.parquet"))
	})
	t.Run("HTTP", func(t *testing.T) { checkRecords(t, overHTTP(t, serverURL)) })
	t.Run("SDK", func(t *testing.T) { checkRecords(t, overSDK(t, serverURL, first)) })
	require.NoError(t, stop())
	t.Run("Python", func(t *testing.T) {
		checkByPython(t, first, filepath.Join(dir, "training.parquet"), filepath.Join(dir, "remote.parquet"))
	})
}

// historical are the options of the training set.
var historical = wire.HistoricalOptions{Service: "delay", TimeColumn: "scheduled_at", FullNames: true}

// overHTTP sends the flights as CSV, as a program without a client would.
func overHTTP(t *testing.T, serverURL string) array.RecordReader {
	t.Helper()
	packed, err := os.ReadFile("data/flights.csv.zst")
	require.NoError(t, err)
	target := serverURL + "/v1/projects/flights/features/historical?" +
		url.Values{"service": {"delay"}, "time_column": {"scheduled_at"}, "full_names": {"true"}}.Encode()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, target, bytes.NewReader(packed))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "text/csv")
	req.Header.Set("Content-Encoding", "zstd")
	req.Header.Set("Accept", "application/vnd.apache.arrow.stream")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("HTTP %d: %s", resp.StatusCode, text)
	}
	r, err := ipc.NewReader(resp.Body)
	require.NoError(t, err)
	return r
}

// overSDK sends the spine's columns of the training set as Arrow records.
func overSDK(t *testing.T, serverURL, path string) array.RecordReader {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	info, err := f.Stat()
	require.NoError(t, err)
	file, err := parquetio.Open(f, info.Size(), path, parquetio.ReaderOptions{})
	require.NoError(t, err)
	columns := []string{"flight_id", "scheduled_at", "tailnum", "origin", "dest", "arr_delay"}
	var spine bytes.Buffer
	var w *ipc.Writer
	for rec, err := range file.Records(t.Context(), parquetio.ScanOptions{Columns: columns}) {
		require.NoError(t, err)
		if w == nil {
			w = ipc.NewWriter(&spine, ipc.WithSchema(rec.Schema()))
		}
		require.NoError(t, w.Write(rec))
		rec.Release()
	}
	require.NoError(t, w.Close())
	reader, err := ipc.NewReader(&spine)
	require.NoError(t, err)
	client, err := sdk.Dial(serverURL, sdk.WithProject("flights"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	answer, err := client.Historical(t.Context(), reader, historical)
	require.NoError(t, err)
	require.Equal(t, columns, fieldNames(answer)[:len(columns)])
	return answer
}

func fieldNames(r array.RecordReader) []string {
	var names []string
	for _, f := range r.Schema().Fields() {
		names = append(names, f.Name)
	}
	return names
}

// checkRecords holds an answer to expected.json.
func checkRecords(t *testing.T, r array.RecordReader) {
	t.Helper()
	defer r.Release()
	counts := &counts{columns: map[string]*tally{}}
	for r.Next() {
		counts.add(r.Record())
	}
	require.NoError(t, r.Err())
	want, err := readExpected(".")
	require.NoError(t, err)
	require.NoError(t, want.compare(counts))
}

// checkByPython reads the training sets with pyarrow: they are equal, the columns
// of the spine are the file's, and the whole rows of expected.json are there.
func checkByPython(t *testing.T, paths ...string) {
	t.Helper()
	packed, err := os.Open("data/flights.csv.zst")
	require.NoError(t, err)
	defer func() { _ = packed.Close() }()
	flights, err := zstd.NewReader(packed)
	require.NoError(t, err)
	defer flights.Close()
	text, err := io.ReadAll(flights)
	require.NoError(t, err)
	csv := filepath.Join(t.TempDir(), "flights.csv")
	require.NoError(t, os.WriteFile(csv, text, 0o600))
	require.Equal(t, "ok\n", testutil.RunPython(t, `
import csv, json, math, sys
import pyarrow.parquet as pq
_, answer, csv_file, *paths = sys.argv
table, *others = map(pq.read_table, paths)
for other in others:
    assert table.equals(other)
with open(csv_file, newline="") as f:
    head, *rows = csv.reader(f)
assert table.num_rows == len(rows), table.num_rows
assert table.column_names[: len(head)] == head, table.column_names
def text(v):
    if v is None:
        return ""
    return v.strftime("%Y-%m-%dT%H:%M:%SZ") if hasattr(v, "strftime") else str(v)
for i, name in enumerate(head):
    got = [text(v) for v in table.column(name).to_pylist()]
    assert got == [r[i] for r in rows], name
views = json.load(open(answer))["views"]
for view, want in views.items():
    columns = [table.column(f"{view}__{f}") for f in want["features"]]
    for i, row in zip((0, 1000, 100000, 200000, 336775), want["rows_0_1000_100000_200000_336775"], strict=True):
        # expected.json was read with a parser that may be off by the last bit.
        for got, value in zip((c[i].as_py() for c in columns), row, strict=True):
            assert got == value or math.isclose(got, value, rel_tol=1e-15), (view, i, got, value)
print("ok")
`, append([]string{"expected.json", csv}, paths...)...))
}

// TestDemoEndsEarly stops with the context and leaves nothing that a next run
// would stumble over.
func TestDemoEndsEarly(t *testing.T) {
	binary, dir := testutil.Granary(t), filepath.Join(t.TempDir(), "demo")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	require.Error(t, run(ctx, binary, dir, "."))
	d, err := newDemo(binary, dir, ".")
	require.NoError(t, err)
	require.NoError(t, d.define(t.Context()))
}

func TestCompare(t *testing.T) {
	var want expected
	require.NoError(t, json.Unmarshal([]byte(`{"spine_rows": 2, "views": {"v": {"features": {
		"a": {"not_null": 2, "sum": 3}, "b": {"not_null": 1, "distinct": 1}}}}}`), &want))
	right := func() *counts {
		return &counts{rows: 2, columns: map[string]*tally{
			"v__a": {notNull: 2, sum: 3}, "v__b": {notNull: 1, distinct: map[string]bool{"x": true}},
		}}
	}
	require.NoError(t, want.compare(right()))
	for text, spoil := range map[string]func(*counts){
		"has 1 rows":             func(c *counts) { c.rows = 1 },
		"v__a is missing":        func(c *counts) { delete(c.columns, "v__a") },
		"v__a has 1 values":      func(c *counts) { c.columns["v__a"].notNull = 1 },
		"v__a sums to 4":         func(c *counts) { c.columns["v__a"].sum = 4 },
		"v__b has 2 different v": func(c *counts) { c.columns["v__b"].distinct["y"] = true },
	} {
		got := right()
		spoil(got)
		require.ErrorContains(t, want.compare(got), text)
	}
	require.Equal(t, feature.CodeInternal, feature.CodeOf(want.compare(&counts{})))
}
