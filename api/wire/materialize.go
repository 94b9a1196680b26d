package wire

import "github.com/granary-ml/granary/feature"

// MaterializeRequest starts a materialization.
type MaterializeRequest struct {
	// Views are the views to load; none is every online view.
	Views []string `json:"views,omitempty"`
	// Full loads from the whole table; otherwise what has arrived since the
	// last run is loaded.
	Full bool `json:"full,omitempty"`
	// Start, if given, loads the rows of [Start, End) and leaves what the last
	// run has reached untouched.
	Start *feature.Timestamp `json:"start,omitempty"`
	// End bounds the event timestamps, exclusive; nil or the future is now.
	End *feature.Timestamp `json:"end,omitempty"`
}

// Job is a materialization and how far it is.
type Job struct {
	ID       string             `json:"id"`
	Project  string             `json:"project"`
	State    string             `json:"state"` // running, done, failed, canceled
	Started  feature.Timestamp  `json:"started"`
	Finished *feature.Timestamp `json:"finished,omitempty"`
	Views    []ViewProgress     `json:"views"`
	Error    *Problem           `json:"error,omitempty"`
}

// The states of a job.
const (
	JobRunning  = "running"
	JobDone     = "done"
	JobFailed   = "failed"
	JobCanceled = "canceled"
)

// ViewProgress is how far the materialization of one view is.
type ViewProgress struct {
	View       string            `json:"view"`
	State      string            `json:"state"` // waiting, running, done, failed, canceled
	Version    int64             `json:"version"`
	Through    feature.Timestamp `json:"through"`
	RowsRead   int64             `json:"rows_read"`
	RowsTotal  int64             `json:"rows_total"`
	Written    int64             `json:"written"`
	Superseded int64             `json:"superseded"`
	Seconds    float64           `json:"seconds"`
}
