package feature

// View is a table of features about one or more entities.
type View struct {
	Name string `json:"name"`
	// Entities name the entities whose join keys, one after the other, are the
	// key of the view.
	Entities []string  `json:"entities"`
	Features []Feature `json:"features"`
	// TTL is how long a row stays good; 0 is for ever.
	TTL TTL `json:"ttl,omitzero"`
	// Source names where the rows come from; empty for rows that are pushed.
	Source string `json:"source,omitempty"`
	// Static declares a view without a time column: its rows are true since the
	// epoch, and a later ingest of a key replaces.
	Static bool `json:"static,omitempty"`
	// EventTimestamp is the name of the event timestamp column,
	// "event_timestamp" if empty.
	EventTimestamp string `json:"event_timestamp,omitempty"`
	// CreatedTimestamp is the name of the created timestamp column of the
	// source. If empty, rows are created when they are ingested, in a column
	// named "created_timestamp".
	CreatedTimestamp string `json:"created_timestamp,omitempty"`
	// Online says whether the latest rows are served; nil is true.
	Online      *bool             `json:"online,omitempty"`
	Description string            `json:"description,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// Feature is one typed column of a view.
type Feature struct {
	Name        string            `json:"name"`
	Type        Type              `json:"type"`
	Description string            `json:"description,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// Names of the time columns of a view that does not name its own.
const (
	DefaultEventColumn   = "event_timestamp"
	DefaultCreatedColumn = "created_timestamp"
)

// EventColumn returns the name of the event timestamp column of its table.
func (v View) EventColumn() string {
	if v.EventTimestamp == "" {
		return DefaultEventColumn
	}
	return v.EventTimestamp
}

// CreatedColumn returns the name of the created timestamp column of its table.
func (v View) CreatedColumn() string {
	if v.CreatedTimestamp == "" {
		return DefaultCreatedColumn
	}
	return v.CreatedTimestamp
}

// IsOnline tells whether the latest rows are served.
func (v View) IsOnline() bool { return v.Online == nil || *v.Online }

// Index returns the position of a feature, or -1.
func (v View) Index(name string) int {
	for i := range v.Features {
		if v.Features[i].Name == name {
			return i
		}
	}
	return -1
}

// ViewID is the number of a view in every store. The registry gives each view
// its own and never uses one again, also not for a view of the same name.
type ViewID uint32

// BoundView is a view as the registry knows it at a revision. It is what
// stores, ingest and serving take. It is immutable and shared.
type BoundView struct {
	View
	Project string
	ID      ViewID
	// Keys are the join keys of all entities, in order.
	Keys []JoinKey
	// Slots[i] is the place of Features[i] in a packed row. A feature that is
	// added takes the next slot; a slot never changes.
	Slots []int
	// SlotTypes are the types by slot.
	SlotTypes []Type
	// SourceDef is the definition that Source names, or the zero Source.
	SourceDef Source
}

// Columns returns the names of the columns of the view's table, in order: join
// keys, event timestamp, created timestamp, features.
func (v *BoundView) Columns() []string {
	out := make([]string, 0, len(v.Keys)+2+len(v.Features))
	for _, k := range v.Keys {
		out = append(out, k.Name)
	}
	out = append(out, v.EventColumn(), v.CreatedColumn())
	for _, f := range v.Features {
		out = append(out, f.Name)
	}
	return out
}

// Subject returns how messages name the view.
func (v *BoundView) Subject() string { return "view " + v.Project + "/" + v.Name }
