package wire

import (
	"github.com/granary-ml/granary/feature"
)

// OnlineRequest asks for the latest values of features. Either Features or
// Service is given. Every list of Entities has one length.
type OnlineRequest struct {
	Features []string              `json:"features,omitempty"`
	Service  string                `json:"service,omitempty"`
	Entities map[string][]RawValue `json:"entities"`
	Include  []string              `json:"include,omitempty"`
}

// What a request may include beside the values.
const (
	IncludeStatus         = "status"
	IncludeEventTimestamp = "event_timestamp"
	IncludeAge            = "age"
)

// OnlineResponse answers by column: first the join keys, then the features in
// request order, each aligned with the entities of the request.
type OnlineResponse struct {
	Columns  []Column `json:"columns"`
	Revision int64    `json:"revision"`
}

// Column is one column of an answer. Status, EventTimestamp and AgeSeconds are
// there when they were asked for, and never for join keys.
type Column struct {
	Name           string               `json:"name"`
	Values         []RawValue           `json:"values"`
	Status         []string             `json:"status,omitempty"`
	EventTimestamp []*feature.Timestamp `json:"event_timestamp,omitempty"`
	AgeSeconds     []*float64           `json:"age_seconds,omitempty"`
}
