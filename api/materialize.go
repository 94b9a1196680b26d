package api

import (
	"context"
	"net/http"

	"github.com/granary-ml/granary/api/wire"
)

// materialize starts a materialization; the answer tells where to follow it.
func (s *Server) materialize(ctx context.Context, w *answer, r *http.Request) error {
	var req wire.MaterializeRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	project := pathVars(r)["project"]
	job, err := s.service.Materialize(ctx, project, req)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/v1/projects/"+project+"/materializations/"+job.ID)
	return writeJSON(w, http.StatusAccepted, job)
}

func (s *Server) listJobs(ctx context.Context, w *answer, r *http.Request) error {
	jobs, err := s.service.Jobs(ctx, pathVars(r)["project"])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.JobList{Materializations: jobs})
}

func (s *Server) getJob(ctx context.Context, w *answer, r *http.Request) error {
	v := pathVars(r)
	job, err := s.service.Job(ctx, v["project"], v["id"])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, job)
}

// cancelJob asks a materialization to stop. It may still be running when the
// answer is written.
func (s *Server) cancelJob(ctx context.Context, w *answer, r *http.Request) error {
	v := pathVars(r)
	job, err := s.service.CancelJob(ctx, v["project"], v["id"])
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, job)
}
