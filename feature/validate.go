package feature

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Validate tells every fault of the definitions at once, as an
// invalid_argument error whose faults name their place: "views[weather].ttl".
func (d Definitions) Validate() error {
	v := validator{entities: map[string]*Entity{}, sources: map[string]*Source{}, views: map[string]*View{}}
	v.entityDefs(d.Entities)
	v.sourceDefs(d.Sources)
	v.viewDefs(d.Views)
	v.serviceDefs(d.Services)
	return Invalid("", "definitions", v.faults)
}

type validator struct {
	faults   []Fault
	entities map[string]*Entity
	sources  map[string]*Source
	views    map[string]*View
}

func (v *validator) fault(field, format string, args ...any) {
	v.faults = append(v.faults, Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// about checks the texts that every definition has.
func (v *validator) about(field, description, owner string, tags map[string]string) {
	v.text(field+".description", description)
	v.text(field+".owner", owner)
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		v.text(field+".tags", key)
		v.text(field+".tags["+key+"]", tags[key])
	}
}

func (v *validator) text(field string, texts ...string) {
	if slices.ContainsFunc(texts, func(s string) bool { return !ValidText(s) }) {
		v.fault(strings.ToValidUTF8(field, "\uFFFD"), "%v", errUTF8)
	}
}

// scope is a set of names that must not differ only by case.
type scope map[string]string

// name checks a name and that it is new to the scope; what says what it is.
func (v *validator) name(s scope, field, what, name string) {
	if err := CheckName(name); err != nil {
		v.fault(field, "%v", err)
		return
	}
	folded := strings.ToLower(name)
	other, taken := s[folded]
	switch {
	case taken && other == name:
		v.fault(field, "%s %s is defined twice", what, name)
	case taken:
		v.fault(field, "%s %s differs from %s only by case", what, name, other)
	default:
		s[folded] = name
	}
}

func (v *validator) entityDefs(entities []Entity) {
	names := scope{}
	for i := range entities {
		e := &entities[i]
		field := "entities[" + e.Name + "]"
		v.name(names, field+".name", "entity", e.Name)
		v.about(field, e.Description, e.Owner, e.Tags)
		v.entities[e.Name] = e
		if len(e.JoinKeys) == 0 {
			v.fault(field+".join_keys", "an entity needs at least one join key")
		}
		keys := scope{}
		for _, k := range e.JoinKeys {
			at := field + ".join_keys[" + k.Name + "]"
			v.name(keys, at+".name", "join key", k.Name)
			if !k.Type.CanBeKey() {
				v.fault(at+".type", "%s cannot be a join key (expected int32, int64, string, bytes, bool or timestamp)", k.Type)
			}
		}
	}
}

func (v *validator) sourceDefs(sources []Source) {
	names := scope{}
	for i := range sources {
		s := &sources[i]
		field := "sources[" + s.Name + "]"
		v.name(names, field+".name", "source", s.Name)
		v.about(field, s.Description, s.Owner, s.Tags)
		v.text(field+".path", s.Path)
		v.sources[s.Name] = s
		switch s.Format {
		case FormatByName, FormatCSV, FormatNDJSON, FormatJSON, FormatParquet, FormatArrow:
		default:
			v.fault(field+".format", "%q is not a format (expected csv, ndjson, json, parquet or arrow)", s.Format)
		}
		switch s.Incomplete {
		case IncompleteDefault, IncompleteReject, IncompleteSkip:
		default:
			v.fault(field+".incomplete", "%q is not a choice (expected reject or skip)", s.Incomplete)
		}
		v.text(field+".csv", append([]string{s.CSV.Delimiter, s.CSV.Quote}, s.CSV.Nulls...)...)
		v.csvOptions(field+".csv", s.CSV)
		v.columnMap(field+".columns", s.Columns)
	}
}

func (v *validator) csvOptions(field string, o CSVOptions) {
	if o.Delimiter != "" && (utf8.RuneCountInString(o.Delimiter) != 1 || strings.ContainsAny(o.Delimiter, "\r\n\"")) {
		v.fault(field+".delimiter", "%q is not a delimiter (expected one character)", o.Delimiter)
	}
	if o.Quote != "" && o.Quote != "none" && (len(o.Quote) != 1 || strings.ContainsAny(o.Quote, "\r\n")) {
		v.fault(field+".quote", "%q is not a quote (expected one ASCII character, or none)", o.Quote)
	}
	if o.Quote != "" && o.Quote == o.Delimiter {
		v.fault(field+".quote", "the quote and the delimiter are the same")
	}
}

func (v *validator) columnMap(field string, columns map[string]string) {
	to := map[string]string{}
	for _, from := range slices.Sorted(maps.Keys(columns)) {
		v.text(field, from)
		name := columns[from]
		if err := CheckName(name); err != nil {
			v.fault(field+"["+from+"]", "%v", err)
		}
		if other, taken := to[name]; taken {
			v.fault(field, "columns %s and %s are both mapped to %s", other, from, name)
		}
		to[name] = from
	}
}

func (v *validator) viewDefs(views []View) {
	names := scope{}
	for i := range views {
		w := &views[i]
		field := "views[" + w.Name + "]"
		v.name(names, field+".name", "view", w.Name)
		v.about(field, w.Description, w.Owner, w.Tags)
		v.views[w.Name] = w
		if w.Source != "" && v.sources[w.Source] == nil {
			v.fault(field+".source", "there is no source %s", w.Source)
		}
		v.ttl(field+".ttl", w)
		if w.Static && w.EventTimestamp != "" {
			v.fault(field+".static", "a static view has no event timestamp column, and this one names %s", w.EventTimestamp)
		}
		v.viewColumns(field, w)
	}
}

func (v *validator) ttl(field string, w *View) {
	switch {
	case w.TTL < 0:
		v.fault(field, "a TTL is not negative")
	case time.Duration(w.TTL)%time.Microsecond != 0:
		v.fault(field, "a TTL is not finer than a microsecond")
	case w.Static && w.TTL != 0:
		v.fault(field, "the rows of a static view are true since the epoch: a TTL would hide them all")
	}
}

// viewColumns checks the one scope of a view's table: keys, time columns and
// features.
func (v *validator) viewColumns(field string, w *View) {
	columns := scope{}
	if len(w.Entities) == 0 {
		v.fault(field+".entities", "a view needs at least one entity")
	}
	for _, name := range w.Entities {
		entity := v.entities[name]
		if entity == nil {
			v.fault(field+".entities", "there is no entity %s", name)
			continue
		}
		for _, k := range entity.JoinKeys {
			v.name(columns, field+".entities["+name+"]", "column", k.Name)
		}
	}
	v.name(columns, field+".event_timestamp", "column", w.EventColumn())
	v.name(columns, field+".created_timestamp", "column", w.CreatedColumn())
	if len(w.Features) == 0 {
		v.fault(field+".features", "a view needs at least one feature")
	}
	for _, f := range w.Features {
		at := field + ".features[" + f.Name + "]"
		v.name(columns, at+".name", "column", f.Name)
		v.featureType(at+".type", f.Type)
		v.about(at, f.Description, "", f.Tags)
	}
}

func (v *validator) featureType(field string, t Type) {
	switch {
	case t.Kind == KindInvalid || int(t.Kind) >= len(kindNames):
		v.fault(field, "a type is missing")
	case t.Dim > 0 && (t.List || t.Kind != KindFloat32 || t.Dim > MaxVectorDim):
		v.fault(field, "%s is not a vector of 1 to %d float32", t, MaxVectorDim)
	}
}

func (v *validator) serviceDefs(services []Service) {
	names := scope{}
	for i := range services {
		s := &services[i]
		field := "services[" + s.Name + "]"
		v.name(names, field+".name", "service", s.Name)
		v.about(field, s.Description, s.Owner, s.Tags)
		if len(s.Features) == 0 {
			v.fault(field+".features", "a service needs at least one feature")
		}
		v.serviceItems(field, s)
	}
}

func (v *validator) serviceItems(field string, s *Service) {
	refs := map[Ref]bool{}
	names := scope{}
	for i, item := range s.Features {
		at := fmt.Sprintf("%s.features[%d]", field, i)
		view := v.views[item.View]
		switch {
		case view == nil:
			v.fault(at, "there is no view %s", item.View)
			continue
		case item.Feature != "" && view.Index(item.Feature) < 0:
			v.fault(at, "view %s has no feature %s", item.View, item.Feature)
			continue
		case item.Feature == "" && item.As != "":
			v.fault(at, "only one feature can be renamed, not all of view %s", item.View)
		}
		for _, ref := range item.Refs(view) {
			if refs[ref] {
				v.fault(at, "feature %s is selected twice", ref)
			}
			refs[ref] = true
		}
		if item.As != "" {
			v.name(names, at+".as", "name", item.As)
		}
	}
}

// Refs returns the features that the item selects of its view.
func (i ServiceItem) Refs(view *View) []Ref {
	if i.Feature != "" {
		return []Ref{{View: view.Name, Feature: i.Feature}}
	}
	refs := make([]Ref, 0, len(view.Features))
	for _, f := range view.Features {
		refs = append(refs, Ref{View: view.Name, Feature: f.Name})
	}
	return refs
}
