package onlinetest

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestReference(t *testing.T) {
	Run(t, func(testing.TB) online.Store { return NewReference() })
}

// TestFaultsLetThrough holds the wrapper to the contract while it has no faults.
func TestFaultsLetThrough(t *testing.T) {
	Run(t, func(testing.TB) online.Store { return NewFaults(NewReference(), 1) })
}

func TestFaultsEveryCall(t *testing.T) {
	v := counter(t, 1)
	for _, after := range []bool{false, true} {
		f := NewFaults(NewReference(), 1, Fault{After: after, Code: feature.CodeResourceExhausted})
		errs := everyCall(t, t.Context(), f, v)
		for name, err := range errs {
			require.Equal(t, feature.CodeResourceExhausted, feature.CodeOf(err), name)
		}
		require.Equal(t, len(errs), f.Made())
		f.Set()
		for name, err := range everyCall(t, t.Context(), f, v) {
			require.NoError(t, err, name)
		}
	}
}

// TestFaultsBeforeAndAfter: a fault before the effect leaves nothing, one after
// it leaves all, and both tell the same.
func TestFaultsBeforeAndAfter(t *testing.T) {
	v := counter(t, 1)
	f := NewFaults(NewReference(), 1, Fault{Op: "Write", View: 1, Nth: 1}, Fault{Op: "Write", View: 1, Nth: 2, After: true})
	for i, want := range []int64{none, 7} {
		_, err := f.Write(t.Context(), v.ID, []online.Row{v.count(t, 1, 1, 7)})
		require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
		require.Equal(t, []int64{want}, v.counts(t, f, 1))
		require.Equal(t, i+1, f.Made())
	}
	write(t, f, 2, v.count(t, 1, 1, 7)) // another view
	write(t, f, 1, v.count(t, 1, 1, 7)) // a third call
}

func TestFaultsProbability(t *testing.T) {
	f := NewFaults(NewReference(), 1, Fault{Op: "Ping", Probability: 0.5})
	failed := 0
	for range 1000 {
		if f.Ping(t.Context()) != nil {
			failed++
		}
	}
	require.Equal(t, failed, f.Made())
	require.InDelta(t, 500, failed, 60)
}
