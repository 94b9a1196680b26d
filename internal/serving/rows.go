package serving

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/offline"
)

// Push takes rows into a view. Without a word on where they go, they go
// offline, and online if the view is.
func (s *Service) Push(ctx context.Context, project, view string, format feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error) {
	v, err := s.view(project, view)
	if err != nil {
		return wire.PushResult{}, err
	}
	switch {
	case v.IsOnline():
	case o.Online:
		return wire.PushResult{}, feature.Errorf(feature.CodeFailedPrecondition, "serving.Push", v.Subject(), "the view is not online (its definition says online: false)")
	default:
		o.Offline = true
	}
	result, err := s.ingester.Push(ctx, ingest.PushRequest{View: v, Format: format, Body: body, Options: o})
	s.stats.pushed(result)
	s.dropIfGone(ctx, v)
	return result, err
}

// Export reads the rows of a view's table. The reader must be released.
func (s *Service) Export(ctx context.Context, project, view string, o wire.ExportOptions) (array.RecordReader, error) {
	v, err := s.view(project, view)
	if err != nil {
		return nil, err
	}
	req := offline.ScanRequest{Columns: o.Columns, Interval: o.Interval, AsOf: o.AsOf, Shard: o.Shard, Shards: o.Shards}
	if o.Entities != nil {
		if req.Keys, err = entityKeys(v, o.Entities); err != nil {
			return nil, err
		}
		if req.Keys == nil {
			req.Keys = []feature.EntityKey{} // no entity is not every entity
		}
	}
	return s.offline.Scan(ctx, v, req)
}

// Erase removes entities from a view. The table comes first: what it holds
// could be materialized again, what is online could not.
func (s *Service) Erase(ctx context.Context, project, view string, req wire.EraseRequest) (wire.EraseResult, error) {
	v, err := s.view(project, view)
	if err != nil {
		return wire.EraseResult{}, err
	}
	keys, err := entityKeys(v, req.Entities)
	if err != nil {
		return wire.EraseResult{}, err
	}
	erased, err := s.offline.Erase(ctx, v, keys)
	if err != nil {
		return wire.EraseResult{}, err
	}
	removed, err := s.online.DeleteEntities(ctx, v.ID, keys)
	if err != nil {
		return wire.EraseResult{}, feature.Errorf(feature.CodeOf(err), "serving.Erase", v.Subject(), "erased from the table, not from the online store (erase again): %w", err)
	}
	return wire.EraseResult{Entities: int64(len(keys)), OnlineRows: removed, OfflineRows: erased.Rows, Version: erased.Version}, nil
}
