package registry_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/registry"
	"github.com/granary-ml/granary/registry/registrytest"
)

func open(t *testing.T, s registry.Storage) *registry.Registry {
	t.Helper()
	r, err := registry.Open(t.Context(), s, registry.Options{})
	require.NoError(t, err)
	return r
}

func request(view string, features ...feature.Feature) wire.ApplyRequest {
	return wire.ApplyRequest{Definitions: registrytest.Definitions(view, features...)}
}

func requireCode(t *testing.T, want feature.Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, feature.CodeOf(err), "%v", err)
}

// TestApplyAnswerLost is H34: the put lands, and its answer says otherwise.
func TestApplyAnswerLost(t *testing.T) {
	for _, code := range []feature.Code{
		feature.CodeAlreadyExists, feature.CodeUnavailable, feature.CodeDeadlineExceeded, feature.CodeInternal, feature.CodeConflict,
	} {
		t.Run(code.String(), func(t *testing.T) {
			s := registrytest.NewFaults(registrytest.NewMemory())
			r := open(t, s)
			s.Inject(registrytest.Fault{Operation: registrytest.PutIfAbsent, Nth: 1, After: true, Code: code})
			// With the revision that it expects: its own put is no conflict.
			req := request("f")
			req.Expected = new(int64)
			plan, err := r.Apply(t.Context(), "demo", req)
			require.NoError(t, err)
			require.Equal(t, 1, s.Surfaced())
			require.Equal(t, int64(1), plan.To)
			require.Len(t, plan.Changes, 2)
			require.Equal(t, int64(1), r.Snapshot().Revision())
			require.Equal(t, int64(1), open(t, s).Snapshot().Revision(), "it landed once")

			// What was deleted by ourselves is no "not found".
			s.Inject(registrytest.Fault{Operation: registrytest.PutIfAbsent, Nth: 1, After: true, Code: code})
			plan, err = r.Delete(t.Context(), "demo", registry.KindView, "f", nil)
			require.NoError(t, err)
			require.Equal(t, 1, s.Surfaced())
			require.Equal(t, int64(2), plan.To)
		})
	}
}

// TestApplyOutcomeUnknown: neither the put nor the question after it is
// answered. The error says so, and the same apply later lands once.
func TestApplyOutcomeUnknown(t *testing.T) {
	for _, landed := range []bool{false, true} {
		t.Run(fmt.Sprintf("landed=%t", landed), func(t *testing.T) {
			s := registrytest.NewFaults(registrytest.NewMemory())
			r := open(t, s)
			s.Inject(
				registrytest.Fault{Operation: registrytest.PutIfAbsent, Nth: 1, After: landed, Code: feature.CodeUnavailable},
				registrytest.Fault{Operation: registrytest.Get, Nth: 2, Code: feature.CodeUnavailable},
			)
			_, err := r.Apply(t.Context(), "demo", request("f"))
			requireCode(t, feature.CodeUnavailable, err)
			require.ErrorContains(t, err, "unknown")
			require.Equal(t, 2, s.Surfaced())

			_, err = r.Apply(t.Context(), "demo", request("f"))
			require.NoError(t, err)
			snapshot := open(t, s).Snapshot()
			require.Equal(t, int64(1), snapshot.Revision())
			view, err := snapshot.View("demo", "f")
			require.NoError(t, err)
			require.Equal(t, feature.ViewID(1), view.ID)
		})
	}
}

// TestApplyPutFails: nothing landed, and the code is the storage's.
func TestApplyPutFails(t *testing.T) {
	for _, code := range []feature.Code{
		feature.CodeUnavailable, feature.CodePermissionDenied, feature.CodeResourceExhausted, feature.CodeInternal,
	} {
		t.Run(code.String(), func(t *testing.T) {
			s := registrytest.NewFaults(registrytest.NewMemory())
			r := open(t, s)
			s.Inject(registrytest.Fault{Operation: registrytest.PutIfAbsent, Nth: 1, Code: code})
			_, err := r.Apply(t.Context(), "demo", request("f"))
			requireCode(t, code, err)
			require.ErrorContains(t, err, "revision 1")
			require.Equal(t, 1, s.Surfaced())
			require.Zero(t, r.Snapshot().Revision())
			plan, err := r.Apply(t.Context(), "demo", request("f"))
			require.NoError(t, err)
			require.Equal(t, int64(1), plan.To)
		})
	}
}

// TestApplyStorageContradictsItself: "there is one" and "there is none" must
// end in an error and not in a loop.
func TestApplyStorageContradictsItself(t *testing.T) {
	s := registrytest.NewFaults(registrytest.NewMemory())
	r := open(t, s)
	s.Inject(registrytest.Fault{Operation: registrytest.PutIfAbsent, Code: feature.CodeAlreadyExists})
	_, err := r.Apply(t.Context(), "demo", request("f"))
	requireCode(t, feature.CodeUnavailable, err)
	require.Equal(t, 1, s.Surfaced())
}

// TestEveryGetFails lets each read of each call fail in turn: the call fails
// with the storage's code or does its work, and the state is never older or
// other than it was.
func TestEveryGetFails(t *testing.T) {
	s := registrytest.NewFaults(registrytest.NewMemory())
	r := open(t, s)
	for i := range 9 {
		_, err := r.Apply(t.Context(), "demo", request(fmt.Sprintf("f%d", i)))
		require.NoError(t, err)
	}
	calls := map[string]func(ctx context.Context, r *registry.Registry) error{
		"open": func(ctx context.Context, _ *registry.Registry) error {
			r, err := registry.Open(ctx, s, registry.Options{})
			if err == nil && r.Snapshot().Revision() < 9 {
				return feature.Errorf(feature.CodeDataLoss, "", "", "opened at revision %d", r.Snapshot().Revision())
			}
			return err
		},
		"refresh": func(ctx context.Context, r *registry.Registry) error { _, err := r.Refresh(ctx); return err },
		"plan": func(ctx context.Context, r *registry.Registry) error {
			_, err := r.Plan(ctx, "demo", request("g"))
			return err
		},
		"apply": func(ctx context.Context, r *registry.Registry) error {
			_, err := r.Apply(ctx, "demo", request("f1"))
			return err
		},
		"at":      func(ctx context.Context, r *registry.Registry) error { _, err := r.At(ctx, 3); return err },
		"history": func(ctx context.Context, r *registry.Registry) error { _, err := r.History(ctx, "demo"); return err },
	}
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			surfaced := 0
			for nth := 1; ; nth++ {
				s.Inject()
				fresh := open(t, s)
				s.Inject(registrytest.Fault{Operation: registrytest.Get, Nth: nth, Code: feature.CodeUnavailable})
				err := call(t.Context(), fresh)
				if s.Surfaced() == 0 {
					require.NoError(t, err)
					break
				}
				surfaced++
				requireCode(t, feature.CodeUnavailable, err)
			}
			require.Positive(t, surfaced)
		})
	}
	s.Inject()
	require.Equal(t, int64(9), open(t, s).Snapshot().Revision())
}

func TestOpenFails(t *testing.T) {
	s := registrytest.NewFaults(registrytest.NewMemory())
	s.Inject(registrytest.Fault{Operation: registrytest.Get, Code: feature.CodePermissionDenied})
	_, err := registry.Open(t.Context(), s, registry.Options{})
	requireCode(t, feature.CodePermissionDenied, err)
}

func TestCanceled(t *testing.T) {
	r := open(t, registrytest.NewMemory())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.Apply(ctx, "demo", request("f"))
	requireCode(t, feature.CodeCanceled, err)
	_, err = registry.Open(ctx, registrytest.NewMemory(), registry.Options{})
	requireCode(t, feature.CodeCanceled, err)
}

// delayed is a storage whose first put answers "unavailable" and takes effect
// only before the next put, as a request that was slow in the network.
type delayed struct {
	registry.Storage

	mu   sync.Mutex
	late func(ctx context.Context) error
	done bool
}

func (d *delayed) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.done {
		d.done = true
		d.late = func(ctx context.Context) error { return d.Storage.PutIfAbsent(ctx, key, data) }
		return feature.Errorf(feature.CodeUnavailable, "", "", "slow")
	}
	if d.late != nil {
		if err := d.late(ctx); err != nil {
			return err
		}
		d.late = nil
	}
	return d.Storage.PutIfAbsent(ctx, key, data)
}

// TestApplyLatePut: a put that was given up lands just before the one of the
// second try. The definitions are there once, the second try finds them.
func TestApplyLatePut(t *testing.T) {
	s := &delayed{Storage: registrytest.NewMemory()}
	r := open(t, s)
	_, err := r.Apply(t.Context(), "demo", request("f"))
	requireCode(t, feature.CodeUnavailable, err)
	require.ErrorContains(t, err, "may still appear")
	plan, err := r.Apply(t.Context(), "demo", request("f"))
	require.NoError(t, err)
	require.Equal(t, int64(1), plan.To)
	require.Empty(t, plan.Changes)
	require.Equal(t, int64(1), open(t, s).Snapshot().Revision())
}

// swapped is a storage whose files change under the registry.
type swapped struct {
	mu    sync.Mutex
	files registry.Storage
}

func (s *swapped) Get(ctx context.Context, key string) ([]byte, error) {
	return s.storage().Get(ctx, key)
}

func (s *swapped) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.storage().PutIfAbsent(ctx, key, data)
}

func (s *swapped) storage() registry.Storage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files
}

// TestReplacedFiles: a registry that goes on from another revision than the one
// that was read is noticed by the hash of the parent.
func TestReplacedFiles(t *testing.T) {
	one, other := registrytest.NewMemory(), registrytest.NewMemory()
	s := &swapped{files: one}
	r := open(t, s)
	_, err := r.Apply(t.Context(), "demo", request("f"))
	require.NoError(t, err)
	foreign := open(t, other)
	for _, name := range []string{"g", "h"} {
		_, err = foreign.Apply(t.Context(), "demo", request(name))
		require.NoError(t, err)
	}
	s.files = other
	_, err = r.Refresh(t.Context())
	requireCode(t, feature.CodeDataLoss, err)
	require.ErrorContains(t, err, "does not follow")
	_, err = r.Apply(t.Context(), "demo", request("k"))
	requireCode(t, feature.CodeDataLoss, err)
}

// TestReadersWhileWriting reads snapshots while others write: each snapshot is
// whole, and the revisions that a reader sees never go back.
func TestReadersWhileWriting(t *testing.T) {
	s := registrytest.NewMemory()
	r := open(t, s)
	writer := open(t, s)
	const revisions = 30
	errs := make([]error, 5)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range revisions {
			if _, errs[4] = writer.Apply(t.Context(), "demo", request(fmt.Sprintf("f%d", i))); errs[4] != nil {
				return
			}
		}
	})
	for reader := range 4 {
		wg.Go(func() {
			for last := int64(0); last < revisions && errs[reader] == nil; {
				snapshot, err := r.Refresh(t.Context())
				if err != nil {
					errs[reader] = err
					return
				}
				views, _ := snapshot.Views("demo")
				switch now := snapshot.Revision(); {
				case now < last:
					errs[reader] = fmt.Errorf("revision %d after %d", now, last)
				case int64(len(views)) != now:
					errs[reader] = fmt.Errorf("%d views at revision %d", len(views), now)
				default:
					last = now
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
}
