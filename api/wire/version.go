package wire

// Version is what /version answers.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
}

// Health is what /healthz and /readyz answer when all is well.
type Health struct {
	Status string `json:"status"` // ok
}
