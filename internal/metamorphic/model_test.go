package metamorphic

import (
	"math"
	"slices"

	"github.com/granary-ml/granary/feature"
)

// row is one row of the view f(k; v, s).
type row struct {
	key            int64
	event, created feature.Timestamp
	v              int64
	null           bool // v is null
}

func (r row) version() feature.Version { return feature.Version{Event: r.event, Created: r.created} }

// model is the rule and a list of rows. No two rows of it share key, event and
// created timestamp, so the order of writing decides nothing; ties have tests
// of their own.
type model struct {
	ttl    feature.TTL
	rows   []row
	online map[int64]row
}

// write is a row reaching the online store.
func (m *model) write(r row) {
	stored, ok := m.online[r.key]
	if !ok || feature.Newer(r.version(), stored.version()) {
		m.online[r.key] = r
	}
}

// materialize loads what is true before end.
func (m *model) materialize(end feature.Timestamp) {
	for _, r := range m.rows {
		if r.event < end {
			m.write(r)
		}
	}
}

func (m *model) erase(key int64) {
	delete(m.online, key)
	m.rows = slices.DeleteFunc(m.rows, func(r row) bool { return r.key == key })
}

// join is the point-in-time rule by its words: the newest row of the key with
// t − TTL ≤ event ≤ t and, with knownAt, created ≤ t.
func (m *model) join(key int64, t feature.Timestamp, knownAt bool) (row, bool) {
	var best row
	found := false
	oldest := feature.Timestamp(math.MinInt64)
	if m.ttl > 0 {
		oldest = t - feature.Timestamp(m.ttl/1000)
	}
	for _, r := range m.rows {
		if r.key != key || r.event < oldest || r.event > t || knownAt && r.created > t {
			continue
		}
		if !found || feature.Newer(r.version(), best.version()) {
			best, found = r, true
		}
	}
	return best, found
}

// lookup is what the online store answers at t.
func (m *model) lookup(key int64, t feature.Timestamp) string {
	r, ok := m.online[key]
	switch {
	case !ok:
		return "null NOT_FOUND"
	case m.ttl > 0 && r.event < t-feature.Timestamp(m.ttl/1000):
		return "null OUTSIDE_MAX_AGE"
	case r.null:
		return "null NULL_VALUE"
	}
	return feature.Int64Value(r.v).String() + " PRESENT"
}

// joined is what the join prints.
func (m *model) joined(key int64, t feature.Timestamp, knownAt bool) string {
	r, ok := m.join(key, t, knownAt)
	if !ok || r.null {
		return "null"
	}
	return feature.Int64Value(r.v).String()
}
