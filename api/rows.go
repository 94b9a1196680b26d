package api

import (
	"context"
	"net/http"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// headerIdempotencyKey makes a push that is sent twice land once.
const headerIdempotencyKey = "Idempotency-Key"

// maxIdempotencyKeyBytes bounds a key: it is kept in the table's log.
const maxIdempotencyKeyBytes = 256

// push takes rows.
func (s *Server) push(ctx context.Context, w *answer, r *http.Request) error {
	options, err := wire.ParsePushQuery(r.URL.Query())
	if err != nil {
		return err
	}
	options.IdempotencyKey = r.Header.Get(headerIdempotencyKey)
	if len(options.IdempotencyKey) > maxIdempotencyKeyBytes || !printable(options.IdempotencyKey) {
		return feature.Errorf(feature.CodeInvalidArgument, "", "header "+headerIdempotencyKey, "expected at most %d printable ASCII characters without blanks and quotes", maxIdempotencyKeyBytes)
	}
	format, err := formatOf(r)
	if err != nil {
		return err
	}
	b, err := s.openBody(w, r, s.options.MaxStreamBytes)
	if err != nil {
		return err
	}
	v := pathVars(r)
	result, err := s.service.Push(ctx, v["project"], v["view"], format, b, options)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, result)
}

// export gives the rows of a view's table.
func (s *Server) export(ctx context.Context, w *answer, r *http.Request) error {
	media, err := negotiate(r, mediaArrow, mediaParquet)
	if err != nil {
		return err
	}
	options, err := wire.ParseExportQuery(r.URL.Query())
	if err != nil {
		return err
	}
	v := pathVars(r)
	records, err := s.service.Export(ctx, v["project"], v["view"], options)
	if err != nil {
		return err
	}
	defer records.Release()
	return s.writeRecords(ctx, w, media, records)
}

// erase removes the rows of entities.
func (s *Server) erase(ctx context.Context, w *answer, r *http.Request) error {
	var req wire.EraseRequest
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	v := pathVars(r)
	result, err := s.service.Erase(ctx, v["project"], v["view"], req)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, result)
}
