package wire

// HistoricalOptions are the parameters of a point-in-time retrieval; the spine
// travels beside them. Either Features or Service is given.
type HistoricalOptions struct {
	Features []string `json:"features,omitempty"`
	Service  string   `json:"service,omitempty"`
	// TimeColumn names the spine's time column, "event_timestamp" if empty.
	TimeColumn string `json:"time_column,omitempty"`
	// FullNames names feature columns view__feature.
	FullNames bool `json:"full_names,omitempty"`
	// KnownAt leaves out rows that were created after the spine's time.
	KnownAt bool `json:"known_at,omitempty"`
	AsOf    AsOf `json:"as_of,omitzero"`
}

// HistoricalRequest is the JSON body of a retrieval whose spine is small enough
// to be JSON: columns of one length.
type HistoricalRequest struct {
	HistoricalOptions
	Spine map[string][]RawValue `json:"spine"`
}
