package serving

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// scratch is what one lookup needs beside its answer. It is used again by the
// next one, so that the memory of a lookup does not depend on its size.
type scratch struct {
	parser  parser
	planKey []byte

	plan    *plan
	include include
	now     feature.Timestamp
	n       int // entity rows

	columns []keyColumn // by plan.keys
	groups  []groupKeys // by plan.groups
	arena   []byte      // where composite keys are put together
	lookups []online.Lookup
	rows    online.Rows
	cells   []cell     // by view, then by row
	times   []viewText // by view
}

// groupKeys are the entity keys of a request for one key group.
type groupKeys struct {
	keys []feature.EntityKey
	at   []int // the key of each row, -1 where a join key is null; nil: the row's own
}

// cell is what the store holds of one entity in one view.
type cell struct {
	packed []byte
	event  feature.Timestamp
	status online.Status // Present: there is a row and it is good
}

// viewText is what all columns of a view answer alike.
type viewText struct {
	events []byte // the elements of "event_timestamp"
	ages   []byte // the elements of "age_seconds"
}

// maxScratchBytes is how large the buffers may be that are kept for the next
// lookup.
const maxScratchBytes = 4 << 20

// reusable tells whether the scratch is small enough to be kept.
func (k *scratch) reusable() bool {
	size := cap(k.arena) + cap(k.planKey) + 48*cap(k.cells)
	for i := range k.columns {
		size += cap(k.columns[i].encoded) + cap(k.columns[i].text) + 8*cap(k.columns[i].ends)
	}
	for i := range k.times {
		size += cap(k.times[i].events) + cap(k.times[i].ages)
	}
	return size <= maxScratchBytes
}

// forget drops what belongs to the lookup that has ended.
func (k *scratch) forget() {
	k.plan = nil
	clear(k.cells)
	clear(k.lookups)
	for i := range k.groups {
		clear(k.groups[i].keys)
	}
}

// grow returns s with length n, its elements kept for use again.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		s = append(s[:cap(s)], make([]T, n-cap(s))...)
	}
	return s[:n]
}

// readKeys reads the entities of a request for the plan. What is wrong with
// them is told all at once.
func (k *scratch) readKeys(p *plan, entities jsontext.Value) []feature.Fault {
	k.columns = grow(k.columns, len(p.keys))
	for i := range k.columns {
		k.columns[i].reset()
	}
	var faults []feature.Fault
	fault := func(name, format string, args ...any) {
		faults = append(faults, feature.Fault{Field: name, Detail: fmt.Sprintf(format, args...)})
	}
	if entities != nil {
		members := objectOf(entities)
		for {
			name, value, ok := members.member()
			if !ok {
				break
			}
			i := p.keyOf(name)
			switch {
			case i < 0:
				text, _ := unquote(name)
				fault("entities."+clip([]byte(text)), "not a join key of what is asked for (expected %s)", keyNames(p.keys))
			case value.Kind() != '[':
				k.columns[i].given = true
				fault("entities."+p.keys[i].Name, "a JSON %s where a JSON array is expected", kindName(value.Kind()))
			default:
				faults = append(faults, k.columns[i].read(p.keys[i], value)...)
			}
		}
	}
	for i, key := range p.keys {
		if !k.columns[i].given {
			fault("entities."+key.Name, "join key %s is missing", key.Name)
		}
	}
	if len(faults) > 0 {
		return faults
	}
	return k.countRows(p)
}

func (p *plan) keyOf(name jsontext.Value) int {
	for i := range p.keys {
		if isString(name, p.keys[i].Name) {
			return i
		}
	}
	return -1
}

// countRows sets the number of entity rows: that of every join key, or one
// where there is none.
func (k *scratch) countRows(p *plan) []feature.Fault {
	k.n = 1
	if len(k.columns) > 0 {
		k.n = k.columns[0].rows
	}
	var faults []feature.Fault
	for i := range k.columns {
		if rows := k.columns[i].rows; rows != k.n {
			faults = append(faults, feature.Fault{
				Field:  "entities." + p.keys[i].Name,
				Detail: fmt.Sprintf("%d values where %s has %d", rows, p.keys[0].Name, k.n),
			})
		}
	}
	return faults
}

// buildKeys makes the entity keys of every group.
func (k *scratch) buildKeys(p *plan) []feature.Fault {
	k.groups = grow(k.groups, len(p.groups))
	var faults []feature.Fault
	for i := range p.groups {
		g := &k.groups[i]
		g.keys, g.at = g.keys[:0], nil
		if len(p.groups[i].columns) == 1 {
			k.singleKeys(g, &k.columns[p.groups[i].columns[0]])
			continue
		}
		faults = append(faults, k.compositeKeys(g, p.groups[i].columns)...)
	}
	return faults
}

// singleKeys makes keys of one column: slices of one string.
func (k *scratch) singleKeys(g *groupKeys, c *keyColumn) {
	all := feature.EntityKey(c.encoded)
	if c.nulls != nil {
		g.at = make([]int, k.n)
	}
	start := 0
	for row, end := range c.ends {
		if c.null(row) {
			g.at[row] = -1
			continue
		}
		if g.at != nil {
			g.at[row] = len(g.keys)
		}
		g.keys = append(g.keys, all[start:end])
		start = end
	}
}

// compositeKeys puts the columns together row by row. A row with a null in it
// has no key.
func (k *scratch) compositeKeys(g *groupKeys, columns []int) []feature.Fault {
	k.arena = k.arena[:0]
	g.at = make([]int, k.n)
	ends := make([]int, 0, k.n)
	var faults []feature.Fault
	for row := range k.n {
		if k.anyNull(columns, row) {
			g.at[row] = -1
			continue
		}
		start := len(k.arena)
		for _, c := range columns {
			k.arena = append(k.arena, k.columns[c].segment(row)...)
		}
		if len(k.arena)-start > feature.MaxEntityKeyBytes && len(faults) < maxFaults {
			faults = append(faults, feature.Fault{Field: fmt.Sprintf("entities[%d]", row), Detail: errKeyTooLarge.Error()})
		}
		g.at[row] = len(ends)
		ends = append(ends, len(k.arena))
	}
	all, start := feature.EntityKey(k.arena), 0
	for _, end := range ends {
		g.keys = append(g.keys, all[start:end])
		start = end
	}
	return faults
}

func (k *scratch) anyNull(columns []int, row int) bool {
	for _, c := range columns {
		if k.columns[c].null(row) {
			return true
		}
	}
	return false
}
