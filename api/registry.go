package api

import (
	"context"
	"net/http"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

func (s *Server) listProjects(ctx context.Context, w *answer, _ *http.Request) error {
	projects, revision, err := s.service.Projects(ctx)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.ProjectList{Projects: projects, Revision: revision})
}

func (s *Server) getProject(ctx context.Context, w *answer, r *http.Request) error {
	project := pathVars(r)["project"]
	d, revision, err := s.service.Definitions(ctx, project)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.ProjectInfo{Project: project, Revision: revision, Definitions: d})
}

func (s *Server) deleteProject(ctx context.Context, w *answer, r *http.Request) error {
	expected, err := wire.ParseExpectedQuery(r.URL.Query())
	if err != nil {
		return err
	}
	plan, err := s.service.DeleteProject(ctx, pathVars(r)["project"], expected)
	return writePlan(w, plan, err)
}

// deletes handles the deletion of a definition of a kind.
func deletes(kind string) handler {
	return func(s *Server, ctx context.Context, w *answer, r *http.Request) error {
		expected, err := wire.ParseExpectedQuery(r.URL.Query())
		if err != nil {
			return err
		}
		v := pathVars(r)
		plan, err := s.service.Delete(ctx, v["project"], kind, v["name"], expected)
		return writePlan(w, plan, err)
	}
}

func (s *Server) plan(ctx context.Context, w *answer, r *http.Request) error {
	var req wire.ApplyRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	plan, err := s.service.Plan(ctx, pathVars(r)["project"], req)
	return writePlan(w, plan, err)
}

func (s *Server) apply(ctx context.Context, w *answer, r *http.Request) error {
	var req wire.ApplyRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	plan, err := s.service.Apply(ctx, pathVars(r)["project"], req)
	return writePlan(w, plan, err)
}

func (s *Server) rollback(ctx context.Context, w *answer, r *http.Request) error {
	var req wire.RollbackRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	plan, err := s.service.Rollback(ctx, pathVars(r)["project"], req.Revision, req.Expected)
	return writePlan(w, plan, err)
}

func writePlan(w *answer, plan wire.Plan, err error) error {
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, plan)
}

func (s *Server) listRevisions(ctx context.Context, w *answer, r *http.Request) error {
	revisions, err := s.service.History(ctx, pathVars(r)["project"])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.RevisionList{Revisions: revisions})
}

// list answers one kind of the definitions of a project.
func (s *Server) list(ctx context.Context, w *answer, r *http.Request, pick func(feature.Definitions, int64) any) error {
	d, revision, err := s.service.Definitions(ctx, pathVars(r)["project"])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, pick(d, revision))
}

func (s *Server) listEntities(ctx context.Context, w *answer, r *http.Request) error {
	return s.list(ctx, w, r, func(d feature.Definitions, revision int64) any {
		return wire.EntityList{Entities: d.Entities, Revision: revision}
	})
}

func (s *Server) listSources(ctx context.Context, w *answer, r *http.Request) error {
	return s.list(ctx, w, r, func(d feature.Definitions, revision int64) any {
		return wire.SourceList{Sources: d.Sources, Revision: revision}
	})
}

func (s *Server) listServices(ctx context.Context, w *answer, r *http.Request) error {
	return s.list(ctx, w, r, func(d feature.Definitions, revision int64) any {
		return wire.ServiceList{Services: d.Services, Revision: revision}
	})
}

func (s *Server) listViews(ctx context.Context, w *answer, r *http.Request) error {
	views, err := s.service.Views(ctx, pathVars(r)["project"])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, views)
}

// show answers one definition by its name.
func show[T any](ctx context.Context, w *answer, r *http.Request, get func(ctx context.Context, project, name string) (T, error)) error {
	v := pathVars(r)
	d, err := get(ctx, v["project"], v["name"])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, d)
}

func (s *Server) getEntity(ctx context.Context, w *answer, r *http.Request) error {
	return show(ctx, w, r, s.service.Entity)
}

func (s *Server) getSource(ctx context.Context, w *answer, r *http.Request) error {
	return show(ctx, w, r, s.service.Source)
}

func (s *Server) getView(ctx context.Context, w *answer, r *http.Request) error {
	return show(ctx, w, r, s.service.View)
}

func (s *Server) getService(ctx context.Context, w *answer, r *http.Request) error {
	return show(ctx, w, r, s.service.FeatureService)
}
