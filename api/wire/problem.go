package wire

import (
	"errors"
	"net/http"

	"github.com/granary-ml/granary/feature"
)

// Problem is an error on the wire: application/problem+json of RFC 9457.
type Problem struct {
	Type      string          `json:"type"` // always about:blank
	Title     string          `json:"title"`
	Status    int             `json:"status"`
	Code      string          `json:"code"`
	Detail    string          `json:"detail"`
	Subject   string          `json:"subject,omitempty"`
	Errors    []feature.Fault `json:"errors,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
}

// ProblemMediaType is the media type of a Problem.
const ProblemMediaType = "application/problem+json"

// Err returns the error that the problem tells of, equal to the server's in
// code, subject, faults and text.
func (p *Problem) Err() error {
	code, _ := feature.ParseCode(p.Code)
	e := &feature.Error{Code: code, Subject: p.Subject, Faults: p.Errors}
	if len(p.Errors) == 0 {
		e.Err = errors.New(p.Detail)
	}
	return e
}

// NewProblem tells of an error. What is behind a fault of ours (5xx) stays in
// the log: the caller gets its code, its subject and the request id to ask for.
func NewProblem(err error, requestID string) *Problem {
	code := feature.CodeOf(err)
	p := &Problem{
		Type: "about:blank", Status: code.HTTPStatus(), Code: code.String(),
		Detail: err.Error(), RequestID: requestID,
	}
	if p.Title = http.StatusText(p.Status); p.Title == "" {
		p.Title = "Canceled"
	}
	if e, ok := errors.AsType[*feature.Error](err); ok {
		p.Detail, p.Subject = e.Detail(), e.Subject
		p.Errors = feature.FaultsOf(err)
	}
	if hidden := hiddenDetail(code); hidden != "" {
		p.Detail, p.Errors = hidden, nil
	}
	return p
}

// hiddenDetail is what is said of a fault of ours; empty for a caller's.
func hiddenDetail(code feature.Code) string {
	switch code {
	case feature.CodeInternal:
		return "a fault of the server; its log tells more under the request id"
	case feature.CodeDataLoss:
		return "stored bytes are damaged; the server's log tells more under the request id"
	case feature.CodeUnavailable:
		return "a store does not answer; retry"
	case feature.CodeDeadlineExceeded:
		return "it took longer than it may"
	case feature.CodeCanceled:
		return "canceled"
	case feature.CodeInvalidArgument, feature.CodeUnauthenticated, feature.CodePermissionDenied, feature.CodeNotFound,
		feature.CodeAlreadyExists, feature.CodeConflict, feature.CodeFailedPrecondition, feature.CodeTooLarge,
		feature.CodeUnsupportedMediaType, feature.CodeResourceExhausted:
	}
	return ""
}
