package registrytest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/registry"
)

// Run holds a storage, and a registry on it, to the contract of
// registry.Storage. open returns an empty storage for each test.
func Run(t *testing.T, open func(t *testing.T) registry.Storage) {
	t.Helper()
	for _, c := range []struct {
		name string
		test func(t *testing.T, s registry.Storage)
	}{
		{"Missing", testMissing},
		{"PutOnce", testPutOnce},
		{"OwnMemory", testOwnMemory},
		{"OneWinner", testOneWinner},
		{"EmptyRegistry", testEmptyRegistry},
		{"Reopen", testReopen},
		{"SecondProcess", testSecondProcess},
		{"TenWriters", testTenWriters},
		{"TenWritersExpected", testTenWritersExpected},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func testMissing(t *testing.T, s registry.Storage) {
	t.Helper()
	_, err := s.Get(t.Context(), "registry/00000000000000000001.json")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err), "%v", err)
}

func testPutOnce(t *testing.T, s registry.Storage) {
	t.Helper()
	require.NoError(t, s.PutIfAbsent(t.Context(), "registry/a", []byte("first")))
	err := s.PutIfAbsent(t.Context(), "registry/a", []byte("second"))
	require.Equal(t, feature.CodeAlreadyExists, feature.CodeOf(err), "%v", err)
	got, err := s.Get(t.Context(), "registry/a")
	require.NoError(t, err)
	require.Equal(t, "first", string(got))
	_, err = s.Get(t.Context(), "registry/b")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err), "a key beside it: %v", err)
}

// testOwnMemory: neither side keeps the other one's slices.
func testOwnMemory(t *testing.T, s registry.Storage) {
	t.Helper()
	data := []byte("text")
	require.NoError(t, s.PutIfAbsent(t.Context(), "registry/a", data))
	data[0] = 'X'
	got, err := s.Get(t.Context(), "registry/a")
	require.NoError(t, err)
	got[1] = 'Y'
	again, err := s.Get(t.Context(), "registry/a")
	require.NoError(t, err)
	require.Equal(t, "text", string(again))
}

func testOneWinner(t *testing.T, s registry.Storage) {
	t.Helper()
	const writers = 8
	codes := make([]feature.Code, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			codes[i] = 255
			if err := s.PutIfAbsent(t.Context(), "registry/a", fmt.Appendf(nil, "writer %d", i)); err != nil {
				codes[i] = feature.CodeOf(err)
			}
		})
	}
	wg.Wait()
	winner := -1
	for i, code := range codes {
		if code == 255 {
			require.Equal(t, -1, winner, "two writers were told that they won")
			winner = i
			continue
		}
		require.Equal(t, feature.CodeAlreadyExists, code)
	}
	require.GreaterOrEqual(t, winner, 0, "nobody won")
	got, err := s.Get(t.Context(), "registry/a")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("writer %d", winner), string(got))
}

// openRegistry opens a registry as another process would.
func openRegistry(t *testing.T, s registry.Storage) *registry.Registry {
	t.Helper()
	r, err := registry.Open(t.Context(), s, registry.Options{})
	require.NoError(t, err)
	return r
}

func testEmptyRegistry(t *testing.T, s registry.Storage) {
	t.Helper()
	r := openRegistry(t, s)
	require.Zero(t, r.Snapshot().Revision())
	require.Empty(t, r.Snapshot().Projects())
	_, err := r.Snapshot().Definitions("demo")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	history, err := r.History(t.Context(), "")
	require.NoError(t, err)
	require.Empty(t, history)
}

// Definitions returns small definitions of one view of that name.
func Definitions(view string, features ...feature.Feature) feature.Definitions {
	if len(features) == 0 {
		features = []feature.Feature{{Name: "v", Type: feature.Float64}}
	}
	return feature.Definitions{
		Entities: []feature.Entity{{Name: "driver", JoinKeys: []feature.JoinKey{{Name: "driver_id", Type: feature.Int64}}}},
		Views:    []feature.View{{Name: view, Entities: []string{"driver"}, Features: features}},
	}
}

func testReopen(t *testing.T, s registry.Storage) {
	t.Helper()
	r := openRegistry(t, s)
	const revisions = 11 // so that opening has to step and to halve
	for i := range revisions {
		plan, err := r.Apply(t.Context(), "demo", wire.ApplyRequest{Definitions: Definitions(fmt.Sprintf("view_%d", i))})
		require.NoError(t, err)
		require.Equal(t, int64(i+1), plan.To)

		again := openRegistry(t, s)
		require.Equal(t, int64(i+1), again.Snapshot().Revision())
		want, err := r.Snapshot().Views("demo")
		require.NoError(t, err)
		got, err := again.Snapshot().Views("demo")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	history, err := openRegistry(t, s).History(t.Context(), "demo")
	require.NoError(t, err)
	require.Len(t, history, revisions)
}

func testSecondProcess(t *testing.T, s registry.Storage) {
	t.Helper()
	one, two := openRegistry(t, s), openRegistry(t, s)
	_, err := one.Apply(t.Context(), "demo", wire.ApplyRequest{Definitions: Definitions("f")})
	require.NoError(t, err)
	require.Zero(t, two.Snapshot().Revision(), "nobody has looked yet")
	snapshot, err := two.Refresh(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1), snapshot.Revision())
	require.Same(t, snapshot, two.Snapshot())

	_, err = two.Apply(t.Context(), "demo", wire.ApplyRequest{Definitions: Definitions("g")})
	require.NoError(t, err)
	_, err = one.Delete(t.Context(), "demo", registry.KindView, "g", nil)
	require.NoError(t, err, "one does not know of g until it looks")
}

const (
	writers = 10
	rounds  = 5
)

// testTenWriters: without an expected revision every apply lands.
func testTenWriters(t *testing.T, s registry.Storage) {
	t.Helper()
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		r := openRegistry(t, s)
		wg.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("w%d_%d", w, i)
				if _, err := r.Apply(t.Context(), "demo", wire.ApplyRequest{Definitions: Definitions(name)}); err != nil {
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	requireViews(t, s, writers*rounds)
}

// testTenWritersExpected: with an expected revision each apply lands or is told
// of the conflict, and those that landed are there.
func testTenWritersExpected(t *testing.T, s registry.Storage) {
	t.Helper()
	landed := make([]int, writers)
	errs := make([]error, writers)
	var wg sync.WaitGroup
	for w := range writers {
		r := openRegistry(t, s)
		wg.Go(func() {
			for i := range rounds {
				expected := r.Snapshot().Revision()
				_, err := r.Apply(t.Context(), "demo", wire.ApplyRequest{
					Definitions: Definitions(fmt.Sprintf("w%d_%d", w, i)), Expected: &expected,
				})
				switch {
				case err == nil:
					landed[w]++
				case feature.CodeOf(err) != feature.CodeConflict:
					errs[w] = err
					return
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for w := range writers {
		require.NoError(t, errs[w])
		total += landed[w]
	}
	require.Positive(t, total)
	requireViews(t, s, total)
}

// requireViews asks for that many views and revisions, each view with an id of
// its own.
func requireViews(t *testing.T, s registry.Storage, n int) {
	t.Helper()
	snapshot := openRegistry(t, s).Snapshot()
	require.Equal(t, int64(n), snapshot.Revision())
	views, err := snapshot.Views("demo")
	require.NoError(t, err)
	require.Len(t, views, n)
	ids := map[feature.ViewID]bool{}
	for _, v := range views {
		require.False(t, ids[v.ID], "view id %d is there twice", v.ID)
		ids[v.ID] = true
	}
}
