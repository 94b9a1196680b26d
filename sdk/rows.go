package sdk

import (
	"bytes"
	"context"
	"crypto/rand"
	"io"
	"net/http"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// Push sends rows that are written in a format. Without an idempotency key in o
// it makes one, so that a push whose answer was lost is sent again and lands
// once. Rows that are not accepted are told in the result; they are no error
// unless o.Strict is set.
func (c *Client) Push(ctx context.Context, view string, format feature.Format, rows io.Reader, o wire.PushOptions) (wire.PushResult, error) {
	b, err := readerBody(rows)
	if err != nil {
		return wire.PushResult{}, feature.Errorf(feature.CodeInvalidArgument, "sdk.Push", "rows", "%w", err)
	}
	if o.IdempotencyKey == "" {
		o.IdempotencyKey = rand.Text()
	}
	header := http.Header{}
	header.Set("Idempotency-Key", o.IdempotencyKey)
	var out wire.PushResult
	err = c.json(ctx, request{
		method: http.MethodPost, path: c.inProject("/views/%s/rows", view), query: o.Query(), header: header,
		body: b, contentType: mediaType(format), safe: true,
	}, &out)
	return out, err
}

// PushRecords is Push of Arrow records, whose columns are named as the view's.
func (c *Client) PushRecords(ctx context.Context, view string, rows array.RecordReader, o wire.PushOptions) (wire.PushResult, error) {
	return c.Push(ctx, view, feature.FormatArrow, newEncoder(rows), o)
}

// PushRows is Push of structs with the tags that ViewOf reads.
func PushRows[T any](ctx context.Context, c *Client, view string, rows []T, o wire.PushOptions) (wire.PushResult, error) {
	data, err := appendRows(nil, rows)
	if err != nil {
		return wire.PushResult{}, err
	}
	return c.Push(ctx, view, feature.FormatNDJSON, bytes.NewReader(data), o)
}

// Erase removes all rows of entities from a view, online and offline. It is
// sent again if its answer was lost: what is gone is gone.
func (c *Client) Erase(ctx context.Context, view string, req wire.EraseRequest) (wire.EraseResult, error) {
	var out wire.EraseResult
	r, err := jsonRequest(http.MethodDelete, c.inProject("/views/%s/rows", view), req)
	if err == nil {
		err = c.json(ctx, r, &out)
	}
	return out, err
}
