package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

const (
	lookupURL = "http://granary/v1/projects/p/features/online"
	rowsURL   = "http://granary/v1/projects/p/views/v/rows"
	joinURL   = "http://granary/v1/projects/p/features/historical"
)

// echo answers a lookup with what was asked.
func echo(_ context.Context, dst []byte, _ string, body []byte) ([]byte, error) {
	return append(dst, body...), nil
}

// drain takes a push and tells how many bytes it had.
func drain(_ context.Context, _ feature.Format, body io.Reader, _ wire.PushOptions) (wire.PushResult, error) {
	n, err := io.Copy(io.Discard, body)
	return wire.PushResult{Accepted: n}, err
}

// reply is the head of an answer.
type reply struct {
	StatusCode int
	Header     http.Header
}

// post sends a body and returns the answer with its body.
func post(t *testing.T, h *host, url string, body io.Reader, headers ...string) (reply, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, body)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := h.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return reply{resp.StatusCode, resp.Header}, string(data)
}

func problemOf(t *testing.T, resp reply, body string) wire.Problem {
	t.Helper()
	require.Equal(t, wire.ProblemMediaType, resp.Header.Get("Content-Type"), "%s", body)
	var p wire.Problem
	require.NoError(t, json.Unmarshal([]byte(body), &p))
	require.Equal(t, resp.StatusCode, p.Status)
	require.Equal(t, resp.Header.Get("X-Request-Id"), p.RequestID)
	return p
}

func gzipped(t *testing.T, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	_, err := w.Write(data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return buf.Bytes()
}

func zstded(t *testing.T, data []byte, options ...zstd.EOption) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil, options...)
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close()) }()
	return w.EncodeAll(data, nil)
}

func TestBodiesAreUnpacked(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &stub{online: echo}}, api.Options{}))
	want := `{"features":["a:b"]}`
	for coding, data := range map[string][]byte{
		"": []byte(want), "identity": []byte(want), "gzip": gzipped(t, []byte(want)), "x-gzip": gzipped(t, []byte(want)), "ZSTD": zstded(t, []byte(want)),
	} {
		resp, got := post(t, h, lookupURL, bytes.NewReader(data), "Content-Encoding", coding)
		require.Equal(t, http.StatusOK, resp.StatusCode, coding)
		require.JSONEq(t, want, got, coding)
	}
}

func TestBodiesAreLimitedByWhatTheyUnpackTo(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &stub{online: echo, push: drain}}, api.Options{MaxBodyBytes: 1000, MaxStreamBytes: 2000}))
	for _, url := range []struct {
		url   string
		limit int
	}{{lookupURL, 1000}, {rowsURL, 2000}} {
		for name, pack := range map[string]func([]byte) []byte{
			"":     func(b []byte) []byte { return b },
			"gzip": func(b []byte) []byte { return gzipped(t, b) },
			"zstd": func(b []byte) []byte { return zstded(t, b) },
		} {
			resp, body := post(t, h, url.url, bytes.NewReader(pack(bytes.Repeat([]byte{' '}, url.limit))), "Content-Encoding", name)
			require.Equal(t, http.StatusOK, resp.StatusCode, "%s of the limit: %s", name, body)
			for _, size := range []int{url.limit + 1, 50 << 20} {
				if name == "" && size > url.limit+1 {
					size = 3 * url.limit
				}
				resp, body = post(t, h, url.url, bytes.NewReader(pack(bytes.Repeat([]byte{' '}, size))), "Content-Encoding", name)
				require.Equal(t, http.StatusRequestEntityTooLarge, resp.StatusCode, name)
				require.Contains(t, problemOf(t, resp, body).Detail, strconv.Itoa(url.limit))
			}
		}
	}
}

// A frame that asks for a window of gigabytes is refused before it gets one.
func TestZstdWindowIsLimited(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &stub{online: echo}}, api.Options{}))
	// Magic, a descriptor without content size, a window of 2^41 bytes.
	resp, body := post(t, h, lookupURL, strings.NewReader("\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00"), "Content-Encoding", "zstd")
	require.Equal(t, http.StatusBadRequest, resp.StatusCode, body)
}

func TestBrokenBodies(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &stub{online: echo, push: drain}}, api.Options{}))
	whole := gzipped(t, []byte(strings.Repeat("x", 1000)))
	for _, url := range []string{lookupURL, rowsURL} {
		for name, tc := range map[string]struct {
			coding string
			data   []byte
			status int
		}{
			"not gzip":     {"gzip", []byte("plain"), http.StatusBadRequest},
			"nothing":      {"gzip", nil, http.StatusBadRequest},
			"cut gzip":     {"gzip", whole[:len(whole)-9], http.StatusBadRequest},
			"damaged gzip": {"gzip", append(whole[:len(whole)-8:len(whole)-8], 1, 2, 3, 4, 5, 6, 7, 8), http.StatusBadRequest},
			"not zstd":     {"zstd", []byte("plain text that is long enough"), http.StatusBadRequest},
			"other coding": {"br", []byte("x"), http.StatusUnsupportedMediaType},
			"several":      {"gzip, gzip", []byte("x"), http.StatusUnsupportedMediaType},
		} {
			resp, body := post(t, h, url, bytes.NewReader(tc.data), "Content-Encoding", tc.coding)
			require.Equal(t, tc.status, resp.StatusCode, "%s: %s", name, body)
			problemOf(t, resp, body)
		}
	}
}

func TestContentTypes(t *testing.T) {
	var format feature.Format
	h := serve(t, api.New(api.Deps{Service: &stub{online: echo, push: func(_ context.Context, f feature.Format, _ io.Reader, _ wire.PushOptions) (wire.PushResult, error) {
		format = f
		return wire.PushResult{}, nil
	}}}, api.Options{}))
	for media, status := range map[string]int{
		"application/json": 200, "application/json; charset=UTF-8": 200, "application/vnd.x+json": 200,
		"application/json; charset=latin1": 415, "text/plain": 415, "application/x-www-form-urlencoded": 415, "/": 415, "text/csv": 415,
	} {
		resp, _ := post(t, h, lookupURL, strings.NewReader("{}"), "Content-Type", media)
		require.Equal(t, status, resp.StatusCode, media)
	}
	for media, want := range map[string]feature.Format{
		"": feature.FormatJSON, "application/json": feature.FormatJSON, "application/x-ndjson": feature.FormatNDJSON, "text/csv; charset=utf-8": feature.FormatCSV,
		"application/vnd.apache.arrow.stream": feature.FormatArrow, "application/vnd.apache.parquet": feature.FormatParquet,
	} {
		headers := []string{"Content-Type", media}
		if media == "" {
			headers = nil
		}
		resp, body := post(t, h, rowsURL, strings.NewReader("x"), headers...)
		require.Equal(t, http.StatusOK, resp.StatusCode, body)
		require.Equal(t, want, format)
	}
	resp, body := post(t, h, rowsURL, strings.NewReader("x"), "Content-Type", "application/pdf")
	require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode)
	require.Contains(t, problemOf(t, resp, body).Detail, "application/x-ndjson")
}

// A body that stands still is given up on, and a client that goes away is not
// waited for.
func TestSlowBody(t *testing.T) {
	for name, o := range map[string]api.Options{
		lookupURL: {RequestTimeout: 50 * time.Millisecond},
		rowsURL:   {IdleTimeout: 50 * time.Millisecond},
	} {
		h := serve(t, api.New(api.Deps{Service: &stub{online: echo, push: drain}}, o))
		r, w := io.Pipe()
		var writing sync.WaitGroup
		writing.Go(func() { _, _ = w.Write([]byte(`{"features": [`)) })
		resp, body := post(t, h, name, r)
		require.Equal(t, http.StatusRequestTimeout, resp.StatusCode, body)
		require.Equal(t, "deadline_exceeded", problemOf(t, resp, body).Code)
		require.NoError(t, w.Close())
		writing.Wait()
	}
}

// A stream may take longer than other requests, and longer than it may stand
// still, as long as it is we who take the time.
func TestStreamsTakeTheirTime(t *testing.T) {
	pause := func(ctx context.Context) error {
		select {
		case <-time.After(100 * time.Millisecond):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	h := serve(t, api.New(api.Deps{Service: &stub{
		push: func(ctx context.Context, f feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error) {
			result, err := drain(ctx, f, body, o)
			return result, errors.Join(err, pause(ctx))
		},
		export: func(ctx context.Context, _ wire.ExportOptions) (array.RecordReader, error) {
			return newBatches(1, nil), pause(ctx)
		},
	}}, api.Options{RequestTimeout: 10 * time.Millisecond, IdleTimeout: 30 * time.Millisecond}))
	resp, body := post(t, h, rowsURL, strings.NewReader("rows"))
	require.Equal(t, http.StatusOK, resp.StatusCode, body)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rowsURL, http.NoBody)
	require.NoError(t, err)
	answer, err := h.Do(req)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusOK, answer.StatusCode)
}

func TestRequestDeadline(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &stub{online: func(ctx context.Context, dst []byte, _ string, _ []byte) ([]byte, error) {
		<-ctx.Done()
		return dst, ctx.Err()
	}}}, api.Options{RequestTimeout: 30 * time.Millisecond}))
	resp, body := post(t, h, lookupURL, strings.NewReader(`{}`))
	require.Equal(t, http.StatusGatewayTimeout, resp.StatusCode)
	require.Equal(t, "deadline_exceeded", problemOf(t, resp, body).Code)
}

func TestErrorsOnTheWire(t *testing.T) {
	var logged bytes.Buffer
	var cause error
	h := serve(t, api.New(api.Deps{Service: &stub{online: func(_ context.Context, dst []byte, _ string, _ []byte) ([]byte, error) { return dst, cause }}},
		api.Options{Log: slog.New(slog.NewJSONHandler(&logged, nil))}))
	for _, tc := range []struct {
		err    error
		status int
		code   string
		hidden bool
	}{
		{feature.Errorf(feature.CodeNotFound, "op", "view p/v", "secret is told"), 404, "not_found", false},
		{feature.Errorf(feature.CodeConflict, "op", "", "secret is told"), 409, "conflict", false},
		{feature.Errorf(feature.CodeAlreadyExists, "op", "", "secret is told"), 409, "already_exists", false},
		{feature.Errorf(feature.CodeFailedPrecondition, "op", "", "secret is told"), 412, "failed_precondition", false},
		{feature.Errorf(feature.CodeResourceExhausted, "op", "", "secret is told"), 429, "resource_exhausted", false},
		{feature.Errorf(feature.CodeUnauthenticated, "op", "", "secret is told"), 401, "unauthenticated", false},
		{feature.Errorf(feature.CodePermissionDenied, "op", "", "secret is told"), 403, "permission_denied", false},
		{feature.Errorf(feature.CodeDataLoss, "op", "view p/v", "secret"), 500, "data_loss", true},
		{feature.Errorf(feature.CodeUnavailable, "op", "view p/v", "secret"), 503, "unavailable", true},
		{errors.New("secret"), 500, "internal", true},
		{fmt.Errorf("around: %w", feature.Errorf(feature.CodeInternal, "op", "", "secret")), 500, "internal", true},
	} {
		cause = tc.err
		logged.Reset()
		resp, body := post(t, h, lookupURL, strings.NewReader(`{}`), "X-Request-Id", "id-7")
		require.Equal(t, tc.status, resp.StatusCode)
		p := problemOf(t, resp, body)
		require.Equal(t, tc.code, p.Code)
		require.Equal(t, "about:blank", p.Type)
		require.Equal(t, "id-7", p.RequestID)
		require.Equal(t, tc.hidden, !strings.Contains(body, "secret"), body)
		if tc.hidden {
			require.Contains(t, logged.String(), "secret")
			require.Contains(t, logged.String(), "id-7")
		}
		require.Equal(t, tc.status == 503 || tc.status == 429, resp.Header.Get("Retry-After") != "")
		require.Equal(t, tc.code, feature.CodeOf(p.Err()).String(), "the code survives the wire")
	}
}

func TestPanicIsAnInternalError(t *testing.T) {
	var logged bytes.Buffer
	h := serve(t, api.New(api.Deps{Service: &stub{online: func(context.Context, []byte, string, []byte) ([]byte, error) { panic("boom") }}},
		api.Options{Log: slog.New(slog.NewJSONHandler(&logged, nil))}))
	for range 2 {
		resp, body := post(t, h, lookupURL, strings.NewReader(`{}`))
		require.Equal(t, http.StatusInternalServerError, resp.StatusCode)
		require.NotContains(t, body, "boom")
	}
	require.Contains(t, logged.String(), "boom")
	require.Contains(t, logged.String(), "server_test.go")
}

func TestRequestIDs(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &stub{online: echo}}, api.Options{}))
	seen := map[string]bool{}
	for range 3 {
		resp, _ := post(t, h, lookupURL, strings.NewReader(`{}`))
		seen[resp.Header.Get("X-Request-Id")] = true
	}
	require.Len(t, seen, 3)
	for id, kept := range map[string]bool{"abc-1": true, strings.Repeat("x", 65): false, "a b": false, `a"b`: false} {
		resp, _ := post(t, h, lookupURL, strings.NewReader(`{}`), "X-Request-Id", id)
		require.Equal(t, kept, resp.Header.Get("X-Request-Id") == id, id)
	}
}

func TestStopFinishesRequestsInFlight(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := serve(t, api.New(api.Deps{Service: &stub{
		online: func(_ context.Context, dst []byte, _ string, body []byte) ([]byte, error) {
			close(entered)
			<-leave
			return append(dst, body...), nil
		},
		ready: func(context.Context) error { return nil },
	}}, api.Options{}))
	var asking sync.WaitGroup
	asking.Go(func() {
		resp, body := post(t, h, lookupURL, strings.NewReader(`{"in":"flight"}`))
		require.Equal(t, http.StatusOK, resp.StatusCode)
		require.JSONEq(t, `{"in":"flight"}`, body)
	})
	<-entered
	h.stop()
	<-h.listener.done // no new connections
	select {
	case err := <-h.stopped:
		require.Fail(t, "stopped before the answer was out", "%v", err)
	default:
	}
	close(leave)
	asking.Wait()
	require.NoError(t, <-h.stopped)
}

func TestStopCutsOffWhatTakesTooLong(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	h := serve(t, api.New(api.Deps{Service: &stub{online: func(ctx context.Context, dst []byte, _ string, _ []byte) ([]byte, error) {
		close(entered)
		<-ctx.Done()
		close(leave)
		return dst, ctx.Err()
	}}}, api.Options{ShutdownTimeout: 20 * time.Millisecond}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, lookupURL, strings.NewReader(`{}`))
	require.NoError(t, err)
	var asking sync.WaitGroup
	asking.Go(func() {
		resp, err := h.Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
	})
	<-entered
	h.stop()
	require.ErrorIs(t, <-h.stopped, context.DeadlineExceeded)
	<-leave
	asking.Wait()
}

func TestReadyWhileStopping(t *testing.T) {
	s := api.New(api.Deps{Service: &stub{ready: func(context.Context) error { return nil }}}, api.Options{})
	get := func() *http.Response {
		w := httptest.NewRecorder()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
		require.NoError(t, err)
		s.ServeHTTP(w, req)
		return w.Result()
	}
	resp := get()
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.NoError(t, s.Shutdown(t.Context()))
	resp = get()
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusServiceUnavailable, resp.StatusCode)
}

// batches is a reader of n batches, after which it ends with err.
type batches struct {
	array.RecordReader

	left int
	rec  arrow.Record
	err  error
}

func newBatches(n int, err error) *batches {
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Int64}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	b.Field(0).(*array.Int64Builder).AppendValues([]int64{1, 2, 3}, nil) //nolint:forcetypeassert,errcheck // built above
	return &batches{left: n, rec: b.NewRecord(), err: err}
}

func (b *batches) Retain()               {}
func (b *batches) Release()              {}
func (b *batches) Schema() *arrow.Schema { return b.rec.Schema() }
func (b *batches) Record() arrow.Record  { return b.rec }
func (b *batches) Next() bool            { b.left--; return b.left >= 0 }
func (b *batches) Err() error {
	if b.left >= 0 {
		return nil
	}
	return b.err
}

func TestStreamIsWhole(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &stub{export: func(context.Context, wire.ExportOptions) (array.RecordReader, error) { return newBatches(5, nil), nil }}}, api.Options{}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rowsURL, http.NoBody)
	require.NoError(t, err)
	resp, err := h.Do(req)
	require.NoError(t, err)
	defer func() { require.NoError(t, resp.Body.Close()) }()
	r, err := ipc.NewReader(resp.Body)
	require.NoError(t, err)
	rows := int64(0)
	for r.Next() {
		rows += r.Record().NumRows()
	}
	require.NoError(t, r.Err())
	require.Equal(t, int64(15), rows)
}

// A stream that fails before its first byte is an error; one that fails later
// is cut off, so that nobody takes a part for the whole.
func TestStreamThatFails(t *testing.T) {
	for _, media := range []string{"application/vnd.apache.arrow.stream", "application/vnd.apache.parquet"} {
		n := 0
		h := serve(t, api.New(api.Deps{Service: &stub{export: func(context.Context, wire.ExportOptions) (array.RecordReader, error) {
			return newBatches(n, feature.Errorf(feature.CodeDataLoss, "", "view p/v", "damaged")), nil
		}}}, api.Options{}))
		get := func() (*http.Response, error) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rowsURL, http.NoBody)
			require.NoError(t, err)
			req.Header.Set("Accept", media)
			return h.Do(req)
		}
		resp, err := get()
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, "data_loss", problemOf(t, reply{resp.StatusCode, resp.Header}, string(body)).Code)
		if media == "application/vnd.apache.parquet" {
			continue // nothing is sent before a row group is full
		}
		n = 3
		resp, err = get()
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, resp.StatusCode)
		_, err = io.ReadAll(resp.Body)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.NoError(t, resp.Body.Close())
	}
}

// A client that does not read is given up: it does not hold the rows for ever.
func TestStreamThatNobodyReads(t *testing.T) {
	released := make(chan struct{})
	h := serve(t, api.New(api.Deps{Service: &stub{export: func(context.Context, wire.ExportOptions) (array.RecordReader, error) {
		return &watched{batches: newBatches(1<<30, nil), released: released}, nil
	}}}, api.Options{IdleTimeout: 30 * time.Millisecond}))
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, rowsURL, http.NoBody)
	require.NoError(t, err)
	resp, err := h.Do(req)
	require.NoError(t, err)
	<-released
	require.NoError(t, resp.Body.Close())
}

// watched tells when it is released.
type watched struct {
	*batches

	released chan struct{}
}

func (w *watched) Release() { close(w.released) }

func TestServeOnAListenerThatIsClosed(t *testing.T) {
	l := newMemoryListener()
	require.NoError(t, l.Close())
	err := api.New(api.Deps{Service: &stub{}}, api.Options{}).Serve(t.Context(), l)
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
}

// A client may send its whole spine before it reads, however large: nothing is
// answered before the spine is here.
func TestSpineIsReadBeforeTheAnswer(t *testing.T) {
	const size = 20 << 20
	var got int64
	h := serve(t, api.New(api.Deps{Service: &stub{
		readSpine: func(_ context.Context, format feature.Format, body io.Reader) (array.RecordReader, error) {
			require.Equal(t, feature.FormatArrow, format)
			var err error
			got, err = io.Copy(io.Discard, body)
			return newBatches(0, nil), err
		},
		historical: func(context.Context, wire.HistoricalOptions, array.RecordReader) (array.RecordReader, error) {
			return newBatches(100, nil), nil
		},
	}}, api.Options{TempDir: t.TempDir()}))
	resp, _ := post(t, h, joinURL+"?features=v:x", bytes.NewReader(make([]byte, size)), "Content-Type", "application/vnd.apache.arrow.stream")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, int64(size), got)
}

func TestHistoricalJSONKeepsTheSpineAsItIs(t *testing.T) {
	var options wire.HistoricalOptions
	var body []byte
	h := serve(t, api.New(api.Deps{Service: &stub{
		readSpine: func(_ context.Context, format feature.Format, r io.Reader) (array.RecordReader, error) {
			require.Equal(t, feature.FormatJSON, format)
			var err error
			body, err = io.ReadAll(r)
			return newBatches(0, nil), err
		},
		historical: func(_ context.Context, o wire.HistoricalOptions, _ array.RecordReader) (array.RecordReader, error) {
			options = o
			return newBatches(1, nil), nil
		},
	}}, api.Options{}))
	resp, _ := post(t, h, joinURL, strings.NewReader(`{"features":["v:x"],"full_names":true,"spine":{"z":[1],"a":[1.0]}}`))
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, `{"z":[1],"a":[1.0]}`, string(body)) //nolint:testifylint // byte by byte
	require.Equal(t, wire.HistoricalOptions{Features: []string{"v:x"}, FullNames: true}, options)
	resp, _ = post(t, h, joinURL+"?features=v:y&known_at=true", strings.NewReader(`{"k":[1]}`))
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Equal(t, `{"k":[1]}`, string(body)) //nolint:testifylint // byte by byte
	require.Equal(t, wire.HistoricalOptions{Features: []string{"v:y"}, KnownAt: true}, options)
}
