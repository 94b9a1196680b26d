package wire

import "github.com/granary-ml/granary/feature"

// ApplyRequest asks to plan or apply definitions.
type ApplyRequest struct {
	Definitions feature.Definitions `json:"definitions"`
	// Expected is the revision that the definitions were made against; nil is
	// whatever is current.
	Expected *int64 `json:"expected_revision,omitempty"`
	// Prune deletes what the definitions do not hold.
	Prune   bool   `json:"prune,omitempty"`
	Message string `json:"message,omitempty"`
}

// Plan is the difference between what is defined and what is wanted.
type Plan struct {
	Project  string   `json:"project"`
	From     int64    `json:"from_revision"`
	To       int64    `json:"to_revision"` // equal to From if nothing changes or it was only planned
	Changes  []Change `json:"changes"`
	Refusals []Change `json:"refusals,omitempty"`
	// Patch is the difference as text, a line each, as a person reads it.
	Patch string `json:"patch"`
}

// Change is one difference.
type Change struct {
	Action string `json:"action"` // create, update, delete
	Kind   string `json:"kind"`   // entity, source, view, service
	Name   string `json:"name"`
	Field  string `json:"field,omitempty"`
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	// Reason and WayOut stand in a refusal.
	Reason string `json:"reason,omitempty"`
	WayOut string `json:"way_out,omitempty"`
}

// Revision is one entry of the registry's history.
type Revision struct {
	Revision int64             `json:"revision"`
	Time     feature.Timestamp `json:"time"`
	Project  string            `json:"project"`
	Message  string            `json:"message,omitempty"`
	Changes  []Change          `json:"changes"`
}

// ViewInfo is a view with what the stores hold of it.
type ViewInfo struct {
	feature.View
	ID       feature.ViewID    `json:"id"`
	JoinKeys []feature.JoinKey `json:"join_keys"`
	// Table is the path of the view's Delta table under the storage root.
	Table string `json:"table"`
}
