package wire

import "github.com/granary-ml/granary/feature"

// ProjectList are the projects of a registry.
type ProjectList struct {
	Projects []string `json:"projects"`
	Revision int64    `json:"revision"`
}

// ProjectInfo is what one project defines.
type ProjectInfo struct {
	Project     string              `json:"project"`
	Revision    int64               `json:"revision"`
	Definitions feature.Definitions `json:"definitions"`
}

// EntityList are the entities of a project, by name.
type EntityList struct {
	Entities []feature.Entity `json:"entities"`
	Revision int64            `json:"revision"`
}

// SourceList are the sources of a project, by name.
type SourceList struct {
	Sources  []feature.Source `json:"sources"`
	Revision int64            `json:"revision"`
}

// ViewList are the views of a project, by name.
type ViewList struct {
	Views    []ViewInfo `json:"views"`
	Revision int64      `json:"revision"`
}

// ServiceList are the services of a project, by name.
type ServiceList struct {
	Services []feature.Service `json:"services"`
	Revision int64             `json:"revision"`
}

// RevisionList is the history of a project, newest first.
type RevisionList struct {
	Revisions []Revision `json:"revisions"`
}

// RollbackRequest asks to make the definitions of an older revision current
// again, as a new revision.
type RollbackRequest struct {
	Revision int64 `json:"revision"`
	// Expected is the revision that the caller believes is current; nil is
	// whatever is.
	Expected *int64 `json:"expected_revision,omitempty"`
}

// JobList are the materializations that a server remembers, newest first.
type JobList struct {
	Materializations []Job `json:"materializations"`
}
