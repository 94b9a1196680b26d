package buckettest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
)

// Run holds a bucket to the contract of bucket.Bucket. open returns an empty
// one each time, and closes it by t.Cleanup.
func Run(t *testing.T, open func(t *testing.T) bucket.Bucket) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(t *testing.T, b bucket.Bucket)
	}{
		{"Missing", testMissing},
		{"PutIfAbsent", testPutIfAbsent},
		{"PutIfAbsentRace", testPutIfAbsentRace},
		{"Create", testCreate},
		{"CreateIfAbsent", testCreateIfAbsent},
		{"CreateLarge", testCreateLarge},
		{"Abort", testAbort},
		{"WriterEndsOnce", testWriterEndsOnce},
		{"ReadRange", testReadRange},
		{"ReaderAt", testReaderAt},
		{"Keys", testKeys},
		{"BadKeys", testBadKeys},
		{"ListOrder", testListOrder},
		{"ListAfter", testListAfter},
		{"ListMany", testListMany},
		{"ListStops", testListStops},
		{"Delete", testDelete},
		{"ReplaceWhileReading", testReplaceWhileReading},
		{"CanceledContext", testCanceledContext},
		{"OwnBytes", testOwnBytes},
		{"Concurrent", testConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func requireCode(t *testing.T, want feature.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want.String(), feature.CodeOf(err).String(), "error: %v", err)
}

func put(t *testing.T, b bucket.Bucket, key, data string) {
	t.Helper()
	require.NoError(t, b.PutIfAbsent(t.Context(), key, []byte(data)))
}

func requireObject(t *testing.T, b bucket.Bucket, key, want string) {
	t.Helper()
	data, err := b.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, want, string(data))
	o, err := b.Stat(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, key, o.Key)
	require.EqualValues(t, len(want), o.Size)
	require.False(t, o.ModTime.IsZero())
}

func list(t *testing.T, b bucket.Bucket, prefix, after string) []string {
	t.Helper()
	keys := []string{}
	for o, err := range b.List(t.Context(), prefix, after) {
		require.NoError(t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

func write(t *testing.T, b bucket.Bucket, key, data string, o bucket.CreateOptions) error {
	t.Helper()
	w, err := b.Create(t.Context(), key, o)
	require.NoError(t, err)
	_, err = io.WriteString(w, data)
	require.NoError(t, err)
	return w.Commit()
}

func testMissing(t *testing.T, b bucket.Bucket) {
	ctx := t.Context()
	_, err := b.Get(ctx, "no/such")
	requireCode(t, feature.CodeNotFound, err)
	require.ErrorContains(t, err, "no/such")
	_, err = b.Stat(ctx, "no/such")
	requireCode(t, feature.CodeNotFound, err)
	_, err = b.ReadRange(ctx, "no/such", 0, -1)
	requireCode(t, feature.CodeNotFound, err)
	require.NoError(t, b.Delete(ctx, "no/such"))
	require.Empty(t, list(t, b, "", ""))
	require.Empty(t, list(t, b, "no/", ""))

	put(t, b, "folder/object", "x")
	_, err = b.Get(ctx, "folder")
	requireCode(t, feature.CodeNotFound, err)
	_, err = b.Stat(ctx, "folder")
	requireCode(t, feature.CodeNotFound, err)
	_, err = b.Get(ctx, "folder/object/below")
	requireCode(t, feature.CodeNotFound, err)
	require.NoError(t, b.Delete(ctx, "folder"))
	requireObject(t, b, "folder/object", "x")
}

func testPutIfAbsent(t *testing.T, b bucket.Bucket) {
	put(t, b, "a/b", "first")
	requireCode(t, feature.CodeAlreadyExists, b.PutIfAbsent(t.Context(), "a/b", []byte("second")))
	requireObject(t, b, "a/b", "first")
	put(t, b, "empty", "")
	requireObject(t, b, "empty", "")
	requireCode(t, feature.CodeAlreadyExists, b.PutIfAbsent(t.Context(), "empty", []byte("full")))
}

// testPutIfAbsentRace has many writers put many keys: each key has one winner,
// and holds what the winner wrote.
func testPutIfAbsentRace(t *testing.T, b bucket.Bucket) {
	const writers, keys = 8, 10
	var mu sync.Mutex
	winners := map[string][]string{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for k := range keys {
				key, me := fmt.Sprintf("race/%d", k), fmt.Sprintf("writer %d", w)
				err := b.PutIfAbsent(t.Context(), key, []byte(me))
				mu.Lock()
				if err == nil {
					winners[key] = append(winners[key], me)
				} else if feature.CodeOf(err) != feature.CodeAlreadyExists {
					t.Errorf("%s: %v", key, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, winners, keys)
	for key, won := range winners {
		require.Len(t, won, 1, key)
		requireObject(t, b, key, won[0])
	}
}

func testCreate(t *testing.T, b bucket.Bucket) {
	require.NoError(t, write(t, b, "x/y", "one", bucket.CreateOptions{}))
	requireObject(t, b, "x/y", "one")
	require.NoError(t, write(t, b, "x/y", "two, longer", bucket.CreateOptions{}))
	requireObject(t, b, "x/y", "two, longer")
	w, err := b.Create(t.Context(), "x/empty", bucket.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	requireObject(t, b, "x/empty", "")
	require.NoError(t, w.Abort(), "an abort after the commit does nothing")
	requireObject(t, b, "x/empty", "")
}

func testCreateIfAbsent(t *testing.T, b bucket.Bucket) {
	absent := bucket.CreateOptions{IfAbsent: true}
	early, err := b.Create(t.Context(), "k", absent)
	require.NoError(t, err)
	_, err = io.WriteString(early, "early")
	require.NoError(t, err)
	require.NoError(t, write(t, b, "k", "late", absent), "an object that is not committed takes no key")
	requireCode(t, feature.CodeAlreadyExists, early.Commit())
	requireObject(t, b, "k", "late")
	requireCode(t, feature.CodeAlreadyExists, b.PutIfAbsent(t.Context(), "k", nil))
}

// testCreateLarge is beyond the 5 MiB at which S3 uploads go in parts.
func testCreateLarge(t *testing.T, b bucket.Bucket) {
	data := make([]byte, 12<<20+7)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(data); i += 64 {
		data[i] = byte(rng.Uint32())
	}
	w, err := b.Create(t.Context(), "large.bin", bucket.CreateOptions{IfAbsent: true})
	require.NoError(t, err)
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+rng.IntN(1<<20))
		_, err := w.Write(rest[:n])
		require.NoError(t, err)
		rest = rest[n:]
	}
	require.Empty(t, list(t, b, "", ""), "nothing is visible before the commit")
	require.NoError(t, w.Commit())
	got, err := b.Get(t.Context(), "large.bin")
	require.NoError(t, err)
	require.True(t, bytes.Equal(data, got))
}

func testAbort(t *testing.T, b bucket.Bucket) {
	w, err := b.Create(t.Context(), "gone", bucket.CreateOptions{})
	require.NoError(t, err)
	_, err = io.WriteString(w, "half of the by")
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	require.NoError(t, w.Abort())
	_, err = b.Get(t.Context(), "gone")
	requireCode(t, feature.CodeNotFound, err)
	require.Empty(t, list(t, b, "", ""))
	put(t, b, "gone", "here")

	w, err = b.Create(t.Context(), "gone", bucket.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Abort())
	requireObject(t, b, "gone", "here")
}

func testWriterEndsOnce(t *testing.T, b bucket.Bucket) {
	w, err := b.Create(t.Context(), "once", bucket.CreateOptions{})
	require.NoError(t, err)
	require.NoError(t, w.Commit())
	requireCode(t, feature.CodeFailedPrecondition, w.Commit())
	requireObject(t, b, "once", "")
}

func testReadRange(t *testing.T, b bucket.Bucket) {
	put(t, b, "digits", "0123456789")
	put(t, b, "empty", "")
	for _, c := range []struct {
		key         string
		off, length int64
		want        string
	}{
		{"digits", 0, -1, "0123456789"},
		{"digits", 3, -1, "3456789"},
		{"digits", 3, 4, "3456"},
		{"digits", 0, 0, ""},
		{"digits", 8, 10, "89"},
		{"digits", 10, 5, ""},
		{"digits", 10, -1, ""},
		{"digits", 99, 5, ""},
		{"empty", 0, -1, ""},
		{"empty", 0, 5, ""},
	} {
		r, err := b.ReadRange(t.Context(), c.key, c.off, c.length)
		require.NoError(t, err, "%+v", c)
		got, err := io.ReadAll(r)
		require.NoError(t, err, "%+v", c)
		require.NoError(t, r.Close())
		require.Equal(t, c.want, string(got), "%+v", c)
	}
	_, err := b.ReadRange(t.Context(), "digits", -1, 2)
	requireCode(t, feature.CodeInvalidArgument, err)
}

func testReaderAt(t *testing.T, b bucket.Bucket) {
	const text = "the quick brown fox"
	put(t, b, "text", text)
	r := bucket.NewReaderAt(t.Context(), b, "text", int64(len(text)))
	p := make([]byte, 5)
	n, err := r.ReadAt(p, 4)
	require.NoError(t, err)
	require.Equal(t, "quick", string(p[:n]))
	n, err = r.ReadAt(p, int64(len(text))-3)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "fox", string(p[:n]))
	_, err = r.ReadAt(p, int64(len(text)))
	require.ErrorIs(t, err, io.EOF)
	all, err := io.ReadAll(r)
	require.NoError(t, err)
	require.Equal(t, text, string(all))

	lied := bucket.NewReaderAt(t.Context(), b, "text", 100)
	_, err = lied.ReadAt(make([]byte, 50), 0)
	requireCode(t, feature.CodeDataLoss, err)
	_, err = bucket.NewReaderAt(t.Context(), b, "missing", 10).ReadAt(p, 0)
	requireCode(t, feature.CodeNotFound, err)
}

// oddKeys are keys that every store takes, and that a careless one mangles.
var oddKeys = []string{
	"plain", "with space", "percent%20sign", "percent%", "plus+sign", "a=b/c=d", "ünï/çødé", "日本/語",
	"emoji 🌾", "quote\"'", "back\\slash", "semi;colon:and,comma", "q?a#b&c", "[brackets]{braces}", "star*",
	"dots../..x/.hidden", "tilde~", "a.attrs", "CaseA", "casea", strings.Repeat("long", 50) + "/" + strings.Repeat("x", 200),
}

func testKeys(t *testing.T, b bucket.Bucket) {
	for i, key := range oddKeys {
		put(t, b, key, fmt.Sprint(i))
	}
	for i, key := range oddKeys {
		requireObject(t, b, key, fmt.Sprint(i))
	}
	want := slices.Clone(oddKeys)
	slices.Sort(want)
	require.Equal(t, want, list(t, b, "", ""))
	for _, key := range oddKeys {
		require.NoError(t, b.Delete(t.Context(), key))
	}
	require.Empty(t, list(t, b, "", ""))
}

func testBadKeys(t *testing.T, b bucket.Bucket) {
	ctx := t.Context()
	for _, key := range []string{
		"", "/", "/abs", "end/", "a//b", ".", "..", "../up", "a/../b", "a/./b", "new\nline", "nul\x00", "\xff",
		strings.Repeat("k", 1025), ".granary-tmp/x",
	} {
		requireCode(t, feature.CodeInvalidArgument, b.PutIfAbsent(ctx, key, nil))
		_, err := b.Create(ctx, key, bucket.CreateOptions{})
		requireCode(t, feature.CodeInvalidArgument, err)
		_, err = b.Get(ctx, key)
		requireCode(t, feature.CodeInvalidArgument, err)
		_, err = b.Stat(ctx, key)
		requireCode(t, feature.CodeInvalidArgument, err)
		_, err = b.ReadRange(ctx, key, 0, -1)
		requireCode(t, feature.CodeInvalidArgument, err)
		requireCode(t, feature.CodeInvalidArgument, b.Delete(ctx, key))
	}
	require.Empty(t, list(t, b, "../", ""))
}

// treeKeys are in key order; by names alone, "a" would be before "a-b".
var treeKeys = []string{"a-b", "a.c", "a/1", "a/2/x", "a/2/y", "a/3", "a0", "b/1", "c"}

func fill(t *testing.T, b bucket.Bucket) {
	t.Helper()
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(len(treeKeys)) {
		put(t, b, treeKeys[i], "x")
	}
}

func testListOrder(t *testing.T, b bucket.Bucket) {
	fill(t, b)
	for _, prefix := range []string{"", "a", "a/", "a/2", "a/2/", "a/2/x", "a/2/xx", "b", "b/", "c", "c/", "d", "a-", "a0"} {
		want := []string{}
		for _, key := range treeKeys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		require.Equal(t, want, list(t, b, prefix, ""), "prefix %q", prefix)
	}
}

func testListAfter(t *testing.T, b bucket.Bucket) {
	fill(t, b)
	for _, prefix := range []string{"", "a/", "a/2"} {
		for _, after := range append([]string{"0", "a", "a/", "a/2", "a/2/", "a/2/xx", "a/9", "b", "z"}, treeKeys...) {
			want := []string{}
			for _, key := range treeKeys {
				if strings.HasPrefix(key, prefix) && key > after {
					want = append(want, key)
				}
			}
			require.Equal(t, want, list(t, b, prefix, after), "prefix %q after %q", prefix, after)
		}
	}
}

// testListMany is more than one page of any store.
func testListMany(t *testing.T, b bucket.Bucket) {
	const n = 1100
	want := make([]string, n)
	var wg sync.WaitGroup
	for i := range want {
		want[i] = fmt.Sprintf("log/%020d.json", i)
	}
	for part := range slices.Chunk(want, n/8) {
		wg.Go(func() {
			for _, key := range part {
				if err := b.PutIfAbsent(t.Context(), key, []byte("{}")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, want, list(t, b, "log/", ""))
	require.Equal(t, want[1090:], list(t, b, "log/", want[1089]))
}

func testListStops(t *testing.T, b bucket.Bucket) {
	fill(t, b)
	for o, err := range b.List(t.Context(), "", "") {
		require.NoError(t, err)
		require.Equal(t, treeKeys[0], o.Key)
		require.EqualValues(t, 1, o.Size)
		break
	}
}

func testDelete(t *testing.T, b bucket.Bucket) {
	put(t, b, "d/x", "1")
	put(t, b, "d/y", "2")
	require.NoError(t, b.Delete(t.Context(), "d/x"))
	_, err := b.Get(t.Context(), "d/x")
	requireCode(t, feature.CodeNotFound, err)
	require.Equal(t, []string{"d/y"}, list(t, b, "", ""))
	require.NoError(t, b.Delete(t.Context(), "d/x"))
	put(t, b, "d/x", "again")
	requireObject(t, b, "d/x", "again")
}

// testReplaceWhileReading: a reader that has begun ends with what it began
// with, or with an error, and never with a mixture.
func testReplaceWhileReading(t *testing.T, b bucket.Bucket) {
	old, fresh := strings.Repeat("o", 1<<20), strings.Repeat("n", 1<<20)
	put(t, b, "k", old)
	r, err := b.ReadRange(t.Context(), "k", 0, -1)
	require.NoError(t, err)
	head := make([]byte, 1000)
	_, err = io.ReadFull(r, head)
	require.NoError(t, err)
	require.NoError(t, write(t, b, "k", fresh, bucket.CreateOptions{}))
	rest, err := io.ReadAll(r)
	if err == nil {
		require.Equal(t, old, string(head)+string(rest))
	}
	require.NoError(t, r.Close())
	requireObject(t, b, "k", fresh)
}

func testCanceledContext(t *testing.T, b bucket.Bucket) {
	put(t, b, "k", "v")
	done, cancel := context.WithCancel(t.Context())
	w, err := b.Create(done, "late", bucket.CreateOptions{})
	require.NoError(t, err)
	cancel()
	requireCode(t, feature.CodeCanceled, w.Commit())
	_, err = b.Get(done, "k")
	requireCode(t, feature.CodeCanceled, err)
	requireCode(t, feature.CodeCanceled, b.PutIfAbsent(done, "put", []byte("v")))
	for _, err := range b.List(done, "", "") {
		requireCode(t, feature.CodeCanceled, err)
	}
	require.Equal(t, []string{"k"}, list(t, b, "", ""))
}

// testOwnBytes: neither side keeps the other's slice.
func testOwnBytes(t *testing.T, b bucket.Bucket) {
	data := []byte("abc")
	require.NoError(t, b.PutIfAbsent(t.Context(), "k", data))
	data[0] = 'X'
	got, err := b.Get(t.Context(), "k")
	require.NoError(t, err)
	got[1] = 'Y'
	requireObject(t, b, "k", "abc")
}

// testConcurrent mixes all calls on few keys; what is read is always one of the
// values that were written, whole.
func testConcurrent(t *testing.T, b bucket.Bucket) {
	values := []string{strings.Repeat("a", 5000), strings.Repeat("b", 10), ""}
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, 7))
			for range 50 {
				if err := mixedCall(t, b, rng, values); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func mixedCall(t *testing.T, b bucket.Bucket, rng *rand.Rand, values []string) error {
	t.Helper()
	key, value := fmt.Sprintf("k/%d", rng.IntN(3)), values[rng.IntN(len(values))]
	switch rng.IntN(4) {
	case 0:
		err := b.PutIfAbsent(t.Context(), key, []byte(value))
		if feature.CodeOf(err) == feature.CodeAlreadyExists {
			return nil
		}
		return err
	case 1:
		w, err := b.Create(t.Context(), key, bucket.CreateOptions{})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, value); err != nil {
			return err
		}
		return w.Commit()
	case 2:
		return b.Delete(t.Context(), key)
	}
	data, err := b.Get(t.Context(), key)
	if err == nil && !slices.Contains(values, string(data)) {
		return fmt.Errorf("%s holds %d bytes that nobody wrote", key, len(data))
	}
	if err != nil && feature.CodeOf(err) == feature.CodeNotFound {
		return nil
	}
	return err
}
