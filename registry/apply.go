package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// Plan compares the wanted definitions with the newest revision. Nothing is
// written. Refused changes are in the plan and no error; definitions that are
// wrong in themselves are CodeInvalidArgument with every fault, and a revision
// other than the expected one is CodeConflict. A project that is not there is
// empty.
func (r *Registry) Plan(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error) {
	base, err := r.Refresh(ctx)
	if err != nil {
		return wire.Plan{}, err
	}
	u := applyUpdate("registry.Plan", project, req)
	if err := checkExpected(u, base); err != nil {
		return wire.Plan{}, err
	}
	p, err := u.propose(base)
	return p.plan, err
}

// Apply makes the wanted definitions current in one new revision, or none if
// they are so already; the plan's To tells. What the request does not name
// stays, unless it prunes. The project is created when it is not there.
//
// Refused changes are CodeFailedPrecondition with a fault for each, and the
// plan is returned beside the error. A revision other than the expected one is
// CodeConflict. Apply may be repeated when its outcome is unknown.
func (r *Registry) Apply(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error) {
	const op = "registry.Apply"
	if err := checkMessage(op, req.Message); err != nil {
		return wire.Plan{}, err
	}
	u := applyUpdate(op, project, req)
	plan := u.propose
	u.propose = func(base *Snapshot) (proposal, error) {
		p, err := plan(base)
		if err != nil {
			return p, err
		}
		return p, refusedError(op, p.plan)
	}
	return r.commit(ctx, u)
}

func applyUpdate(op, project string, req wire.ApplyRequest) update {
	return update{
		op: op, project: project, message: req.Message, expected: req.Expected,
		propose: func(base *Snapshot) (proposal, error) {
			if err := checkProject(op, project, base); err != nil {
				return proposal{}, err
			}
			have := base.state(project)
			want := req.Definitions
			if !req.Prune {
				want = merge(have.definitions(), want)
			}
			if err := want.Validate(); err != nil {
				return proposal{}, &feature.Error{
					Code: feature.CodeInvalidArgument, Op: op, Subject: "project " + project, Faults: feature.FaultsOf(err),
				}
			}
			return propose(base, project, want, have.view, refusals)
		},
	}
}

// checkProject checks the name of a project that may be new.
func checkProject(op, project string, base *Snapshot) error {
	invalid := func(detail string) error {
		return feature.Invalid(op, "project", []feature.Fault{{Field: "project", Detail: detail}})
	}
	if err := feature.CheckName(project); err != nil {
		return invalid(err.Error())
	}
	for _, other := range base.Projects() {
		if other != project && strings.EqualFold(other, project) {
			return invalid("project " + project + " differs from " + other + " only by case")
		}
	}
	return nil
}

// Delete deletes one definition; kind is KindEntity, KindSource, KindView or
// KindService, or its plural. While something refers to it, it is
// CodeFailedPrecondition with a fault for each that does. The id of a deleted
// view is not used again.
func (r *Registry) Delete(ctx context.Context, project, kind, name string, expected *int64) (wire.Plan, error) {
	const op = "registry.Delete"
	kind, err := parseKind(op, kind)
	if err != nil {
		return wire.Plan{}, err
	}
	return r.commit(ctx, update{
		op: op, project: project, message: "delete " + kind + " " + name, expected: expected,
		propose: func(base *Snapshot) (proposal, error) {
			have, err := base.Definitions(project)
			if err != nil {
				return proposal{}, err
			}
			want, found := without(have, kind, name)
			if !found {
				return proposal{}, missing(project, kind, name)
			}
			if faults := referrers(have, kind, name); len(faults) > 0 {
				return proposal{}, &feature.Error{
					Code: feature.CodeFailedPrecondition, Op: op, Subject: kind + " " + project + "/" + name, Faults: faults,
				}
			}
			return propose(base, project, want, base.state(project).view, acceptAll)
		},
	})
}

func parseKind(op, text string) (string, error) {
	for _, kind := range []string{KindEntity, KindSource, KindView, KindService} {
		if text == kind || text == pluralKind(kind) {
			return kind, nil
		}
	}
	return "", feature.Invalid(op, "kind", []feature.Fault{{
		Field: "kind", Detail: text + " is not a kind (expected entity, source, view or service)",
	}})
}

// without returns the definitions less one, and whether it was there.
func without(d feature.Definitions, kind, name string) (rest feature.Definitions, found bool) {
	count := func(d feature.Definitions) int {
		return len(d.Entities) + len(d.Sources) + len(d.Views) + len(d.Services)
	}
	rest = d
	switch kind {
	case KindEntity:
		rest.Entities = slices.DeleteFunc(slices.Clone(d.Entities), func(e feature.Entity) bool { return e.Name == name })
	case KindSource:
		rest.Sources = slices.DeleteFunc(slices.Clone(d.Sources), func(s feature.Source) bool { return s.Name == name })
	case KindView:
		rest.Views = slices.DeleteFunc(slices.Clone(d.Views), func(v feature.View) bool { return v.Name == name })
	case KindService:
		rest.Services = slices.DeleteFunc(slices.Clone(d.Services), func(s feature.Service) bool { return s.Name == name })
	}
	return rest, count(rest) < count(d)
}

// DeleteProject deletes a project with all that it defines. The ids of its
// views are not used again, also not by a project of the same name.
func (r *Registry) DeleteProject(ctx context.Context, project string, expected *int64) (wire.Plan, error) {
	return r.commit(ctx, update{
		op: "registry.DeleteProject", project: project, message: "delete project " + project, expected: expected,
		propose: func(base *Snapshot) (proposal, error) {
			have, err := base.Definitions(project)
			if err != nil {
				return proposal{}, err
			}
			d := differ{}
			d.diff(have, feature.Definitions{})
			plan := d.plan(project, base.Revision(), nil)
			return proposal{plan: plan, nextView: base.file.State.NextView, deletes: true}, nil
		},
	})
}
