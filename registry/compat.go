package registry

import (
	"fmt"
	"slices"
	"strings"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// The stored rows of a view, offline and online, were written under its join
// keys, its time columns and the types of its features. A change is compatible
// when these rows go on meaning what they said:
//
//	added features                    old rows give null for them
//	TTL, online, source               take effect at once, rows stay as they are
//	description, owner, tags, order   say nothing about rows
//	services                          hold no rows
//
// Everything else is refused with the reason and the way out, which is always
// some new name: nothing that was stored is reinterpreted or dropped on the
// quiet.

// refusals returns those of the changes that the stored rows would not survive.
func refusals(have *projectState, want feature.Definitions, changes []wire.Change) []wire.Change {
	var out []wire.Change
	for i := range changes {
		c := changes[i]
		if c.Action != ActionUpdate {
			continue
		}
		var reason, wayOut string
		switch c.Kind {
		case KindEntity:
			reason, wayOut = refuseEntity(have, want, c)
		case KindView:
			reason, wayOut = refuseView(have.view(c.Name), c)
		}
		if reason != "" {
			c.Reason, c.WayOut = reason, wayOut
			out = append(out, c)
		}
	}
	return out
}

// refuseEntity refuses other join keys while a view that stays has rows under
// the old ones.
func refuseEntity(have *projectState, want feature.Definitions, c wire.Change) (reason, wayOut string) {
	if c.Field != "join_keys" {
		return "", ""
	}
	var users []string
	for i := range want.Views {
		name := want.Views[i].Name
		if v := have.view(name); v != nil && slices.Contains(v.Definition.Entities, c.Name) {
			users = append(users, name)
		}
	}
	if len(users) == 0 {
		return "", ""
	}
	return "the rows of " + plural("view", users) + " are stored under the old join keys",
		"make a new entity and new views of it"
}

func refuseView(stored *viewState, c wire.Change) (reason, wayOut string) {
	const newView = "make a new view"
	switch c.Field {
	case "entities":
		return "the rows are stored under the join keys of the old entities", newView
	case "static", "event_timestamp":
		return "the rows are stored with the old event timestamps", newView
	case "created_timestamp":
		if columnOr(c.From) == columnOr(c.To) {
			return "", ""
		}
		return "the rows are stored with the old created timestamp column", newView
	}
	name, ok := featureField(c.Field)
	if !ok {
		return "", ""
	}
	if c.To == "" {
		return "a feature is not removed from a view, services and readers may ask for it", newView + " without it"
	}
	return refuseSlot(stored, name, c)
}

// refuseSlot refuses a feature whose name has rows of another type, also when a
// rollback took the feature itself away.
func refuseSlot(stored *viewState, name string, c wire.Change) (reason, wayOut string) {
	for _, s := range stored.Slots {
		switch {
		case !strings.EqualFold(s.Name, name):
		case s.Name != name:
			return fmt.Sprintf("the stored rows have a feature %s, which differs only by case", s.Name), "take another name"
		case s.Type.String() != c.To:
			return fmt.Sprintf("the stored rows have it as %s", s.Type), "add a feature under another name, or make a new view"
		}
	}
	return "", ""
}

func columnOr(created string) string {
	return feature.View{CreatedTimestamp: created}.CreatedColumn()
}

func plural(noun string, names []string) string {
	if len(names) == 1 {
		return noun + " " + names[0]
	}
	return noun + "s " + strings.Join(names, ", ")
}

// refusalFaults returns refusals as the faults of an error.
func refusalFaults(refusals []wire.Change) []feature.Fault {
	faults := make([]feature.Fault, 0, len(refusals))
	for i := range refusals {
		r := &refusals[i]
		faults = append(faults, feature.Fault{
			Field:  fmt.Sprintf("%s[%s].%s", pluralKind(r.Kind), r.Name, r.Field),
			Detail: fmt.Sprintf("%s → %s is refused: %s; %s", orNone(r.From), orNone(r.To), r.Reason, r.WayOut),
		})
	}
	return faults
}

// referrers returns a fault for each definition that refers to another one.
func referrers(d feature.Definitions, kind, name string) []feature.Fault {
	var faults []feature.Fault
	add := func(format string, args ...any) {
		faults = append(faults, feature.Fault{
			Field:  fmt.Sprintf(format, args...),
			Detail: fmt.Sprintf("refers to the %s: change or delete it first", kind),
		})
	}
	for i := range d.Views {
		v := &d.Views[i]
		if kind == KindEntity && slices.Contains(v.Entities, name) {
			add("views[%s].entities", v.Name)
		}
		if kind == KindSource && v.Source == name {
			add("views[%s].source", v.Name)
		}
	}
	for i := range d.Services {
		s := &d.Services[i]
		for j, item := range s.Features {
			if kind == KindView && item.View == name {
				add("services[%s].features[%d]", s.Name, j)
			}
		}
	}
	return faults
}

// pluralKind returns a kind as it stands in definitions and in paths.
func pluralKind(kind string) string {
	if kind == KindEntity {
		return "entities"
	}
	return kind + "s"
}
