package registry

import (
	"fmt"

	"github.com/granary-ml/granary/feature"
)

// Select resolves what a request asks for: the features of a service, or a list
// of references "view:feature", in order. Either is given, not both. Every
// fault is told at once: a name that is not there is CodeNotFound; where a
// reference cannot be read or is given twice as well, CodeInvalidArgument.
func (s *Snapshot) Select(project, service string, refs []string) (feature.Selection, error) {
	p, err := s.project(project)
	if err != nil {
		return feature.Selection{}, err
	}
	sel := selector{project: p, seen: map[feature.Ref]int{}}
	sel.out.Revision = s.Revision()
	switch {
	case service != "" && len(refs) > 0:
		sel.invalid("features", "features and a service are both given (expected one of them)")
	case service != "":
		sel.service(service)
	case len(refs) == 0:
		sel.invalid("features", "neither features nor a service is given (expected one of them)")
	default:
		sel.refs(refs)
	}
	if len(sel.faults) > 0 {
		return feature.Selection{}, &feature.Error{Code: sel.code, Subject: "project " + project, Faults: sel.faults}
	}
	return sel.out, nil
}

// selector collects a selection and its faults.
type selector struct {
	project *project
	seen    map[feature.Ref]int
	out     feature.Selection
	faults  []feature.Fault
	code    feature.Code
}

func (s *selector) invalid(field, format string, args ...any) {
	s.code = feature.CodeInvalidArgument
	s.faults = append(s.faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
}

func (s *selector) missing(field, format string, args ...any) {
	if len(s.faults) == 0 {
		s.code = feature.CodeNotFound
	}
	s.faults = append(s.faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
}

func (s *selector) refs(refs []string) {
	for i, text := range refs {
		field := fmt.Sprintf("features[%d]", i)
		ref, err := feature.ParseRef(text)
		if err != nil {
			s.invalid(field, "%v", err)
			continue
		}
		if first, twice := s.seen[ref]; twice {
			s.invalid(field, "%s is given twice, at %d and %d", ref, first, i)
			continue
		}
		s.seen[ref] = i
		s.add(field, ref, "")
	}
}

func (s *selector) service(name string) {
	i, ok := s.project.serviceAt[name]
	if !ok {
		s.missing("service", "there is no service %s", name)
		return
	}
	for j, item := range s.project.definitions.Services[i].Features {
		field := fmt.Sprintf("services[%s].features[%d]", name, j)
		at, ok := s.project.viewAt[item.View]
		if !ok {
			s.missing(field, "there is no view %s", item.View)
			continue
		}
		for _, ref := range item.Refs(&s.project.definitions.Views[at]) {
			s.add(field, ref, item.As)
		}
	}
}

func (s *selector) add(field string, ref feature.Ref, as string) {
	i, ok := s.project.viewAt[ref.View]
	if !ok {
		s.missing(field, "there is no view %s", ref.View)
		return
	}
	view := s.project.views[i]
	index := view.Index(ref.Feature)
	if index < 0 {
		s.missing(field, "view %s has no feature %s", ref.View, ref.Feature)
		return
	}
	s.out.Features = append(s.out.Features, feature.SelectedFeature{View: view, Index: index, As: as})
}
