package ingest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// role is what a column of a view's table is for.
type role uint8

const (
	roleKey role = iota
	roleEvent
	roleCreated
	roleFeature
)

// column is a column of a view's table and where it comes from.
type column struct {
	name   string // in the table
	source string // in the input
	typ    feature.Type
	role   role
}

// binding is a view as one request fills it: which columns it takes from the
// inputs, and what it puts where they have none.
type binding struct {
	view    *feature.BoundView
	schema  *arrow.Schema
	columns []column
	csv     feature.CSVOptions
	mapping map[string]string
	skip    bool // rows without a key or event timestamp are only counted
	// exact refuses columns that the view does not have, and lets the created
	// timestamps be absent: what a client sends, it sends for this view.
	exact  bool
	now    feature.Timestamp // when rows are created that do not say it
	latest feature.Timestamp // of the event timestamps that are accepted
}

// bindFiles binds a view to the files of its source.
func bindFiles(v *feature.BoundView, now feature.Timestamp) *binding {
	return bind(v, &v.SourceDef, now)
}

// bindPush binds a view to what clients send. A source that has files tells how
// those are written; only one without says how rows are pushed.
func bindPush(v *feature.BoundView, now, latest feature.Timestamp) *binding {
	source := &feature.Source{}
	if v.SourceDef.Path == "" {
		source = &v.SourceDef
	}
	b := bind(v, source, now)
	b.exact, b.latest = true, latest
	return b
}

func bind(v *feature.BoundView, source *feature.Source, now feature.Timestamp) *binding {
	b := &binding{
		view: v, schema: columns.TableSchema(v), csv: source.CSV, mapping: source.Columns,
		skip: source.Incomplete == feature.IncompleteSkip, now: now, latest: feature.MaxTimestamp,
	}
	from := make(map[string]string, len(source.Columns))
	for column, name := range source.Columns {
		from[name] = column
	}
	add := func(name string, t feature.Type, r role) {
		c := column{name: name, source: name, typ: t, role: r}
		if mapped, ok := from[name]; ok {
			c.source = mapped
		}
		b.columns = append(b.columns, c)
	}
	for _, k := range v.Keys {
		add(k.Name, k.Type, roleKey)
	}
	add(v.EventColumn(), feature.TimestampType, roleEvent)
	add(v.CreatedColumn(), feature.TimestampType, roleCreated)
	for _, f := range v.Features {
		add(f.Name, f.Type, roleFeature)
	}
	return b
}

// taken tells whether a column of the table is read from the inputs at all. A
// static view has no event timestamps, and a view that declares no created
// timestamp gets the time of ingestion.
func (b *binding) taken(c *column) bool {
	switch c.role {
	case roleEvent:
		return !b.view.Static
	case roleCreated:
		return b.view.CreatedTimestamp != ""
	case roleKey, roleFeature:
	}
	return true
}

// optional tells whether an input may lack the column as a whole.
func (b *binding) optional(c *column) bool { return c.role == roleCreated && b.exact }

// members returns which column of the table each member of a JSON row is.
func (b *binding) members() map[string]int {
	out := make(map[string]int, len(b.columns))
	for i := range b.columns {
		if c := &b.columns[i]; b.taken(c) {
			out[c.source] = i
		}
	}
	return out
}

// resolve returns for each column of an input which column of the table it is,
// -1 for none. Its faults are told all at once: a name that stands twice, a
// column that is missing, one that the view does not have.
func (b *binding) resolve(input string, names []string) ([]int, error) {
	var faults []feature.Fault
	bad := func(field, format string, args ...any) {
		faults = append(faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
	for _, name := range twice(names) {
		bad(name, "the column occurs twice")
	}
	for from, to := range b.mapping {
		if slices.Contains(names, from) && from != to && slices.Contains(names, to) && b.mapping[to] == "" {
			bad(to, "both column %s, by the source's mapping, and column %s give it", from, to)
		}
	}
	members := b.members()
	slots := make([]int, len(names))
	found := make([]bool, len(b.columns))
	for i, name := range names {
		k, ok := members[name]
		switch {
		case ok:
			slots[i], found[k] = k, true
		case b.exact:
			bad(name, "%s has no such column (it has %s)", b.view.Subject(), listed(b.sources()))
			slots[i] = -1
		default:
			slots[i] = -1
		}
	}
	for k := range b.columns {
		if c := &b.columns[k]; b.taken(c) && !found[k] && !b.optional(c) {
			bad(c.source, "the column is missing, and %s needs it (found %s)", b.view.Subject(), listed(names))
		}
	}
	if len(faults) > 0 {
		return nil, &feature.Error{Code: feature.CodeInvalidArgument, Op: "ingest", Subject: input, Faults: faults}
	}
	return slots, nil
}

// sources returns the names of the columns that inputs are to have.
func (b *binding) sources() []string {
	var out []string
	for i := range b.columns {
		if b.taken(&b.columns[i]) {
			out = append(out, b.columns[i].source)
		}
	}
	return out
}

// twice returns the names that stand more than once. A column without a name,
// as a delimiter at the end of each line makes, is nobody's.
func twice(names []string) []string {
	seen := make(map[string]int, len(names))
	var out []string
	for _, name := range names {
		if seen[name]++; seen[name] == 2 && name != "" {
			out = append(out, name)
		}
	}
	return out
}

// listed joins names for a message, the first of many.
func listed(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}
