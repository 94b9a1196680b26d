package feature

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Error is what a caller can act on: a code, the operation that failed, what
// it was about, and why. It reads "op subject: why".
type Error struct {
	Code    Code
	Op      string  // such as "registry.Apply"; may be empty
	Subject string  // such as "view weather"; may be empty
	Err     error   // why; may be nil when Faults say it
	Faults  []Fault // every fault of a request, for CodeInvalidArgument
}

// Fault is one thing that is wrong with what a caller gave.
type Fault struct {
	Field  string `json:"field"`  // where, such as "views[2].ttl" or "entities.driver_id[1]"
	Detail string `json:"detail"` // what, and what was expected
}

// String returns "field: detail".
func (f Fault) String() string {
	if f.Field == "" {
		return f.Detail
	}
	return f.Field + ": " + f.Detail
}

// Errorf makes an error of a code, an operation and a subject; the rest is as
// in fmt.Errorf, %w included.
func Errorf(code Code, op, subject, format string, args ...any) *Error {
	return &Error{Code: code, Op: op, Subject: subject, Err: fmt.Errorf(format, args...)}
}

// Invalid makes an invalid_argument error of faults; without faults it is nil.
// The result is an error, not an *Error, so that nil stays nil.
func Invalid(op, subject string, faults []Fault) error {
	if len(faults) == 0 {
		return nil
	}
	return &Error{Code: CodeInvalidArgument, Op: op, Subject: subject, Faults: faults}
}

// Error returns the message on one line; faults are joined by "; ".
func (e *Error) Error() string {
	head := strings.TrimSpace(e.Op + " " + e.Subject)
	why := e.Detail()
	if head == "" {
		return why
	}
	return head + ": " + why
}

// Detail returns why, without the operation and the subject.
func (e *Error) Detail() string {
	parts := make([]string, 0, len(e.Faults)+1)
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	for _, f := range e.Faults {
		parts = append(parts, f.String())
	}
	if len(parts) == 0 {
		return e.Code.String()
	}
	return strings.Join(parts, "; ")
}

// Unwrap returns why.
func (e *Error) Unwrap() error { return e.Err }

// CodeOf returns the code of the first *Error in err's tree; a context's end is
// CodeCanceled or CodeDeadlineExceeded; anything else is CodeInternal.
func CodeOf(err error) Code {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Code
	case errors.Is(err, context.Canceled):
		return CodeCanceled
	case errors.Is(err, context.DeadlineExceeded):
		return CodeDeadlineExceeded
	}
	return CodeInternal
}

// FaultsOf returns the faults of the first *Error in err's tree.
func FaultsOf(err error) []Fault {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Faults
	}
	return nil
}
