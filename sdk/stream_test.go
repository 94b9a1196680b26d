package sdk

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// numbers returns batches of the numbers from 0 to n-1.
func numbers(t *testing.T, n, batch int) array.RecordReader {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	var records []arrow.Record
	for start := 0; start < n; start += batch {
		b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
		column, ok := b.Field(0).(*array.Int64Builder)
		require.True(t, ok)
		for i := start; i < min(start+batch, n); i++ {
			column.Append(int64(i))
		}
		records = append(records, b.NewRecord())
	}
	reader, err := array.NewRecordReader(schema, records)
	require.NoError(t, err)
	return reader
}

// sum reads a stream to its end.
func sum(t *testing.T, r array.RecordReader) (total int64, err error) {
	t.Helper()
	for r.Next() {
		column, ok := r.Record().Column(0).(*array.Int64)
		require.True(t, ok)
		for i := range column.Len() {
			total += column.Value(i)
		}
	}
	return total, r.Err()
}

// echo answers with what it was sent.
func echo(r *http.Request) (*http.Response, error) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	return answer(r, 200, string(data)), nil
}

func TestHistoricalStreams(t *testing.T) {
	for _, n := range []int{0, 10, 3_000_000} { // the last is longer than what is kept for a retry
		var query, accept string
		client := fake(t, func(r *http.Request) (*http.Response, error) {
			query, accept = r.URL.RawQuery, r.Header.Get("Accept")
			return echo(r)
		})
		spine := numbers(t, n, 1000)
		got, err := client.Historical(t.Context(), spine, wire.HistoricalOptions{Features: []string{"a:b", "a:c"}, FullNames: true})
		require.NoError(t, err)
		require.Equal(t, spine.Schema().String(), got.Schema().String())
		total, err := sum(t, got)
		require.NoError(t, err)
		require.Equal(t, int64(n)*int64(n-1)/2, total)
		got.Release()
		require.Equal(t, "features=a%3Ab%2Ca%3Ac&full_names=true", query)
		require.Equal(t, mediaArrow, accept)
	}
}

// brokenBody ends after its bytes with an error, as a connection that is cut, or
// in good form.
type brokenBody struct {
	io.Reader
	err    error
	closed bool
}

// Read implements io.Reader.
func (b *brokenBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = b.err
	}
	return n, err
}

// Close implements io.Closer.
func (b *brokenBody) Close() error {
	b.closed = true
	return nil
}

// TestCutStreamIsAnError cuts an answer at every byte: what was read before may
// be used, and the end is never taken for the real one.
func TestCutStreamIsAnError(t *testing.T) {
	whole, err := io.ReadAll(newEncoder(numbers(t, 30, 10)))
	require.NoError(t, err)
	for i := 2; i < 2*len(whole); i++ {
		cut, end := i/2, []error{io.EOF, io.ErrUnexpectedEOF}[i%2]
		body := &brokenBody{Reader: bytes.NewReader(whole[:cut]), err: end}
		client := fake(t, func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 200, "")
			resp.Body = body
			return resp, nil
		})
		got, err := client.Export(t.Context(), "v", wire.ExportOptions{})
		if err == nil {
			_, err = sum(t, got)
			got.Release()
		}
		require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err), "cut at %d of %d", cut, len(whole))
		require.ErrorContains(t, err, "the answer was cut")
		require.True(t, body.closed)
	}
}

func TestStreamEndsWithTheContext(t *testing.T) {
	whole, err := io.ReadAll(newEncoder(numbers(t, 30, 10)))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	body := &brokenBody{Reader: bytes.NewReader(whole[:len(whole)/2]), err: io.ErrUnexpectedEOF}
	client := fake(t, func(r *http.Request) (*http.Response, error) {
		resp := answer(r, 200, "")
		resp.Body = body
		return resp, nil
	})
	got, err := client.Export(ctx, "v", wire.ExportOptions{})
	require.NoError(t, err)
	cancel()
	_, err = sum(t, got)
	require.Equal(t, feature.CodeCanceled, feature.CodeOf(err))
	got.Retain()
	got.Release()
	require.False(t, body.closed, "it has an owner")
	got.Release()
	require.True(t, body.closed)
}

// failingReader is a spine that cannot be read to its end.
type failingReader struct{ array.RecordReader }

// Err implements array.RecordReader.
func (failingReader) Err() error {
	return feature.Errorf(feature.CodeDataLoss, "", "spine", "damaged")
}

func TestSpineThatFails(t *testing.T) {
	client := fake(t, echo)
	_, err := client.Historical(t.Context(), failingReader{numbers(t, 10, 5)}, wire.HistoricalOptions{})
	require.ErrorContains(t, err, "damaged")
}

func TestPushRecords(t *testing.T) {
	client := fake(t, func(r *http.Request) (*http.Response, error) {
		require.Equal(t, mediaArrow, r.Header.Get("Content-Type"))
		return answer(r, 200, `{"accepted": 10}`), nil
	})
	result, err := client.PushRecords(t.Context(), "v", numbers(t, 10, 5), wire.PushOptions{})
	require.NoError(t, err)
	require.Equal(t, int64(10), result.Accepted)
}

func TestMediaTypes(t *testing.T) {
	require.Equal(t, map[feature.Format]string{
		feature.FormatCSV: "text/csv", feature.FormatJSON: "application/json", feature.FormatNDJSON: "application/x-ndjson",
		feature.FormatArrow: mediaArrow, feature.FormatParquet: mediaParquet, feature.FormatByName: "",
	}, map[feature.Format]string{
		feature.FormatCSV: mediaType(feature.FormatCSV), feature.FormatJSON: mediaType(feature.FormatJSON),
		feature.FormatNDJSON: mediaType(feature.FormatNDJSON), feature.FormatArrow: mediaType(feature.FormatArrow),
		feature.FormatParquet: mediaType(feature.FormatParquet), feature.FormatByName: mediaType(feature.FormatByName),
	})
}
