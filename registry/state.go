package registry

import (
	"math"

	"github.com/granary-ml/granary/feature"
)

// state is what the registry holds at a revision.
type state struct {
	// NextView is the id that the next view gets. It only grows, which is what
	// keeps ids from being used again.
	NextView feature.ViewID           `json:"next_view"`
	Projects map[string]*projectState `json:"projects"`
}

// projectState is what one project defines, each list ordered by name.
type projectState struct {
	Entities []feature.Entity  `json:"entities,omitempty"`
	Sources  []feature.Source  `json:"sources,omitempty"`
	Views    []viewState       `json:"views,omitempty"`
	Services []feature.Service `json:"services,omitempty"`
}

// viewState is a view with what the stores know it by.
type viewState struct {
	ID feature.ViewID `json:"id"`
	// Slots are the places in the packed row. They outlive their features: one
	// that a rollback takes away and a later apply brings back finds its values.
	Slots      []slot       `json:"slots"`
	Definition feature.View `json:"definition"`
}

type slot struct {
	Name string       `json:"name"`
	Type feature.Type `json:"type"`
}

// definitions returns what the project defines; of a nil project, nothing.
func (p *projectState) definitions() feature.Definitions {
	if p == nil {
		return feature.Definitions{}
	}
	d := feature.Definitions{Entities: p.Entities, Sources: p.Sources, Services: p.Services}
	for i := range p.Views {
		d.Views = append(d.Views, p.Views[i].Definition)
	}
	return d
}

// view returns the state of a view, or nil.
func (p *projectState) view(name string) *viewState {
	if p == nil {
		return nil
	}
	for i := range p.Views {
		if p.Views[i].Definition.Name == name {
			return &p.Views[i]
		}
	}
	return nil
}

func (v *viewState) slotOf(name string) int {
	for i := range v.Slots {
		if v.Slots[i].Name == name {
			return i
		}
	}
	return -1
}

// settle gives the views of the wanted definitions their ids and slots. A view
// for which keep returns a state goes on with its id and slots and gets more
// slots at the end; any other takes an id from next.
func settle(want feature.Definitions, keep keeper, next feature.ViewID) (*projectState, feature.ViewID, error) {
	want = want.Sorted()
	p := &projectState{Entities: want.Entities, Sources: want.Sources, Services: want.Services}
	for i := range want.Views {
		definition := want.Views[i]
		v := viewState{Definition: definition}
		if kept := keep(definition.Name); kept != nil {
			v.ID = kept.ID
			v.Slots = append(v.Slots, kept.Slots...)
		} else {
			if next == math.MaxUint32 {
				return nil, 0, feature.Errorf(feature.CodeResourceExhausted, "", "view "+definition.Name, "no view id is left")
			}
			v.ID = next
			next++
		}
		for _, f := range definition.Features {
			if v.slotOf(f.Name) < 0 {
				v.Slots = append(v.Slots, slot{Name: f.Name, Type: f.Type})
			}
		}
		p.Views = append(p.Views, v)
	}
	return p, next, nil
}
