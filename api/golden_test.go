package api_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/parquetio"
	"github.com/granary-ml/granary/online/onlinetest"
	"github.com/granary-ml/granary/registry"
)

// TestGolden runs the exchanges in testdata over a listener in memory, against
// a whole Granary on a bucket in memory. After a change that is meant, rewrite
// the answers and review the difference:
//
//	go test ./api -run TestGolden -rewrite
//
//	now T                     sets the clock
//	http [arrow=name:type,…]  a request: method and path, headers, a blank line,
//	                          the body; with arrow, the body is an array of rows
//	                          that is sent as an Arrow stream
//	wait                      waits for the last materialization and prints it
//
// An answer is printed as its status, the headers that mean something, and its
// body; rows in Arrow or Parquet as their schema and one line of JSON each.
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		if !strings.HasSuffix(path, ".txt") {
			return
		}
		s := newScript(t)
		datadriven.RunTest(t, path, s.run)
	})
}

type script struct {
	clock *clock.Manual
	host  *host
	job   string // path of the last materialization
}

func newScript(t *testing.T) *script {
	t.Helper()
	c := clock.NewManual(time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC))
	b, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
	require.NoError(t, err)
	reg, err := registry.Open(t.Context(), b, registry.Options{Clock: c})
	require.NoError(t, err)
	off, err := offline.Open(t.Context(), b, offline.Options{Clock: c, TempDir: t.TempDir()})
	require.NoError(t, err)
	store := onlinetest.NewReference()
	ing := ingest.New(ingest.Options{Offline: off, Online: store, Clock: c, TempDir: t.TempDir()})
	svc := serving.New(serving.Deps{Registry: reg, Offline: off, Online: store, Ingester: ing, Clock: c}, serving.Options{TempDir: t.TempDir()})
	t.Cleanup(func() {
		require.NoError(t, svc.Close(context.WithoutCancel(t.Context())))
		require.NoError(t, b.Close())
	})
	server := api.New(api.Deps{Service: svc}, api.Options{Clock: c, TempDir: t.TempDir(), Version: wire.Version{Version: "v0", Go: "go"}})
	return &script{clock: c, host: serve(t, server)}
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "now":
		at, err := feature.ParseTimestamp(d.CmdArgs[0].Key)
		require.NoError(t, err)
		s.clock.Set(at.Time())
		return ""
	case "http":
		return s.exchange(t, d)
	case "wait":
		return s.wait(t)
	}
	d.Fatalf(t, "no such command: %s", d.Cmd)
	return ""
}

// exchange sends one request and prints the answer.
func (s *script) exchange(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	head, body, _ := strings.Cut(d.Input, "\n\n")
	lines := strings.Split(head, "\n")
	method, target, _ := strings.Cut(lines[0], " ")
	data := []byte(strings.TrimSuffix(body, "\n"))
	contentType := ""
	var fields string
	if d.HasArg("arrow") {
		d.ScanArgs(t, "arrow", &fields)
		data, contentType = arrowStream(t, fields, data), "application/vnd.apache.arrow.stream"
	}
	req, err := http.NewRequestWithContext(t.Context(), method, "http://granary"+target, bytes.NewReader(data))
	require.NoError(t, err)
	req.Header.Set("X-Request-Id", "golden")
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ": ")
		require.True(t, ok, "%s: not a header: %s", d.Pos, line)
		req.Header.Set(name, value)
	}
	return s.do(t, req)
}

func (s *script) do(t *testing.T, req *http.Request) string {
	t.Helper()
	resp, err := s.host.Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	var out strings.Builder
	fmt.Fprintf(&out, "%d %s\n", resp.StatusCode, resp.Header.Get("Content-Type"))
	for _, name := range []string{"Allow", "Retry-After", "Location"} {
		if v := resp.Header.Get(name); v != "" {
			fmt.Fprintf(&out, "%s: %s\n", name, v)
		}
	}
	if location := resp.Header.Get("Location"); location != "" {
		s.job = location
	}
	out.WriteString(printBody(t, resp.Header.Get("Content-Type"), data))
	return s.mask(out.String())
}

var jobID = regexp.MustCompile(`\b[a-z2-7]{26}\b`)

// mask hides what is different in every run.
func (s *script) mask(text string) string {
	return jobID.ReplaceAllString(text, "<id>")
}

// wait prints the last materialization once it has ended.
func (s *script) wait(t *testing.T) string {
	t.Helper()
	var out string
	require.Eventually(t, func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://granary"+s.job, http.NoBody)
		require.NoError(t, err)
		out = s.do(t, req)
		return !strings.Contains(out, `"state":"running"`)
	}, 10*time.Second, time.Millisecond)
	return out
}

func printBody(t *testing.T, media string, data []byte) string {
	t.Helper()
	var out strings.Builder
	switch media {
	case "application/vnd.apache.arrow.stream":
		r, err := ipc.NewReader(bytes.NewReader(data))
		require.NoError(t, err)
		out.WriteString(printSchema(r.Schema()))
		for r.Next() {
			require.NoError(t, array.RecordToJSON(r.Record(), &out))
		}
		require.NoError(t, r.Err())
	case "application/vnd.apache.parquet":
		f, err := parquetio.Open(bytes.NewReader(data), int64(len(data)), "answer", parquetio.ReaderOptions{})
		require.NoError(t, err)
		out.WriteString(printSchema(f.Schema()))
		for rec, err := range f.Records(t.Context(), parquetio.ScanOptions{}) {
			require.NoError(t, err)
			require.NoError(t, array.RecordToJSON(rec, &out))
		}
		require.NoError(t, f.Close())
	default:
		out.Write(data)
	}
	return out.String()
}

func printSchema(s *arrow.Schema) string {
	names := make([]string, s.NumFields())
	for i, f := range s.Fields() {
		names[i] = f.Name + ":" + f.Type.String()
	}
	return strings.Join(names, " ") + "\n"
}

// arrowStream makes an Arrow stream of rows in JSON; fields are name:type,….
func arrowStream(t *testing.T, fields string, rows []byte) []byte {
	t.Helper()
	var list []arrow.Field
	for field := range strings.SplitSeq(fields, ",") {
		name, text, _ := strings.Cut(field, ":")
		typ, err := feature.ParseType(text)
		require.NoError(t, err)
		list = append(list, arrow.Field{Name: name, Type: columns.DataType(typ), Nullable: true})
	}
	schema := arrow.NewSchema(list, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader(rows))
	require.NoError(t, err)
	var out bytes.Buffer
	w := ipc.NewWriter(&out, ipc.WithSchema(schema))
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	return out.Bytes()
}
