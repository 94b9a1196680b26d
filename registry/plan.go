package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// The actions of a change.
const (
	ActionCreate = "create"
	ActionUpdate = "update"
	ActionDelete = "delete"
)

// merge returns the wanted definitions on top of those that are there: what is
// named in want replaces, what is not named stays. Names that want gives twice
// come out twice, for Validate to tell.
func merge(have, want feature.Definitions) feature.Definitions {
	return feature.Definitions{
		Entities: mergeBy(have.Entities, want.Entities, func(e feature.Entity) string { return e.Name }),
		Sources:  mergeBy(have.Sources, want.Sources, func(s feature.Source) string { return s.Name }),
		Views:    mergeBy(have.Views, want.Views, func(v feature.View) string { return v.Name }),
		Services: mergeBy(have.Services, want.Services, func(s feature.Service) string { return s.Name }),
	}
}

func mergeBy[T any](have, want []T, name func(T) string) []T {
	named := make(map[string]bool, len(want))
	for i := range want {
		named[name(want[i])] = true
	}
	out := make([]T, 0, len(have)+len(want))
	for i := range have {
		if !named[name(have[i])] {
			out = append(out, have[i])
		}
	}
	return append(out, want...)
}

// differ compares the definitions of a project and prints the difference.
type differ struct {
	// replaced are views that keep their name and nothing else: the old one is
	// deleted and a new one is created.
	replaced map[string]bool
	changes  []wire.Change
	patch    strings.Builder
}

// diff adds all changes that lead from have to want, ordered by kind and name.
func (d *differ) diff(have, want feature.Definitions) {
	from, to := objectsOf(have), objectsOf(want)
	for len(from) > 0 || len(to) > 0 {
		switch first := firstOf(from, to); {
		case first < 0:
			d.remove(&from[0])
			from = from[1:]
		case first > 0:
			d.create(&to[0])
			to = to[1:]
		default:
			if to[0].kind == KindView && d.replaced[to[0].name] {
				d.remove(&from[0])
				d.create(&to[0])
			} else {
				d.update(&from[0], &to[0])
			}
			from, to = from[1:], to[1:]
		}
	}
}

// firstOf compares the heads of two ordered lists; an empty list comes last.
func firstOf(from, to []object) int {
	switch {
	case len(from) == 0:
		return 1
	case len(to) == 0:
		return -1
	}
	return cmp.Or(
		cmp.Compare(kindRank(from[0].kind), kindRank(to[0].kind)),
		cmp.Compare(from[0].name, to[0].name))
}

func kindRank(kind string) int {
	return slices.Index([]string{KindEntity, KindSource, KindView, KindService}, kind)
}

func (d *differ) printf(format string, args ...any) { fmt.Fprintf(&d.patch, format, args...) }

func (d *differ) create(o *object) {
	d.changes = append(d.changes, wire.Change{Action: ActionCreate, Kind: o.kind, Name: o.name})
	d.printf("+ %s %s\n", o.kind, o.name)
	for _, f := range o.fields {
		d.printf("+     %s: %s\n", f.name, f.text)
	}
}

func (d *differ) remove(o *object) {
	d.changes = append(d.changes, wire.Change{Action: ActionDelete, Kind: o.kind, Name: o.name})
	d.printf("- %s %s\n", o.kind, o.name)
}

func (d *differ) update(from, to *object) {
	before := len(d.changes)
	change := func(name, was, is string) {
		if len(d.changes) == before {
			d.printf("~ %s %s\n", to.kind, to.name)
		}
		d.changes = append(d.changes, wire.Change{
			Action: ActionUpdate, Kind: to.kind, Name: to.name, Field: name, From: was, To: is,
		})
		for _, line := range [...]struct{ sign, text string }{{"-", was}, {"+", is}} {
			if line.text != "" {
				d.printf("%s     %s: %s\n", line.sign, name, line.text)
			}
		}
	}
	for _, f := range from.fields {
		if is := to.text(f.name); is != f.text {
			change(f.name, f.text, is)
		}
	}
	for _, f := range to.fields {
		if from.text(f.name) == "" {
			change(f.name, "", f.text)
		}
	}
	if was, is := commonFeatures(from, to), commonFeatures(to, from); was != is {
		change("features", was, is)
	}
}

// commonFeatures lists the features of a view that another one has as well, in
// their order: what differs between the two is a new order.
func commonFeatures(o, other *object) string {
	if o.kind != KindView {
		return ""
	}
	var names []string
	for _, f := range o.fields {
		if name, ok := featureField(f.name); ok && other.text(f.name) != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// featureField returns the name of the feature whose type a field of a view
// is.
func featureField(field string) (string, bool) {
	name, ok := strings.CutPrefix(field, "features.")
	return name, ok && !strings.Contains(name, ".")
}

// plan returns the difference as a plan, with its refusals at the end of the
// patch.
func (d *differ) plan(project string, revision int64, refusals []wire.Change) wire.Plan {
	for i := range refusals {
		r := &refusals[i]
		d.printf("! %s %s %s: %s → %s is refused: %s; %s\n", r.Kind, r.Name, r.Field, orNone(r.From), orNone(r.To), r.Reason, r.WayOut)
	}
	p := wire.Plan{Project: project, From: revision, To: revision, Changes: d.changes, Refusals: refusals, Patch: d.patch.String()}
	if p.Changes == nil {
		p.Changes = []wire.Change{} // a list on the wire, never null
	}
	return p
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
