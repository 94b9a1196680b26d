package api

import (
	"context"
	"net/http"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
)

// online answers a lookup. The usual answer is JSON, put together in a buffer
// that is used again.
func (s *Server) online(ctx context.Context, w *answer, r *http.Request) error {
	media, err := negotiate(r, mediaJSON, mediaArrow)
	if err != nil {
		return err
	}
	project := pathVars(r)["project"]
	return s.withJSON(w, r, func(data []byte) error {
		if media == mediaArrow {
			return s.onlineArrow(ctx, w, project, data)
		}
		out := s.buffer()
		defer s.release(out)
		answer, err := s.service.AppendOnline(ctx, out.AvailableBuffer(), project, data)
		if err != nil {
			return err
		}
		if cap(answer) <= maxKeptBytes {
			out.Write(answer) // so that the next answer finds the room that this one had to make
		}
		return writeBytes(w, http.StatusOK, mediaJSON, answer)
	})
}

func (s *Server) onlineArrow(ctx context.Context, w *answer, project string, data []byte) error {
	rec, err := s.service.OnlineRecord(ctx, project, data)
	if err != nil {
		return err
	}
	defer rec.Release()
	reader, err := array.NewRecordReader(rec.Schema(), []arrow.Record{rec})
	if err != nil {
		return err
	}
	defer reader.Release()
	return s.writeRecords(ctx, w, mediaArrow, reader)
}
