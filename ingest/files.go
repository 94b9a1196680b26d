package ingest

import (
	"context"
	"errors"

	"github.com/granary-ml/granary/feature"
)

// FileRequest asks to bring files into a view.
type FileRequest struct {
	View *feature.BoundView
	// Inputs are files, globs, folders or prefixes ending in "/", local or by
	// URL. Empty: the path of the view's source.
	Inputs []string
	// BaseDir is what relative local inputs are relative to; empty is the
	// working directory.
	BaseDir string
	// Format is how the inputs are written. Empty: that of the view's source,
	// else by the name of each input.
	Format feature.Format
	// Strict refuses all inputs if one row is rejected.
	Strict bool
	// IdempotencyKey makes the request land once.
	IdempotencyKey string
	// DeadLetters is the path of the file that gets the rejected rows, one JSON
	// object a line. It is written only if there is one, and replaces what lies
	// there. Empty: rejected rows are only counted.
	DeadLetters string
	// Progress, if given, is called from the calling goroutine after each batch.
	Progress func(Progress)
}

// Summary is what became of a FileRequest.
type Summary struct {
	View     string `json:"view"`
	Files    int    `json:"files"`
	Read     int64  `json:"rows_read"`
	Accepted int64  `json:"accepted"`
	Rejected int64  `json:"rejected"`
	// Skipped counts rows without a key or an event timestamp where the source
	// says that these are skipped.
	Skipped int64 `json:"skipped"`
	// Version is the version of the view's table that holds the rows, -1 if
	// there is no table.
	Version     int64   `json:"version"`
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"`
	DeadLetters string  `json:"dead_letters,omitempty"`
	// Repeated tells that the idempotency key had landed before, and nothing
	// was read.
	Repeated bool `json:"repeated,omitempty"`
	// Rejections are the first of the rejections, MaxRejections at most.
	Rejections []Rejection `json:"rejections,omitempty"`
}

// MaxRejections is the most rejections that a summary or an error tells; the
// dead letters have all.
const MaxRejections = 20

// Rejection tells why a row was not accepted. A row with several faults has one
// for each.
type Rejection struct {
	Source string `json:"source"`
	// Row counts the records of the source from 1; a header is not one.
	Row int64 `json:"row"`
	// Line is the line that the record begins in, from 1; 0 where the source
	// has no lines.
	Line int64 `json:"line,omitempty"`
	// Field is the column of the view, empty if it is the whole row.
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
	// Record is the row as it stood in the source, in its first rejection, where
	// the source is text; RecordBytes (base64) if it is not UTF-8.
	Record      string `json:"record,omitempty"`
	RecordBytes []byte `json:"record_bytes,omitempty"`
}

// Files brings files into the table of a view by one commit. On an error, or
// when ctx ends, nothing has landed.
func (i *Ingester) Files(_ context.Context, _ FileRequest) (Summary, error) {
	return Summary{}, errors.ErrUnsupported
}
