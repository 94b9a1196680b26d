package buckettest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
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
		test func(s suite)
	}{
		{"Missing", suite.testMissing},
		{"PutIfAbsent", suite.testPutIfAbsent},
		{"PutIfAbsentRace", suite.testPutIfAbsentRace},
		{"Create", suite.testCreate},
		{"CreateIfAbsent", suite.testCreateIfAbsent},
		{"CreateLarge", suite.testCreateLarge},
		{"Abort", suite.testAbort},
		{"WriterEndsOnce", suite.testWriterEndsOnce},
		{"ReadRange", suite.testReadRange},
		{"ReaderAt", suite.testReaderAt},
		{"Keys", suite.testKeys},
		{"BadKeys", suite.testBadKeys},
		{"ListOrder", suite.testListOrder},
		{"ListAfter", suite.testListAfter},
		{"ListMany", suite.testListMany},
		{"ListStops", suite.testListStops},
		{"Delete", suite.testDelete},
		{"ReplaceWhileReading", suite.testReplaceWhileReading},
		{"CanceledContext", suite.testCanceledContext},
		{"OwnBytes", suite.testOwnBytes},
		{"Concurrent", suite.testConcurrent},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(suite{t: t, b: open(t)}) })
	}
}

// suite is one test on one bucket.
type suite struct {
	t *testing.T
	b bucket.Bucket
}

// seeded returns numbers that are the same on every run.
func seeded(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // repeatable on purpose
}

func (s suite) requireCode(want feature.Code, err error) {
	s.t.Helper()
	require.Error(s.t, err)
	require.Equal(s.t, want.String(), feature.CodeOf(err).String(), "error: %v", err)
}

func (s suite) put(key, data string) {
	s.t.Helper()
	require.NoError(s.t, s.b.PutIfAbsent(s.t.Context(), key, []byte(data)))
}

func (s suite) requireObject(key, want string) {
	s.t.Helper()
	data, err := s.b.Get(s.t.Context(), key)
	require.NoError(s.t, err)
	require.Equal(s.t, want, string(data))
	o, err := s.b.Stat(s.t.Context(), key)
	require.NoError(s.t, err)
	require.Equal(s.t, key, o.Key)
	require.EqualValues(s.t, len(want), o.Size)
	require.False(s.t, o.ModTime.IsZero())
}

func (s suite) list(prefix, after string) []string {
	s.t.Helper()
	keys := []string{}
	for o, err := range s.b.List(s.t.Context(), prefix, after) {
		require.NoError(s.t, err)
		keys = append(keys, o.Key)
	}
	return keys
}

func (s suite) write(key, data string, o bucket.CreateOptions) error {
	s.t.Helper()
	w, err := s.b.Create(s.t.Context(), key, o)
	require.NoError(s.t, err)
	_, err = io.WriteString(w, data)
	require.NoError(s.t, err)
	return w.Commit()
}

func (s suite) testMissing() {
	ctx := s.t.Context()
	_, err := s.b.Get(ctx, "no/such")
	s.requireCode(feature.CodeNotFound, err)
	require.ErrorContains(s.t, err, "no/such")
	_, err = s.b.Stat(ctx, "no/such")
	s.requireCode(feature.CodeNotFound, err)
	_, err = s.b.ReadRange(ctx, "no/such", 0, -1)
	s.requireCode(feature.CodeNotFound, err)
	require.NoError(s.t, s.b.Delete(ctx, "no/such"))
	require.Empty(s.t, s.list("", ""))
	require.Empty(s.t, s.list("no/", ""))

	s.put("folder/object", "x")
	_, err = s.b.Get(ctx, "folder")
	s.requireCode(feature.CodeNotFound, err)
	_, err = s.b.Stat(ctx, "folder")
	s.requireCode(feature.CodeNotFound, err)
	_, err = s.b.Get(ctx, "folder/object/below")
	s.requireCode(feature.CodeNotFound, err)
	require.NoError(s.t, s.b.Delete(ctx, "folder"))
	s.requireObject("folder/object", "x")
}

func (s suite) testPutIfAbsent() {
	s.put("a/b", "first")
	s.requireCode(feature.CodeAlreadyExists, s.b.PutIfAbsent(s.t.Context(), "a/b", []byte("second")))
	s.requireObject("a/b", "first")
	s.put("empty", "")
	s.requireObject("empty", "")
	s.requireCode(feature.CodeAlreadyExists, s.b.PutIfAbsent(s.t.Context(), "empty", []byte("full")))
}

// testPutIfAbsentRace has many writers put many keys: each key has one winner,
// and holds what the winner wrote.
func (s suite) testPutIfAbsentRace() {
	const writers, keys = 8, 10
	var mu sync.Mutex
	winners := map[string][]string{}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for k := range keys {
				key, me := fmt.Sprintf("race/%d", k), fmt.Sprintf("writer %d", w)
				err := s.b.PutIfAbsent(s.t.Context(), key, []byte(me))
				mu.Lock()
				if err == nil {
					winners[key] = append(winners[key], me)
				} else if feature.CodeOf(err) != feature.CodeAlreadyExists {
					s.t.Errorf("%s: %v", key, err)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(s.t, winners, keys)
	for key, won := range winners {
		require.Len(s.t, won, 1, key)
		s.requireObject(key, won[0])
	}
}

func (s suite) testCreate() {
	require.NoError(s.t, s.write("x/y", "one", bucket.CreateOptions{}))
	s.requireObject("x/y", "one")
	require.NoError(s.t, s.write("x/y", "two, longer", bucket.CreateOptions{}))
	s.requireObject("x/y", "two, longer")
	w, err := s.b.Create(s.t.Context(), "x/empty", bucket.CreateOptions{})
	require.NoError(s.t, err)
	require.NoError(s.t, w.Commit())
	s.requireObject("x/empty", "")
	require.NoError(s.t, w.Abort(), "an abort after the commit does nothing")
	s.requireObject("x/empty", "")
}

func (s suite) testCreateIfAbsent() {
	absent := bucket.CreateOptions{IfAbsent: true}
	early, err := s.b.Create(s.t.Context(), "k", absent)
	require.NoError(s.t, err)
	_, err = io.WriteString(early, "early")
	require.NoError(s.t, err)
	require.NoError(s.t, s.write("k", "late", absent), "an object that is not committed takes no key")
	s.requireCode(feature.CodeAlreadyExists, early.Commit())
	s.requireObject("k", "late")
	s.requireCode(feature.CodeAlreadyExists, s.b.PutIfAbsent(s.t.Context(), "k", nil))
}

// testCreateLarge is beyond the 5 MiB at which S3 uploads go in parts.
func (s suite) testCreateLarge() {
	data := make([]byte, 12<<20+7)
	rng := seeded(1)
	for i := 0; i < len(data); i += 64 {
		data[i] = byte(rng.UintN(256)) //nolint:gosec // below 256
	}
	w, err := s.b.Create(s.t.Context(), "large.bin", bucket.CreateOptions{IfAbsent: true})
	require.NoError(s.t, err)
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+rng.IntN(1<<20))
		_, err := w.Write(rest[:n])
		require.NoError(s.t, err)
		rest = rest[n:]
	}
	require.Empty(s.t, s.list("", ""), "nothing is visible before the commit")
	require.NoError(s.t, w.Commit())
	got, err := s.b.Get(s.t.Context(), "large.bin")
	require.NoError(s.t, err)
	require.True(s.t, bytes.Equal(data, got))
}

func (s suite) testAbort() {
	w, err := s.b.Create(s.t.Context(), "gone", bucket.CreateOptions{})
	require.NoError(s.t, err)
	_, err = io.WriteString(w, "half of the by")
	require.NoError(s.t, err)
	require.NoError(s.t, w.Abort())
	require.NoError(s.t, w.Abort())
	_, err = s.b.Get(s.t.Context(), "gone")
	s.requireCode(feature.CodeNotFound, err)
	require.Empty(s.t, s.list("", ""))
	s.put("gone", "here")

	w, err = s.b.Create(s.t.Context(), "gone", bucket.CreateOptions{})
	require.NoError(s.t, err)
	require.NoError(s.t, w.Abort())
	s.requireObject("gone", "here")
}

func (s suite) testWriterEndsOnce() {
	w, err := s.b.Create(s.t.Context(), "once", bucket.CreateOptions{})
	require.NoError(s.t, err)
	require.NoError(s.t, w.Commit())
	s.requireCode(feature.CodeFailedPrecondition, w.Commit())
	s.requireObject("once", "")
}

func (s suite) testReadRange() {
	s.put("digits", "0123456789")
	s.put("empty", "")
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
		r, err := s.b.ReadRange(s.t.Context(), c.key, c.off, c.length)
		require.NoError(s.t, err, "%+v", c)
		got, err := io.ReadAll(r)
		require.NoError(s.t, err, "%+v", c)
		require.NoError(s.t, r.Close())
		require.Equal(s.t, c.want, string(got), "%+v", c)
	}
	_, err := s.b.ReadRange(s.t.Context(), "digits", -1, 2)
	s.requireCode(feature.CodeInvalidArgument, err)
}

func (s suite) testReaderAt() {
	const text = "the quick brown fox"
	s.put("text", text)
	r := bucket.NewReaderAt(s.t.Context(), s.b, "text", int64(len(text)))
	p := make([]byte, 5)
	n, err := r.ReadAt(p, 4)
	require.NoError(s.t, err)
	require.Equal(s.t, "quick", string(p[:n]))
	n, err = r.ReadAt(p, int64(len(text))-3)
	require.ErrorIs(s.t, err, io.EOF)
	require.Equal(s.t, "fox", string(p[:n]))
	_, err = r.ReadAt(p, int64(len(text)))
	require.ErrorIs(s.t, err, io.EOF)
	all, err := io.ReadAll(r)
	require.NoError(s.t, err)
	require.Equal(s.t, text, string(all))

	lied := bucket.NewReaderAt(s.t.Context(), s.b, "text", 100)
	_, err = lied.ReadAt(make([]byte, 50), 0)
	s.requireCode(feature.CodeDataLoss, err)
	_, err = bucket.NewReaderAt(s.t.Context(), s.b, "missing", 10).ReadAt(p, 0)
	s.requireCode(feature.CodeNotFound, err)
}

// oddKeys are keys that every store takes, and that a careless one mangles.
var oddKeys = []string{
	"plain", "with space", "percent%20sign", "percent%", "plus+sign", "a=b/c=d", "ünï/çødé", "日本/語",
	"emoji 🌾", "quote\"'", "back\\slash", "semi;colon:and,comma", "q?a#b&c", "[brackets]{braces}", "star*",
	"dots../..x/.hidden", "tilde~", "a.attrs", "CaseA", "casea", strings.Repeat("long", 50) + "/" + strings.Repeat("x", 200),
}

func (s suite) testKeys() {
	for i, key := range oddKeys {
		s.put(key, strconv.Itoa(i))
	}
	for i, key := range oddKeys {
		s.requireObject(key, strconv.Itoa(i))
	}
	want := slices.Clone(oddKeys)
	slices.Sort(want)
	require.Equal(s.t, want, s.list("", ""))
	for _, key := range oddKeys {
		require.NoError(s.t, s.b.Delete(s.t.Context(), key))
	}
	require.Empty(s.t, s.list("", ""))
}

func (s suite) testBadKeys() {
	ctx := s.t.Context()
	for _, key := range []string{
		"", "/", "/abs", "end/", "a//b", ".", "..", "../up", "a/../b", "a/./b", "new\nline", "nul\x00", "\xff",
		strings.Repeat("k", 1025), ".granary-tmp/x",
	} {
		s.requireCode(feature.CodeInvalidArgument, s.b.PutIfAbsent(ctx, key, nil))
		_, err := s.b.Create(ctx, key, bucket.CreateOptions{})
		s.requireCode(feature.CodeInvalidArgument, err)
		_, err = s.b.Get(ctx, key)
		s.requireCode(feature.CodeInvalidArgument, err)
		_, err = s.b.Stat(ctx, key)
		s.requireCode(feature.CodeInvalidArgument, err)
		_, err = s.b.ReadRange(ctx, key, 0, -1)
		s.requireCode(feature.CodeInvalidArgument, err)
		s.requireCode(feature.CodeInvalidArgument, s.b.Delete(ctx, key))
	}
	require.Empty(s.t, s.list("../", ""))
}

// treeKeys are in key order; by names alone, "a" would be before "a-b".
var treeKeys = []string{"a-b", "a.c", "a/1", "a/2/x", "a/2/y", "a/3", "a0", "b/1", "c"}

func (s suite) fill() {
	s.t.Helper()
	for _, i := range seeded(2).Perm(len(treeKeys)) {
		s.put(treeKeys[i], "x")
	}
}

func (s suite) testListOrder() {
	s.fill()
	for _, prefix := range []string{"", "a", "a/", "a/2", "a/2/", "a/2/x", "a/2/xx", "b", "b/", "c", "c/", "d", "a-", "a0"} {
		want := []string{}
		for _, key := range treeKeys {
			if strings.HasPrefix(key, prefix) {
				want = append(want, key)
			}
		}
		require.Equal(s.t, want, s.list(prefix, ""), "prefix %q", prefix)
	}
}

func (s suite) testListAfter() {
	s.fill()
	for _, prefix := range []string{"", "a/", "a/2"} {
		for _, after := range append([]string{"0", "a", "a/", "a/2", "a/2/", "a/2/xx", "a/9", "b", "z"}, treeKeys...) {
			want := []string{}
			for _, key := range treeKeys {
				if strings.HasPrefix(key, prefix) && key > after {
					want = append(want, key)
				}
			}
			require.Equal(s.t, want, s.list(prefix, after), "prefix %q after %q", prefix, after)
		}
	}
}

// testListMany is more than one page of any store.
func (s suite) testListMany() {
	const n = 1100
	want := make([]string, n)
	var wg sync.WaitGroup
	for i := range want {
		want[i] = fmt.Sprintf("log/%020d.json", i)
	}
	for part := range slices.Chunk(want, n/8) {
		wg.Go(func() {
			for _, key := range part {
				if err := s.b.PutIfAbsent(s.t.Context(), key, []byte("{}")); err != nil {
					s.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(s.t, want, s.list("log/", ""))
	require.Equal(s.t, want[1090:], s.list("log/", want[1089]))
}

func (s suite) testListStops() {
	s.fill()
	for o, err := range s.b.List(s.t.Context(), "", "") {
		require.NoError(s.t, err)
		require.Equal(s.t, treeKeys[0], o.Key)
		require.EqualValues(s.t, 1, o.Size)
		break
	}
}

func (s suite) testDelete() {
	s.put("d/x", "1")
	s.put("d/y", "2")
	require.NoError(s.t, s.b.Delete(s.t.Context(), "d/x"))
	_, err := s.b.Get(s.t.Context(), "d/x")
	s.requireCode(feature.CodeNotFound, err)
	require.Equal(s.t, []string{"d/y"}, s.list("", ""))
	require.NoError(s.t, s.b.Delete(s.t.Context(), "d/x"))
	s.put("d/x", "again")
	s.requireObject("d/x", "again")
}

// testReplaceWhileReading: a reader that has begun ends with what it began
// with, or with an error, and never with a mixture.
func (s suite) testReplaceWhileReading() {
	old, fresh := strings.Repeat("o", 1<<20), strings.Repeat("n", 1<<20)
	s.put("k", old)
	r, err := s.b.ReadRange(s.t.Context(), "k", 0, -1)
	require.NoError(s.t, err)
	head := make([]byte, 1000)
	_, err = io.ReadFull(r, head)
	require.NoError(s.t, err)
	require.NoError(s.t, s.write("k", fresh, bucket.CreateOptions{}))
	rest, err := io.ReadAll(r)
	if err == nil {
		require.Equal(s.t, old, string(head)+string(rest))
	}
	require.NoError(s.t, r.Close())
	s.requireObject("k", fresh)
}

func (s suite) testCanceledContext() {
	s.put("k", "v")
	done, cancel := context.WithCancel(s.t.Context())
	w, err := s.b.Create(done, "late", bucket.CreateOptions{})
	require.NoError(s.t, err)
	cancel()
	s.requireCode(feature.CodeCanceled, w.Commit())
	_, err = s.b.Get(done, "k")
	s.requireCode(feature.CodeCanceled, err)
	s.requireCode(feature.CodeCanceled, s.b.PutIfAbsent(done, "put", []byte("v")))
	for _, err := range s.b.List(done, "", "") {
		s.requireCode(feature.CodeCanceled, err)
	}
	require.Equal(s.t, []string{"k"}, s.list("", ""))
}

// testOwnBytes: neither side keeps the other's slice.
func (s suite) testOwnBytes() {
	data := []byte("abc")
	require.NoError(s.t, s.b.PutIfAbsent(s.t.Context(), "k", data))
	data[0] = 'X'
	got, err := s.b.Get(s.t.Context(), "k")
	require.NoError(s.t, err)
	got[1] = 'Y'
	s.requireObject("k", "abc")
}

// testConcurrent mixes all calls on few keys; what is read is always one of the
// values that were written, whole.
func (s suite) testConcurrent() {
	values := []string{strings.Repeat("a", 5000), strings.Repeat("b", 10), ""}
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rng := seeded(seed)
			for range 50 {
				if err := s.mixedCall(rng, values); err != nil {
					s.t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func (s suite) mixedCall(rng *rand.Rand, values []string) error {
	key, value := fmt.Sprintf("k/%d", rng.IntN(3)), values[rng.IntN(len(values))]
	switch rng.IntN(4) {
	case 0:
		err := s.b.PutIfAbsent(s.t.Context(), key, []byte(value))
		if feature.CodeOf(err) == feature.CodeAlreadyExists {
			return nil
		}
		return err
	case 1:
		w, err := s.b.Create(s.t.Context(), key, bucket.CreateOptions{})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, value); err != nil {
			return err
		}
		return w.Commit()
	case 2:
		return s.b.Delete(s.t.Context(), key)
	}
	data, err := s.b.Get(s.t.Context(), key)
	if err == nil && !slices.Contains(values, string(data)) {
		return fmt.Errorf("%s holds %d bytes that nobody wrote", key, len(data))
	}
	if err != nil && feature.CodeOf(err) == feature.CodeNotFound {
		return nil
	}
	return err
}
