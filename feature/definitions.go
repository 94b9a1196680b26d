package feature

import (
	"cmp"
	"slices"
)

// Definitions are all that one project defines. They are one model with three
// spellings: Go literals, YAML and JSON. The order of the lists means nothing.
type Definitions struct {
	Entities []Entity  `json:"entities,omitempty"`
	Sources  []Source  `json:"sources,omitempty"`
	Views    []View    `json:"views,omitempty"`
	Services []Service `json:"services,omitempty"`
}

// Merge returns the definitions of both, in order; names given twice are told
// by Validate.
func (d Definitions) Merge(more Definitions) Definitions {
	return Definitions{
		Entities: slices.Concat(d.Entities, more.Entities),
		Sources:  slices.Concat(d.Sources, more.Sources),
		Views:    slices.Concat(d.Views, more.Views),
		Services: slices.Concat(d.Services, more.Services),
	}
}

// Sorted returns the definitions with each list ordered by name: their
// canonical form.
func (d Definitions) Sorted() Definitions {
	return Definitions{
		Entities: sortedBy(d.Entities, func(e Entity) string { return e.Name }),
		Sources:  sortedBy(d.Sources, func(s Source) string { return s.Name }),
		Views:    sortedBy(d.Views, func(v View) string { return v.Name }),
		Services: sortedBy(d.Services, func(s Service) string { return s.Name }),
	}
}

func sortedBy[T any](in []T, name func(T) string) []T {
	out := slices.Clone(in)
	slices.SortStableFunc(out, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	return out
}
