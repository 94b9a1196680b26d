package api

import (
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
	"github.com/gorilla/mux"

	"github.com/granary-ml/granary/feature"
)

// writeJSON writes an answer. Empty lists are written as such, never as null.
func writeJSON(w *answer, status int, v any) error {
	data, err := json.Marshal(v, json.Deterministic(true), jsonv1.OmitEmptyWithLegacySemantics(true))
	if err != nil {
		return feature.Errorf(feature.CodeInternal, "", "answer", "%w", err)
	}
	return writeBytes(w, status, mediaJSON, data)
}

func writeBytes(w *answer, status int, media string, data []byte) error {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, err := w.Write(data)
	return err
}

// pathVars returns the variables of the path by name.
func pathVars(r *http.Request) map[string]string { return mux.Vars(r) }
