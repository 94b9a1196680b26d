package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// document is the part of the OpenAPI document that the tests look at.
type document struct {
	Paths      map[string]map[string]json.RawMessage `json:"paths"`
	Components struct {
		Schemas map[string]schema `json:"schemas"`
	} `json:"components"`
}

type schema struct {
	Properties map[string]any `json:"properties"`
	Required   []string       `json:"required"`
	Enum       []string       `json:"enum"`
}

type operation struct {
	OperationID string                     `json:"operationId"`
	Responses   map[string]json.RawMessage `json:"responses"`
}

func readDocument(t *testing.T) (document, []byte) {
	t.Helper()
	data, err := openapiJSON()
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(data, &d))
	return d, data
}

// Every route is in the document under its name, and the document has no
// other.
func TestOpenAPIHasEveryRoute(t *testing.T) {
	d, _ := readDocument(t)
	var documented, served []string
	for path, item := range d.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var op operation
			require.NoError(t, json.Unmarshal(raw, &op))
			require.NotEmpty(t, op.Responses, path)
			documented = append(documented, strings.ToUpper(method)+" "+path+" "+op.OperationID)
		}
	}
	for _, rt := range routes() {
		served = append(served, rt.method+" "+rt.path+" "+rt.name)
	}
	require.ElementsMatch(t, served, documented)
}

// Every variable of a path is declared.
func TestOpenAPIDeclaresPathVariables(t *testing.T) {
	d, data := readDocument(t)
	for path, item := range d.Paths {
		declared := string(item["parameters"])
		for part := range strings.SplitSeq(path, "/") {
			if name, ok := strings.CutPrefix(part, "{"); ok {
				name = strings.TrimSuffix(name, "}")
				require.True(t, strings.Contains(declared, "/parameters/"+name) || strings.Contains(declared, fmt.Sprintf("%q", name)), "%s: %s", path, name)
			}
		}
	}
	for ref := range strings.SplitSeq(string(data), `"$ref":"#/`) {
		if target, _, ok := strings.Cut(ref, `"`); ok && strings.HasPrefix(target, "components/") {
			require.True(t, has(t, data, strings.Split(target, "/")), "%s is not there", target)
		}
	}
}

func has(t *testing.T, data []byte, path []string) bool {
	t.Helper()
	var level map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &level))
	next, ok := level[path[0]]
	if !ok || len(path) == 1 {
		return ok
	}
	return has(t, next, path[1:])
}

// Every type of the surface has a schema with the same members.
func TestOpenAPIHasEveryMember(t *testing.T) {
	d, _ := readDocument(t)
	for _, v := range []any{
		wire.OnlineRequest{},
		wire.OnlineResponse{},
		wire.Column{},
		wire.HistoricalRequest{},
		wire.AsOf{},
		wire.PushResult{},
		wire.Rejected{},
		wire.EraseRequest{},
		wire.EraseResult{},
		wire.MaterializeRequest{},
		wire.Job{},
		wire.ViewProgress{},
		wire.JobList{},
		wire.ProjectList{},
		wire.ProjectInfo{},
		wire.EntityList{},
		wire.SourceList{},
		wire.ViewList{},
		wire.ServiceList{},
		wire.ApplyRequest{},
		wire.RollbackRequest{},
		wire.Plan{},
		wire.Change{},
		wire.Revision{},
		wire.RevisionList{},
		wire.Version{},
		wire.Health{},
		wire.Problem{},
		wire.ViewInfo{},
		feature.Definitions{},
		feature.Entity{},
		feature.JoinKey{},
		feature.Source{},
		feature.CSVOptions{},
		feature.View{},
		feature.Feature{},
		feature.Service{},
		feature.Fault{},
	} {
		typ := reflect.TypeOf(v)
		s, ok := d.Components.Schemas[typ.Name()]
		require.True(t, ok, "there is no schema %s", typ.Name())
		require.ElementsMatch(t, members(typ), slices.Collect(maps.Keys(s.Properties)), typ.Name())
		require.Subset(t, members(typ), s.Required, typ.Name())
	}
}

func members(typ reflect.Type) []string {
	var out []string
	for f := range typ.Fields() {
		if f.Anonymous {
			out = append(out, members(f.Type)...)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		out = append(out, name)
	}
	return out
}

func TestOpenAPIHasEveryCode(t *testing.T) {
	_, data := readDocument(t)
	for c := feature.CodeInternal; c <= feature.CodeCanceled; c++ {
		require.Contains(t, string(data), `"`+c.String()+`"`)
	}
}
