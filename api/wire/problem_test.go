package wire_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// What a caller can act on comes back equal: code, subject, faults, text.
func TestProblemOfACallersFault(t *testing.T) {
	for _, err := range []*feature.Error{
		{Code: feature.CodeNotFound, Op: "op", Subject: "view p/v", Err: errors.New("there is no such view")},
		{Code: feature.CodeInvalidArgument, Op: "op", Subject: "lookup", Faults: []feature.Fault{{Field: "a", Detail: "x"}, {Field: "b", Detail: "y"}}},
		{Code: feature.CodeConflict, Err: errors.New("somebody else was first")},
	} {
		p := wire.NewProblem(fmt.Errorf("around: %w", err), "id")
		require.Equal(t, err.Code.HTTPStatus(), p.Status)
		require.Equal(t, "about:blank", p.Type)
		require.NotEmpty(t, p.Title)
		require.Equal(t, "id", p.RequestID)
		var back *feature.Error
		require.ErrorAs(t, p.Err(), &back)
		require.Equal(t, err.Code, back.Code)
		require.Equal(t, err.Subject, back.Subject)
		require.Equal(t, err.Faults, back.Faults)
		require.Equal(t, err.Detail(), back.Detail())
	}
}

func TestProblemOfOurOwnFault(t *testing.T) {
	for _, err := range []error{
		errors.New("password=secret"), context.DeadlineExceeded, context.Canceled,
		feature.Errorf(feature.CodeUnavailable, "op", "view p/v", "secret"),
		&feature.Error{Code: feature.CodeDataLoss, Faults: []feature.Fault{{Field: "secret", Detail: "secret"}}},
	} {
		p := wire.NewProblem(err, "")
		require.NotContains(t, p.Detail, "secret")
		require.Empty(t, p.Errors)
		require.NotEmpty(t, p.Title)
		require.Equal(t, feature.CodeOf(err), feature.CodeOf(p.Err()))
	}
}

func TestProblemOfAnUnknownCode(t *testing.T) {
	p := wire.Problem{Code: "of_the_future", Detail: "x"}
	require.Equal(t, feature.CodeInternal, feature.CodeOf(p.Err()))
}
