package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// Client asks a granary server. It is safe for concurrent use.
type Client struct {
	base    string // without a slash at its end
	project string
	http    *http.Client
	retries int
	header  http.Header
}

// Dial returns a client of the server at a URL such as http://127.0.0.1:7787.
// It connects to nothing yet; Client.Ready asks whether the server can answer.
func Dial(serverURL string, opts ...Option) (*Client, error) {
	u, err := url.Parse(serverURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "sdk.Dial", "",
			"%q is not the URL of a server (expected such as http://127.0.0.1:7787)", serverURL)
	}
	c := &Client{
		base:    strings.TrimRight(serverURL, "/"),
		project: "default",
		http:    &http.Client{},
		retries: 4,
		header:  http.Header{},
	}
	for _, o := range opts {
		o.apply(c)
	}
	if err := feature.CheckName(c.project); err != nil {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "sdk.Dial", "project", "%w", err)
	}
	return c, nil
}

// Project returns a client of the same server whose calls are about another
// project. Both share their connections.
func (c *Client) Project(name string) *Client {
	other := *c
	other.project = name
	return &other
}

// Close closes connections that are kept for later calls.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// Ready tells whether the server can answer; the error says what is wrong.
func (c *Client) Ready(ctx context.Context) error {
	return c.get(ctx, "/readyz", nil)
}

// Version returns the version of the server.
func (c *Client) Version(ctx context.Context) (wire.Version, error) {
	var out wire.Version
	err := c.get(ctx, "/version", &out)
	return out, err
}

// request is one call.
type request struct {
	method      string
	path        string
	query       url.Values
	header      http.Header
	body        *body // nil for none
	contentType string
	accept      string
	// safe tells that the request may be sent twice.
	safe bool
}

// inProject returns a path of the client's project.
func (c *Client) inProject(format string, names ...any) string {
	for i, name := range names {
		names[i] = url.PathEscape(fmt.Sprint(name))
	}
	return "/v1/projects/" + url.PathEscape(c.project) + fmt.Sprintf(format, names...)
}

// jsonRequest makes a request whose body is a value in JSON.
func jsonRequest(method, path string, value any) (request, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return request{}, feature.Errorf(feature.CodeInvalidArgument, "sdk", "request", "%w", err)
	}
	return request{method: method, path: path, body: bytesBody(data), contentType: mediaJSON}, nil
}

// json sends a request and reads the JSON answer into out, which may be nil.
func (c *Client) json(ctx context.Context, r request, out any) error {
	resp, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer drain(resp)
	if out == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return feature.Errorf(feature.CodeUnavailable, "sdk", "answer of "+r.path, "it was cut or is not JSON: %w", err)
	}
	return nil
}

// post sends a value as JSON and reads the JSON answer into out.
func (c *Client) post(ctx context.Context, path string, value, out any, safe bool) error {
	r, err := jsonRequest(http.MethodPost, path, value)
	if err != nil {
		return err
	}
	r.safe = safe
	return c.json(ctx, r, out)
}

// get reads a JSON answer into out.
func (c *Client) get(ctx context.Context, path string, out any) error {
	return c.json(ctx, request{method: http.MethodGet, path: path, safe: true}, out)
}

// once sends a request one time. An answer that tells of an error is returned
// as one, and its body is closed.
func (c *Client) once(ctx context.Context, r request) (*http.Response, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var payload io.Reader
	if r.body != nil {
		reader, err := r.body.open()
		if err != nil {
			return nil, err
		}
		payload = reader
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, payload)
	if err != nil {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "sdk", r.path, "%w", err)
	}
	if r.body != nil && r.body.data != nil {
		req.ContentLength = int64(len(r.body.data))
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(r.body.data)), nil }
	}
	for _, header := range []http.Header{c.header, r.header} {
		maps.Copy(req.Header, header)
	}
	setHeader(req.Header, "Content-Type", r.contentType)
	setHeader(req.Header, "Accept", r.accept)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, transportError(ctx, err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		defer drain(resp)
		return nil, readProblem(resp)
	}
	return resp, nil
}

func setHeader(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// drain reads what is left of a short answer, so that its connection is used
// again, and closes it.
func drain(resp *http.Response) {
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10)
	_ = resp.Body.Close()
}
