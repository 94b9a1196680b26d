package wire

import (
	"errors"

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
