package registry

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/granary-ml/granary/feature"
)

// The kinds of definitions, as they stand in a plan.
const (
	KindEntity  = "entity"
	KindSource  = "source"
	KindView    = "view"
	KindService = "service"
)

// object is one definition taken apart into named texts, so that any two of a
// kind are compared, printed and judged in one way. A field that has its
// default, or none, is left out: to spell a default is no change.
type object struct {
	kind, name string
	fields     []field
}

type field struct{ name, text string }

func (o *object) add(name, text string) {
	if text != "" {
		o.fields = append(o.fields, field{name, text})
	}
}

func (o *object) addMap(name string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		// Quoted, so that an empty text is not taken for none.
		o.add(name+"."+k, strconv.Quote(m[k]))
	}
}

// addAbout adds what every definition has.
func (o *object) addAbout(description, owner string, tags map[string]string) {
	o.add("description", description)
	o.add("owner", owner)
	o.addMap("tags", tags)
}

func (o *object) text(name string) string {
	for _, f := range o.fields {
		if f.name == name {
			return f.text
		}
	}
	return ""
}

// objectsOf takes all definitions apart: entities, sources, views, services,
// each ordered by name.
func objectsOf(d feature.Definitions) []object {
	d = d.Sorted()
	out := make([]object, 0, len(d.Entities)+len(d.Sources)+len(d.Views)+len(d.Services))
	for i := range d.Entities {
		out = append(out, entityObject(&d.Entities[i]))
	}
	for i := range d.Sources {
		out = append(out, sourceObject(&d.Sources[i]))
	}
	for i := range d.Views {
		out = append(out, viewObject(&d.Views[i]))
	}
	for i := range d.Services {
		out = append(out, serviceObject(&d.Services[i]))
	}
	return out
}

func entityObject(e *feature.Entity) object {
	o := object{kind: KindEntity, name: e.Name}
	o.add("join_keys", keysText(e.JoinKeys))
	o.addAbout(e.Description, e.Owner, e.Tags)
	return o
}

func keysText(keys []feature.JoinKey) string {
	parts := make([]string, 0, len(keys))
	for _, k := range keys {
		parts = append(parts, k.Name+" "+k.Type.String())
	}
	return strings.Join(parts, ", ")
}

func sourceObject(s *feature.Source) object {
	o := object{kind: KindSource, name: s.Name}
	o.add("path", s.Path)
	o.add("format", string(s.Format))
	if s.CSV.Delimiter != "" && s.CSV.Delimiter != "," {
		o.add("csv.delimiter", strconv.Quote(s.CSV.Delimiter))
	}
	if s.CSV.Quote != "" && s.CSV.Quote != `"` {
		o.add("csv.quote", s.CSV.Quote)
	}
	nulls := make([]string, 0, len(s.CSV.Nulls))
	for _, n := range s.CSV.Nulls {
		nulls = append(nulls, strconv.Quote(n))
	}
	o.add("csv.nulls", strings.Join(nulls, ", "))
	o.addMap("columns", s.Columns)
	if s.Incomplete != feature.IncompleteReject {
		o.add("incomplete", string(s.Incomplete))
	}
	o.addAbout(s.Description, s.Owner, s.Tags)
	return o
}

func viewObject(v *feature.View) object {
	o := object{kind: KindView, name: v.Name}
	o.add("entities", strings.Join(v.Entities, ", "))
	for i := range v.Features {
		f := &v.Features[i]
		at := "features." + f.Name
		o.add(at, f.Type.String())
		o.add(at+".description", f.Description)
		o.addMap(at+".tags", f.Tags)
	}
	if v.TTL != 0 {
		o.add("ttl", v.TTL.String())
	}
	o.add("source", v.Source)
	if v.Static {
		o.add("static", "true")
	}
	if v.EventColumn() != feature.DefaultEventColumn {
		o.add("event_timestamp", v.EventColumn())
	}
	o.add("created_timestamp", v.CreatedTimestamp)
	if !v.IsOnline() {
		o.add("online", "false")
	}
	o.addAbout(v.Description, v.Owner, v.Tags)
	return o
}

func serviceObject(s *feature.Service) object {
	o := object{kind: KindService, name: s.Name}
	items := make([]string, 0, len(s.Features))
	for _, item := range s.Features {
		items = append(items, item.String())
	}
	o.add("features", strings.Join(items, ", "))
	o.addAbout(s.Description, s.Owner, s.Tags)
	return o
}
