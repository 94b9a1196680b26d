package feature

// Entity is what features are about: a driver, an airport, a pair of both. Its
// join keys, in order, tell one from another.
type Entity struct {
	Name        string            `json:"name"`
	JoinKeys    []JoinKey         `json:"join_keys"`
	Description string            `json:"description,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// JoinKey is a typed column that identifies an entity: int32, int64, string,
// bytes, bool or timestamp.
type JoinKey struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
}
