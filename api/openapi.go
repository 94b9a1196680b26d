package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/granary-ml/granary/feature"
)

//go:embed openapi.yaml
var openapiYAML []byte

// openapiJSON is the document as it is served; it is written in YAML to be
// read by people.
var openapiJSON = sync.OnceValues(func() ([]byte, error) {
	var document map[string]any
	if err := yaml.Unmarshal(openapiYAML, &document); err != nil {
		return nil, feature.Errorf(feature.CodeInternal, "", "openapi.yaml", "%w", err)
	}
	return json.Marshal(document)
})

func (s *Server) openapi(_ context.Context, w *answer, _ *http.Request) error {
	data, err := openapiJSON()
	if err != nil {
		return err
	}
	return writeBytes(w, http.StatusOK, mediaJSON, data)
}
