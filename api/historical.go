package api

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// historicalBody is wire.HistoricalRequest with the spine as it was written:
// the order of its columns is that of the answer.
type historicalBody struct {
	wire.HistoricalOptions

	Spine jsontext.Value `json:"spine"`
}

// historical answers a point-in-time retrieval. The options stand in the query
// and the spine is the body, in any format; or, without a query, a JSON body
// holds both.
func (s *Server) historical(ctx context.Context, w *answer, r *http.Request) error {
	media, err := negotiate(r, mediaArrow, mediaParquet)
	if err != nil {
		return err
	}
	format, err := formatOf(r)
	if err != nil {
		return err
	}
	if format == feature.FormatJSON && r.URL.RawQuery == "" {
		return s.historicalJSON(ctx, w, r, media)
	}
	options, err := wire.ParseHistoricalQuery(r.URL.Query())
	if err != nil {
		return err
	}
	project := pathVars(r)["project"]
	b, err := s.openBody(w, r, s.options.MaxStreamBytes)
	if err != nil {
		return err
	}
	if format != feature.FormatArrow { // the others are read whole by the service
		return s.join(ctx, w, media, spine{project, options, format, b})
	}
	whole, err := s.spool(ctx, b)
	if err != nil {
		return err
	}
	err = s.join(ctx, w, media, spine{project, options, format, whole})
	if cerr := whole.Close(); err == nil {
		err = cerr
	}
	return err
}

func (s *Server) historicalJSON(ctx context.Context, w *answer, r *http.Request, media string) error {
	var req historicalBody
	if err := s.readJSON(w, r, &req); err != nil {
		return err
	}
	if len(req.Spine) == 0 {
		return feature.Invalid("", "body", []feature.Fault{{Field: "spine", Detail: `it is missing (expected columns of one length, such as {"driver_id": [1001], "event_timestamp": ["2024-01-01T00:00:00Z"]})`}})
	}
	return s.join(ctx, w, media, spine{pathVars(r)["project"], req.HistoricalOptions, feature.FormatJSON, bytes.NewReader(req.Spine)})
}

// spine is a spine that has not been read, with what is asked of it.
type spine struct {
	project string
	options wire.HistoricalOptions
	format  feature.Format
	body    io.Reader
}

func (s *Server) join(ctx context.Context, w *answer, media string, sp spine) error {
	rows, err := s.service.ReadSpine(ctx, sp.project, sp.options, sp.format, sp.body)
	if err != nil {
		return err
	}
	defer rows.Release()
	records, err := s.service.Historical(ctx, sp.project, sp.options, rows)
	if err != nil {
		return err
	}
	defer records.Release()
	return s.writeRecords(ctx, w, media, records)
}
