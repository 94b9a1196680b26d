package wire

import "github.com/granary-ml/granary/feature"

// PushOptions say how pushed rows are taken.
type PushOptions struct {
	// Online and Offline say where the rows go; neither is both.
	Online  bool
	Offline bool
	// IdempotencyKey makes a repeated batch land once.
	IdempotencyKey string
	// Strict refuses the whole batch if one row is rejected.
	Strict bool
}

// PushResult counts the rows of a push. Every accepted row is durable where it
// was sent.
type PushResult struct {
	Accepted   int64      `json:"accepted"`
	Superseded int64      `json:"superseded"` // accepted, but a newer row is served
	Rejected   []Rejected `json:"rejected"`
	// Version is the version of the view's table that holds the rows, -1 if
	// they did not go offline. A read that asks for it sees them.
	Version int64 `json:"version"`
	// Repeated tells that the idempotency key had landed before.
	Repeated bool `json:"repeated,omitempty"`
}

// Rejected is a row that was not accepted.
type Rejected struct {
	Row    int64  `json:"row"`
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
}

// EraseRequest names the entities whose rows are erased, online and offline,
// by columns as in OnlineRequest.
type EraseRequest struct {
	Entities map[string][]RawValue `json:"entities"`
}

// EraseResult counts what was erased.
type EraseResult struct {
	Entities    int64 `json:"entities"`     // asked for
	OnlineRows  int64 `json:"online_rows"`  // removed from the online store
	OfflineRows int64 `json:"offline_rows"` // removed from the newest version of the table
	Version     int64 `json:"version"`      // of the table afterwards, -1 if there is none
}

// ExportOptions select the rows of a bulk export. The zero value is all of the
// newest version.
type ExportOptions struct {
	Columns  []string
	Interval feature.Interval // of event timestamps; the zero Interval is all
	Entities map[string][]RawValue
	AsOf     AsOf
	Shard    int // 0 ≤ Shard < Shards
	Shards   int // 0 is one
}

// AsOf pins a read to a table version or a commit time; the zero value is the
// newest version. At most one field is set.
type AsOf struct {
	Version *int64             `json:"version,omitempty"`
	Time    *feature.Timestamp `json:"time,omitempty"`
}
