package online

import "github.com/granary-ml/granary/feature"

// Status tells what became of one value of a lookup.
type Status uint8

// The statuses, in the order in which they are asked: a row that is not there,
// one that is too old, a null in one that is neither.
const (
	Present       Status = iota // there is a value
	NullValue                   // the row is there and good, and holds a null
	NotFound                    // there is no row of that entity
	OutsideMaxAge               // the row is older than the view's TTL; its value is null
)

var statusNames = [...]string{
	Present: "PRESENT", NullValue: "NULL_VALUE", NotFound: "NOT_FOUND", OutsideMaxAge: "OUTSIDE_MAX_AGE",
}

// String returns the status as it stands on the wire, such as "NOT_FOUND".
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "INVALID"
}

// StatusOf returns the status of one slot of a packed row (nil: no row) for a
// reader at the given time under the view's TTL, both ends inclusive.
func StatusOf(packed []byte, slot int, ttl feature.TTL, at feature.Timestamp) Status {
	switch {
	case packed == nil:
		return NotFound
	case !ttl.Covers(eventOf(packed), at):
		return OutsideMaxAge
	case IsNull(packed, slot):
		return NullValue
	}
	return Present
}

// AgeMicros returns how old a row of that event timestamp is at the given time,
// in microseconds: a time.Duration ends at 292 years. It is never negative: a
// row that is dated a little ahead of the clock counts as now.
func AgeMicros(event, at feature.Timestamp) int64 { return max(0, int64(at)-int64(event)) }
