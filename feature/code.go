package feature

// Code is the kind of an error: what the caller can do about it. The set is
// closed and survives the wire.
type Code uint8

// The codes, with their HTTP status.
const (
	CodeInternal             Code = iota // 500: a fault of ours
	CodeInvalidArgument                  // 400: the request is wrong
	CodeUnauthenticated                  // 401
	CodePermissionDenied                 // 403
	CodeNotFound                         // 404: a name, never an entity
	CodeAlreadyExists                    // 409: put-if-absent found something
	CodeConflict                         // 409: somebody else was first; read again and retry
	CodeFailedPrecondition               // 412: the state forbids it
	CodeTooLarge                         // 413: beyond a limit, which the message names
	CodeUnsupportedMediaType             // 415: a format we do not read
	CodeResourceExhausted                // 429: a quota, or a full disk
	CodeDataLoss                         // 500: stored bytes are damaged
	CodeUnavailable                      // 503: a store does not answer; retry
	CodeDeadlineExceeded                 // 504
	CodeCanceled                         // 499: the caller went away
)

var codeNames = [...]string{
	CodeInternal: "internal", CodeInvalidArgument: "invalid_argument", CodeUnauthenticated: "unauthenticated",
	CodePermissionDenied: "permission_denied", CodeNotFound: "not_found", CodeAlreadyExists: "already_exists",
	CodeConflict: "conflict", CodeFailedPrecondition: "failed_precondition", CodeTooLarge: "too_large",
	CodeUnsupportedMediaType: "unsupported_media_type", CodeResourceExhausted: "resource_exhausted",
	CodeDataLoss: "data_loss", CodeUnavailable: "unavailable", CodeDeadlineExceeded: "deadline_exceeded",
	CodeCanceled: "canceled",
}

var codeStatus = [...]int{
	CodeInternal: 500, CodeInvalidArgument: 400, CodeUnauthenticated: 401, CodePermissionDenied: 403,
	CodeNotFound: 404, CodeAlreadyExists: 409, CodeConflict: 409, CodeFailedPrecondition: 412, CodeTooLarge: 413,
	CodeUnsupportedMediaType: 415, CodeResourceExhausted: 429, CodeDataLoss: 500, CodeUnavailable: 503,
	CodeDeadlineExceeded: 504, CodeCanceled: 499,
}

// String returns the code as it stands on the wire, such as "not_found".
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return codeNames[CodeInternal]
}

// HTTPStatus returns the HTTP status of the code.
func (c Code) HTTPStatus() int {
	if int(c) < len(codeStatus) {
		return codeStatus[c]
	}
	return codeStatus[CodeInternal]
}

// ParseCode returns the code of a name on the wire; an unknown name is
// CodeInternal and false.
func ParseCode(name string) (Code, bool) {
	for c, n := range codeNames {
		if n == name {
			return Code(c), true
		}
	}
	return CodeInternal, false
}
