package sdk

import (
	"context"
	"encoding/json"

	"github.com/granary-ml/granary/api/wire"
)

// OnlineFeatures looks the latest values of features up. A missing entity is
// null in the answer, and told by its status; it is not an error.
func (c *Client) OnlineFeatures(ctx context.Context, req wire.OnlineRequest) (*wire.OnlineResponse, error) {
	var out wire.OnlineResponse
	if err := c.post(ctx, c.inProject("/features/online"), req, &out, true); err != nil {
		return nil, err
	}
	return &out, nil
}

// Values makes the values of one join key for a request, in order:
//
//	Entities: map[string][]wire.RawValue{"origin": sdk.Values("JFK", "LGA")}
//
// A value that JSON has no form for becomes null.
func Values[T any](values ...T) []wire.RawValue {
	out := make([]wire.RawValue, len(values))
	for i, v := range values {
		raw, err := json.Marshal(v)
		if err != nil {
			raw = []byte("null")
		}
		out[i] = raw
	}
	return out
}
