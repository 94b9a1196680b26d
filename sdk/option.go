package sdk

import "net/http"

// Option changes how a Client works.
type Option interface{ apply(*Client) }

type optionFunc func(*Client)

func (f optionFunc) apply(c *Client) { f(c) }

// WithProject sets the project that calls are about; the default is "default".
// See also Client.Project.
func WithProject(name string) Option {
	return optionFunc(func(c *Client) { c.project = name })
}

// WithHTTPClient sets the HTTP client, for other timeouts, proxies or TLS. Its
// Timeout would also cut long streams: deadlines of calls belong in their
// contexts.
func WithHTTPClient(h *http.Client) Option {
	return optionFunc(func(c *Client) { c.http = h })
}

// WithRetries sets how often a call that may be sent twice is sent again; the
// default is 4, 0 is never.
func WithRetries(n int) Option {
	return optionFunc(func(c *Client) { c.retries = max(n, 0) })
}

// WithHeader adds a header to every request.
func WithHeader(name, value string) Option {
	return optionFunc(func(c *Client) { c.header.Add(name, value) })
}
