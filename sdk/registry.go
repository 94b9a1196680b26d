package sdk

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// Plan tells what Apply would change.
func (c *Client) Plan(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	var out wire.Plan
	err := c.post(ctx, c.inProject("/registry:plan"), req, &out, true)
	return out, err
}

// Apply changes the definitions of the project. With req.Expected it is refused
// with feature.CodeConflict if the registry has moved on.
func (c *Client) Apply(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	var out wire.Plan
	err := c.post(ctx, c.inProject("/registry:apply"), req, &out, false)
	return out, err
}

// Rollback makes the definitions of an older revision current again, as a new
// revision.
func (c *Client) Rollback(ctx context.Context, req wire.RollbackRequest) (wire.Plan, error) {
	var out wire.Plan
	err := c.post(ctx, c.inProject("/registry:rollback"), req, &out, false)
	return out, err
}

// Delete deletes one definition; kind is entity, source, view or service.
// expected is the revision that the caller believes is current, nil for
// whatever is.
func (c *Client) Delete(ctx context.Context, kind, name string, expected *int64) (wire.Plan, error) {
	plural, ok := map[string]string{"entity": "entities", "source": "sources", "view": "views", "service": "services"}[kind]
	if !ok {
		return wire.Plan{}, feature.Errorf(feature.CodeInvalidArgument, "sdk.Delete", "kind",
			"%q is not a kind (expected entity, source, view or service)", kind)
	}
	var out wire.Plan
	err := c.json(ctx, request{
		method: http.MethodDelete, path: c.inProject("/"+plural+"/%s", name), query: expectedQuery(expected),
	}, &out)
	return out, err
}

// DeleteProject deletes all definitions of the project, and with its views
// their online rows.
func (c *Client) DeleteProject(ctx context.Context, expected *int64) (wire.Plan, error) {
	var out wire.Plan
	err := c.json(ctx, request{method: http.MethodDelete, path: c.inProject(""), query: expectedQuery(expected)}, &out)
	return out, err
}

func expectedQuery(expected *int64) url.Values {
	if expected == nil {
		return nil
	}
	return url.Values{"expected_revision": {strconv.FormatInt(*expected, 10)}}
}

// Projects lists the projects of the server.
func (c *Client) Projects(ctx context.Context) (wire.ProjectList, error) {
	var out wire.ProjectList
	err := c.get(ctx, "/v1/projects", &out)
	return out, err
}

// Definitions returns what the project defines, and the revision.
func (c *Client) Definitions(ctx context.Context) (feature.Definitions, int64, error) {
	var out wire.ProjectInfo
	err := c.get(ctx, c.inProject(""), &out)
	return out.Definitions, out.Revision, err
}

// View returns a view with what the stores hold of it.
func (c *Client) View(ctx context.Context, name string) (wire.ViewInfo, error) {
	var out wire.ViewInfo
	err := c.get(ctx, c.inProject("/views/%s", name), &out)
	return out, err
}

// History lists the revisions of the project, newest first.
func (c *Client) History(ctx context.Context) ([]wire.Revision, error) {
	var out wire.RevisionList
	err := c.get(ctx, c.inProject("/revisions"), &out)
	return out.Revisions, err
}
