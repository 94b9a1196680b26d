package api

import (
	"context"
	"net/http"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// health tells that the process answers.
func (s *Server) health(_ context.Context, w *answer, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, wire.Health{Status: "ok"})
}

// ready tells whether requests should be sent here.
func (s *Server) ready(ctx context.Context, w *answer, _ *http.Request) error {
	if s.draining.Load() {
		return feature.Errorf(feature.CodeUnavailable, "", "server", "it is stopping")
	}
	if err := s.service.Ready(ctx); err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, wire.Health{Status: "ok"})
}

func (s *Server) version(_ context.Context, w *answer, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, s.options.Version)
}
