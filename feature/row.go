package feature

// Row is one row of a view: the values in the order of the view's features.
type Row struct {
	Key     EntityKey
	Event   Timestamp // when it was true
	Created Timestamp // when it became known
	Values  []Value
}

// Version orders the rows of one key: by event timestamp, then by created
// timestamp.
type Version struct {
	Event   Timestamp
	Created Timestamp
}

// Version returns the version of the row.
func (r Row) Version() Version { return Version{Event: r.Event, Created: r.Created} }

// Compare orders versions, older first. Equal versions are told apart only by
// which was written later.
func (v Version) Compare(w Version) int {
	switch {
	case v.Event != w.Event:
		return order(v.Event, w.Event)
	default:
		return order(v.Created, w.Created)
	}
}

func order(a, b Timestamp) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// Newer tells whether a row that is written now replaces the one that is
// there: unless it is older. An equal one replaces, so that a correction lands.
func Newer(written, stored Version) bool { return written.Compare(stored) >= 0 }
