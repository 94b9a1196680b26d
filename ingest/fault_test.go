package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/bucket/buckettest"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

const counterYAML = `
entities: [{name: e, join_keys: [{name: k, type: int64}]}]
views: [{name: f, entities: [e], features: [{name: v, type: int64}]}]
`

// counterCSV has n keys, each at two times, the newer first.
func counterCSV(n int) []byte {
	var b bytes.Buffer
	b.WriteString("k,event_timestamp,v\n")
	for i := range n {
		fmt.Fprintf(&b, "%d,2024-01-01T11:00:00Z,%d\n%d,2024-01-01T10:00:00Z,0\n", i, i, i)
	}
	return b.Bytes()
}

func memBucket(t *testing.T) bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
	require.NoError(t, err)
	return b
}

// leftovers are the files below the folder of inputs that are none.
func (w *world) leftovers(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, dir := range []string{w.dir, w.o.TempDir} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".csv") {
				out = append(out, e.Name())
			}
		}
	}
	return out
}

// TestFilesCancelled: an ingest that is interrupted, wherever it is, has done
// nothing and leaves nothing.
func TestFilesCancelled(t *testing.T) {
	w := newWorld(t)
	w.apply(t, counterYAML)
	w.o.ChunkBytes = 1 << 10
	// Little memory, so that sorted runs lie in the folder that must be empty.
	spilling, err := offline.Open(t.Context(), w.storage, offline.Options{Clock: w.clock, TempDir: w.o.TempDir, MemoryLimit: 64 << 10})
	require.NoError(t, err)
	w.o.Offline = spilling
	w.file(t, "a.csv", append(counterCSV(5000), "x,never,\n"...))
	w.file(t, "b.csv", append([]byte("k,event_timestamp,v\nx,,\n"), counterCSV(5000)[20:]...))
	v := w.view(t, "f")
	req := FileRequest{
		View: v, Inputs: []string{"b.csv", "a.csv"}, BaseDir: w.dir, IdempotencyKey: "once",
		DeadLetters: filepath.Join(w.dir, "bad.ndjson"),
	}
	for stop := range 40 {
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		req.Progress = func(Progress) {
			if calls++; calls > stop*3 {
				cancel()
			}
		}
		_, err := w.ingester().Files(ctx, req)
		cancel()
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, feature.CodeCanceled, feature.CodeOf(err))
		require.Empty(t, w.leftovers(t))
	}
	require.Equal(t, "no rows\n", w.rows(t, v))

	req.Progress = nil
	sum, err := w.ingester().Files(t.Context(), req)
	require.NoError(t, err)
	require.EqualValues(t, 20_000, sum.Accepted)
	require.EqualValues(t, 2, sum.Rejected)
	require.Equal(t, []string{"bad.ndjson"}, w.leftovers(t))
}

// TestFilesStorageFaults: whichever call of the storage fails, before or after
// its effect, the rows land once or not at all, and with the same key they land
// once in the end.
func TestFilesStorageFaults(t *testing.T) {
	for _, after := range []bool{false, true} {
		for nth := 1; ; nth++ {
			faults := buckettest.NewFaults(memBucket(t), 1, buckettest.Fault{Op: buckettest.Mutation, Key: "*", Nth: nth, After: after, Err: fmt.Errorf("cut off: %w", io.ErrUnexpectedEOF)})
			store := onlinetest.NewReference()
			w := newWorldOver(t, lent{memBucket(t)}, store)
			w.apply(t, counterYAML)
			v := w.view(t, "f")
			broken := newWorldOver(t, faults, store)
			broken.dir = w.dir
			broken.file(t, "a.csv", counterCSV(3))
			req := FileRequest{View: v, Inputs: []string{"a.csv"}, BaseDir: w.dir, IdempotencyKey: "once"}

			_, err := broken.ingester().Files(t.Context(), req)
			hit := faults.Surfaced(0) > 0
			require.True(t, hit || err == nil)
			sum, err := broken.ingester().Files(t.Context(), req)
			require.NoError(t, err)
			require.Positive(t, sum.Version)
			require.Equal(t, 6, strings.Count(broken.rows(t, v), "\n"), "nth %d after %v", nth, after)
			if !hit {
				require.Greater(t, nth, 2)
				break
			}
		}
	}
}

// TestFilesStorageDown: an error of the storage keeps its code, and what is
// certain is said.
func TestFilesStorageDown(t *testing.T) {
	for _, code := range []feature.Code{feature.CodeUnavailable, feature.CodePermissionDenied, feature.CodeResourceExhausted} {
		b := memBucket(t)
		faults := buckettest.NewFaults(b, 1, buckettest.Fault{Op: buckettest.Create, Times: -1, Err: feature.Errorf(code, "bucket.Create", "tables", "not today")})
		w := newWorldOver(t, faults, onlinetest.NewReference())
		w.apply(t, counterYAML)
		w.file(t, "a.csv", append(counterCSV(3), "x,2024-01-01,1\n"...))
		_, err := w.ingester().Files(t.Context(), FileRequest{View: w.view(t, "f"), Inputs: []string{"a.csv"}, BaseDir: w.dir})
		require.Equal(t, code, feature.CodeOf(err), err)
		faults.RequireSurfaced(t)
		require.Equal(t, "no rows\n", w.rows(t, w.view(t, "f")))
	}
}

// TestFilesDeadLettersRefused: letters that cannot be kept are told before
// anything lands.
func TestFilesDeadLettersRefused(t *testing.T) {
	w := newWorld(t)
	w.apply(t, counterYAML)
	w.file(t, "a.csv", append(counterCSV(3), "x,2024-01-01,1\n"...))
	_, err := w.ingester().Files(t.Context(), FileRequest{
		View: w.view(t, "f"), Inputs: []string{"a.csv"}, BaseDir: w.dir, DeadLetters: filepath.Join(w.dir, "no", "such", "folder.ndjson"),
	})
	require.ErrorContains(t, err, "dead letters")
	require.Equal(t, "no rows\n", w.rows(t, w.view(t, "f")))
}

// failingReader gives some bytes and then an error.
type failingReader struct {
	r   io.Reader
	err error
}

func (f *failingReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if errors.Is(err, io.EOF) {
		err = f.err
	}
	return n, err
}

// TestPushBodyBreaksOff: a body that ends in an error has pushed nothing, in
// whichever format.
func TestPushBodyBreaksOff(t *testing.T) {
	w := newWorld(t)
	w.apply(t, counterYAML)
	v := w.view(t, "f")
	for format, body := range map[feature.Format][]byte{
		feature.FormatCSV:    counterCSV(3),
		feature.FormatNDJSON: []byte(`{"k":1,"event_timestamp":"2024-01-01","v":1}` + "\n"),
		feature.FormatArrow:  columnar(t, "stream", foreign(t, "k int64 [1]\nevent_timestamp timestamp[s] [1]\nv int64 [1]")),
	} {
		_, err := w.ingester().Push(t.Context(), PushRequest{View: v, Format: format, Body: &failingReader{bytes.NewReader(body), io.ErrUnexpectedEOF}})
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), err)
		tooLarge := feature.Errorf(feature.CodeTooLarge, "api", "body", "more than 1 byte")
		_, err = w.ingester().Push(t.Context(), PushRequest{View: v, Format: format, Body: &failingReader{bytes.NewReader(body), tooLarge}})
		require.Equal(t, feature.CodeTooLarge, feature.CodeOf(err), err)
	}
	require.Equal(t, "no rows\n", w.rows(t, v))
}

// TestPushHalf: what has landed offline is told, and the same push again
// finishes the other side, however often it fails.
func TestPushHalf(t *testing.T) {
	for _, after := range []bool{false, true} {
		reference := onlinetest.NewReference()
		faults := onlinetest.NewFaults(reference, 1, onlinetest.Fault{Op: "Write", After: after})
		w := newWorldOver(t, memBucket(t), faults)
		w.apply(t, counterYAML)
		v := w.view(t, "f")
		push := func() (wire.PushResult, error) {
			return w.ingester().Push(t.Context(), PushRequest{
				View: v, Format: feature.FormatCSV, Body: bytes.NewReader(counterCSV(3)), Options: wire.PushOptions{IdempotencyKey: "once"},
			})
		}
		_, err := push()
		require.ErrorContains(t, err, "the rows are in the table (version 1)")
		require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
		w.clock.Advance(time.Hour)
		_, err = push()
		require.ErrorContains(t, err, "the rows are in the table (version 1)")
		require.Equal(t, 2, faults.Made())

		faults.Set()
		out, err := push()
		require.NoError(t, err)
		require.True(t, out.Repeated)
		require.EqualValues(t, 1, out.Version)
		require.Equal(t, 6, strings.Count(w.rows(t, v), "\n"))
		require.Equal(t, map[int64]int64{0: 0, 1: 1, 2: 2}, w.counts(t, v, 3))
	}
}

// counts returns what is served of the keys from 0 to n.
func (w *world) counts(t *testing.T, v *feature.BoundView, n int64) map[int64]int64 {
	t.Helper()
	keys := make([]feature.EntityKey, n)
	for k := range keys {
		key, err := feature.MakeEntityKey(v.Keys, []feature.Value{feature.Int64Value(int64(k))})
		require.NoError(t, err)
		keys[k] = key
	}
	var rows online.Rows
	require.NoError(t, w.online.Read(context.WithoutCancel(t.Context()), []online.Lookup{{View: v.ID, Keys: keys}}, &rows))
	out := map[int64]int64{}
	for k := range keys {
		if packed := rows.Row(0, k); packed != nil {
			value, err := online.NewLayout(v).Value(packed, v.Slots[0])
			require.NoError(t, err)
			out[int64(k)] = value.Int()
		}
	}
	return out
}

// TestMaterializeKilled: a run that fails at any call of the online store, and is
// run again, gives the state of one run; so does one that fails each time but
// the last.
func TestMaterializeKilled(t *testing.T) {
	const keys = 500
	for _, op := range []string{"Write", "SetMark", "Mark"} {
		for _, after := range []bool{false, true} {
			faults := onlinetest.NewFaults(onlinetest.NewReference(), 1)
			w := newWorldOver(t, memBucket(t), faults)
			w.o.WriteRows = 100
			w.apply(t, counterYAML)
			w.file(t, "a.csv", counterCSV(keys))
			v := w.view(t, "f")
			_, err := w.ingester().Files(t.Context(), FileRequest{View: v, Inputs: []string{"a.csv"}, BaseDir: w.dir})
			require.NoError(t, err)
			want := map[int64]int64{}
			for k := range int64(keys) {
				want[k] = k
			}
			for nth := 1; ; nth++ {
				faults.Set(onlinetest.Fault{Op: op, Nth: nth, After: after})
				before := faults.Made()
				_, err := w.ingester().Materialize(t.Context(), MaterializeRequest{View: v})
				if faults.Made() == before {
					require.NoError(t, err)
					break
				}
				require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
			}
			faults.Set()
			require.Equal(t, want, w.counts(t, v, keys))
			mark, ok, err := w.online.Mark(t.Context(), v.ID)
			require.NoError(t, err)
			require.True(t, ok)
			require.Equal(t, online.Mark{Version: 1, Through: feature.FromTime(epoch)}, mark)
		}
	}
}

// TestMaterializeCancelled: a run that is cancelled does not move the mark.
func TestMaterializeCancelled(t *testing.T) {
	w := newWorld(t)
	w.apply(t, counterYAML)
	w.file(t, "a.csv", counterCSV(5))
	v := w.view(t, "f")
	for range 3 {
		_, err := w.ingester().Files(t.Context(), FileRequest{View: v, Inputs: []string{"a.csv"}, BaseDir: w.dir})
		require.NoError(t, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := w.ingester().Materialize(ctx, MaterializeRequest{View: v, Progress: func(wire.ViewProgress) { cancel() }})
	require.ErrorIs(t, err, context.Canceled)
	_, ok, err := w.online.Mark(t.Context(), v.ID)
	require.NoError(t, err)
	require.False(t, ok)
}

// TestWithoutOnline: where nothing is served, pushes go offline, and what needs
// the online store is refused.
func TestWithoutOnline(t *testing.T) {
	w := newWorld(t)
	w.apply(t, counterYAML)
	w.o.Online = nil
	v := w.view(t, "f")
	push := PushRequest{View: v, Format: feature.FormatCSV, Body: bytes.NewReader(counterCSV(1))}
	out, err := w.ingester().Push(t.Context(), push)
	require.NoError(t, err)
	require.EqualValues(t, 1, out.Version)
	push.Options.Online = true
	_, err = w.ingester().Push(t.Context(), push)
	require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
	_, err = w.ingester().Materialize(t.Context(), MaterializeRequest{View: v})
	require.Equal(t, feature.CodeFailedPrecondition, feature.CodeOf(err))
}
