package api

import (
	"context"
	"net/http"
)

// handler answers a request or returns an error, which becomes a problem
// document. ctx ends with the request and at the route's deadline.
type handler func(s *Server, ctx context.Context, w *answer, r *http.Request) error

// route is one method of one path. The table is all there is: the router, the
// metrics and the test of the OpenAPI document read it.
type route struct {
	method string
	path   string
	name   string // operationId of the document, and a label of the metrics
	class  class
	params bool // whether the handler reads the query; otherwise it must be empty
	handle handler
}

// class says how long a request of a route may take and how large it may be.
type class uint8

const (
	short  class = iota // a JSON body in memory, a JSON answer
	stream              // rows in the body or in the answer
)

// The values of route.params.
const (
	bare  = false
	query = true
)

const projectPath = "/v1/projects/{project}"

// routes is the table. The router tries it in order, so what is asked most
// stands first.
func routes() []route {
	return []route{
		{http.MethodPost, projectPath + "/features/online", "getOnlineFeatures", short, bare, (*Server).online},
		{http.MethodPost, projectPath + "/views/{view}/rows", "pushRows", stream, query, (*Server).push},
		{http.MethodGet, projectPath + "/views/{view}/rows", "exportRows", stream, query, (*Server).export},
		{http.MethodDelete, projectPath + "/views/{view}/rows", "eraseRows", stream, bare, (*Server).erase},
		{http.MethodPost, projectPath + "/features/historical", "getHistoricalFeatures", stream, query, (*Server).historical},

		{http.MethodPost, projectPath + "/materializations", "materialize", short, bare, (*Server).materialize},
		{http.MethodGet, projectPath + "/materializations", "listMaterializations", short, bare, (*Server).listJobs},
		{http.MethodGet, projectPath + "/materializations/{id}", "getMaterialization", short, bare, (*Server).getJob},
		{http.MethodDelete, projectPath + "/materializations/{id}", "cancelMaterialization", short, bare, (*Server).cancelJob},

		{http.MethodGet, "/v1/projects", "listProjects", short, bare, (*Server).listProjects},
		{http.MethodGet, projectPath, "getProject", short, bare, (*Server).getProject},
		{http.MethodDelete, projectPath, "deleteProject", short, query, (*Server).deleteProject},
		{http.MethodPost, projectPath + "/registry:plan", "planDefinitions", short, bare, (*Server).plan},
		{http.MethodPost, projectPath + "/registry:apply", "applyDefinitions", short, bare, (*Server).apply},
		{http.MethodPost, projectPath + "/registry:rollback", "rollbackDefinitions", short, bare, (*Server).rollback},
		{http.MethodGet, projectPath + "/revisions", "listRevisions", short, bare, (*Server).listRevisions},

		{http.MethodGet, projectPath + "/entities", "listEntities", short, bare, (*Server).listEntities},
		{http.MethodGet, projectPath + "/entities/{name}", "getEntity", short, bare, (*Server).getEntity},
		{http.MethodDelete, projectPath + "/entities/{name}", "deleteEntity", short, query, deletes("entity")},
		{http.MethodGet, projectPath + "/sources", "listSources", short, bare, (*Server).listSources},
		{http.MethodGet, projectPath + "/sources/{name}", "getSource", short, bare, (*Server).getSource},
		{http.MethodDelete, projectPath + "/sources/{name}", "deleteSource", short, query, deletes("source")},
		{http.MethodGet, projectPath + "/views", "listViews", short, bare, (*Server).listViews},
		{http.MethodGet, projectPath + "/views/{name}", "getView", short, bare, (*Server).getView},
		{http.MethodDelete, projectPath + "/views/{name}", "deleteView", short, query, deletes("view")},
		{http.MethodGet, projectPath + "/services", "listServices", short, bare, (*Server).listServices},
		{http.MethodGet, projectPath + "/services/{name}", "getService", short, bare, (*Server).getService},
		{http.MethodDelete, projectPath + "/services/{name}", "deleteService", short, query, deletes("service")},

		{http.MethodGet, "/healthz", "health", short, query, (*Server).health},
		{http.MethodGet, "/readyz", "ready", short, query, (*Server).ready},
		{http.MethodGet, "/version", "version", short, query, (*Server).version},
		{http.MethodGet, "/metrics", "metrics", short, query, (*Server).showMetrics},
		{http.MethodGet, "/openapi.json", "openapi", short, query, (*Server).openapi},
	}
}
