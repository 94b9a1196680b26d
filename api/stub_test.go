package api_test

import (
	"context"
	"io"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/serving"
)

// stub is a service of which a test gives the functions that it needs. What it
// does not give must not be called.
type stub struct {
	api.Service

	online     func(ctx context.Context, dst []byte, project string, body []byte) ([]byte, error)
	push       func(ctx context.Context, format feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error)
	export     func(ctx context.Context, o wire.ExportOptions) (array.RecordReader, error)
	readSpine  func(ctx context.Context, format feature.Format, body io.Reader) (array.RecordReader, error)
	historical func(ctx context.Context, o wire.HistoricalOptions, spine array.RecordReader) (array.RecordReader, error)
	ready      func(ctx context.Context) error
}

func (s *stub) AppendOnline(ctx context.Context, dst []byte, project string, body []byte) ([]byte, error) {
	return s.online(ctx, dst, project, body)
}

func (s *stub) Push(ctx context.Context, _, _ string, format feature.Format, body io.Reader, o wire.PushOptions) (wire.PushResult, error) {
	return s.push(ctx, format, body, o)
}

func (s *stub) Export(ctx context.Context, _, _ string, o wire.ExportOptions) (array.RecordReader, error) {
	return s.export(ctx, o)
}

func (s *stub) ReadSpine(ctx context.Context, _ string, _ wire.HistoricalOptions, format feature.Format, body io.Reader) (array.RecordReader, error) {
	return s.readSpine(ctx, format, body)
}

func (s *stub) Historical(ctx context.Context, _ string, o wire.HistoricalOptions, spine array.RecordReader) (array.RecordReader, error) {
	return s.historical(ctx, o, spine)
}

func (s *stub) Ready(ctx context.Context) error { return s.ready(ctx) }

func (s *stub) Stats() serving.Stats { return serving.Stats{} }
