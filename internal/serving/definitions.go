package serving

import (
	"context"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/registry"
)

// Plan tells what Apply would change.
func (s *Service) Plan(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error) {
	return s.registry.Plan(ctx, project, req)
}

// Apply changes the definitions of a project. Rows of views that it deletes
// leave the online store.
func (s *Service) Apply(ctx context.Context, project string, req wire.ApplyRequest) (wire.Plan, error) {
	plan, err := s.registry.Apply(ctx, project, req)
	return s.changed(ctx, plan, err)
}

// Rollback makes the definitions of an older revision current again, as a new
// revision.
func (s *Service) Rollback(ctx context.Context, project string, revision int64, expected *int64) (wire.Plan, error) {
	plan, err := s.registry.Rollback(ctx, project, revision, expected)
	return s.changed(ctx, plan, err)
}

// Delete deletes one definition; kind is entity, source, view or service. It
// is refused while another definition refers to it.
func (s *Service) Delete(ctx context.Context, project, kind, name string, expected *int64) (wire.Plan, error) {
	plan, err := s.registry.Delete(ctx, project, kind, name, expected)
	return s.changed(ctx, plan, err)
}

// DeleteProject deletes all definitions of a project.
func (s *Service) DeleteProject(ctx context.Context, project string, expected *int64) (wire.Plan, error) {
	plan, err := s.registry.DeleteProject(ctx, project, expected)
	return s.changed(ctx, plan, err)
}

// changed removes what is online of views that a change has deleted. The
// change has landed, and an id is never used again, so nobody can see these
// rows: what fails here costs space only, and is logged.
func (s *Service) changed(ctx context.Context, plan wire.Plan, err error) (wire.Plan, error) {
	if err != nil || plan.From == plan.To {
		return plan, err
	}
	ctx = context.WithoutCancel(ctx) // the caller may go, the rows must
	before, err := s.registry.At(ctx, plan.From)
	if err != nil {
		s.log.WarnContext(ctx, "rows of deleted views are left online", "project", plan.Project, "error", err)
		return plan, nil
	}
	after := viewIDs(s.registry.Snapshot(), plan.Project)
	for id, v := range viewIDs(before, plan.Project) {
		if _, still := after[id]; !still {
			s.dropOnline(ctx, v)
		}
	}
	return plan, nil
}

// viewIDs returns the views of a project, which need not exist.
func viewIDs(snap *registry.Snapshot, project string) map[feature.ViewID]*feature.BoundView {
	out := map[feature.ViewID]*feature.BoundView{}
	views, err := snap.Views(project)
	if err != nil {
		return out
	}
	for _, v := range views {
		out[v.ID] = v
	}
	return out
}

func (s *Service) dropOnline(ctx context.Context, v *feature.BoundView) {
	if err := s.online.DeleteView(ctx, v.ID); err != nil {
		s.log.WarnContext(ctx, "rows of a deleted view are left online", "view", v.Name, "project", v.Project, "view_id", v.ID, "error", err)
	}
}

// dropIfGone removes rows that were written online while their view was being
// deleted.
func (s *Service) dropIfGone(ctx context.Context, v *feature.BoundView) {
	now, err := s.view(v.Project, v.Name)
	if err == nil && now.ID == v.ID || err != nil && feature.CodeOf(err) != feature.CodeNotFound {
		return
	}
	s.dropOnline(context.WithoutCancel(ctx), v)
}

// Projects lists the projects by name, and the revision of the registry.
func (s *Service) Projects(_ context.Context) ([]string, int64, error) {
	snap := s.registry.Snapshot()
	return snap.Projects(), snap.Revision(), nil
}

// Definitions returns what a project defines, and the revision of the registry.
func (s *Service) Definitions(_ context.Context, project string) (feature.Definitions, int64, error) {
	snap := s.registry.Snapshot()
	d, err := snap.Definitions(project)
	return d, snap.Revision(), err
}

// Entity returns an entity.
func (s *Service) Entity(_ context.Context, project, name string) (feature.Entity, error) {
	return s.registry.Snapshot().Entity(project, name)
}

// Source returns a source.
func (s *Service) Source(_ context.Context, project, name string) (feature.Source, error) {
	return s.registry.Snapshot().Source(project, name)
}

// FeatureService returns a feature service.
func (s *Service) FeatureService(_ context.Context, project, name string) (feature.Service, error) {
	return s.registry.Snapshot().Service(project, name)
}

// View returns a view with its id, its join keys and its table.
func (s *Service) View(_ context.Context, project, name string) (wire.ViewInfo, error) {
	v, err := s.view(project, name)
	if err != nil {
		return wire.ViewInfo{}, err
	}
	return viewInfo(v), nil
}

// Views lists the views of a project by name, and the revision of the registry.
func (s *Service) Views(_ context.Context, project string) (wire.ViewList, error) {
	snap := s.registry.Snapshot()
	views, err := snap.Views(project)
	if err != nil {
		return wire.ViewList{}, err
	}
	out := wire.ViewList{Views: make([]wire.ViewInfo, 0, len(views)), Revision: snap.Revision()}
	for _, v := range views {
		out.Views = append(out.Views, viewInfo(v))
	}
	return out, nil
}

func viewInfo(v *feature.BoundView) wire.ViewInfo {
	return wire.ViewInfo{View: v.View, ID: v.ID, JoinKeys: v.Keys, Table: offline.TablePath(v)}
}

// History lists the revisions of a project, newest first.
func (s *Service) History(ctx context.Context, project string) ([]wire.Revision, error) {
	return s.registry.History(ctx, project)
}
