package api

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
)

func TestNegotiate(t *testing.T) {
	for accept, want := range map[string]string{
		"":                           mediaArrow,
		"*/*":                        mediaArrow,
		"application/*":              mediaArrow,
		mediaParquet:                 mediaParquet,
		mediaParquet + ", */*":       mediaArrow,
		"*/*;q=0.1, " + mediaParquet: mediaParquet,
		mediaArrow + ";q=0, */*":     mediaParquet,
		mediaArrow + ";q=0.3, " + mediaParquet + ";q=0.4": mediaParquet,
		"text/html, " + mediaParquet + ";v=1":             mediaParquet,
		"text/html":                                       "",
		"application/json;q=nonsense":                     "",
		mediaArrow + ";q=x":                               "",
		";":                                               "",
	} {
		r := &http.Request{Header: http.Header{}}
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		got, err := negotiate(r, mediaArrow, mediaParquet)
		require.Equal(t, want, got, accept)
		if want == "" {
			require.Equal(t, feature.CodeUnsupportedMediaType, feature.CodeOf(err))
		}
	}
}
