package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// transport answers requests in place of a server.
type transport func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper; as a real one it reads the body.
func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fake returns a client whose requests f answers.
func fake(t *testing.T, f transport, opts ...Option) *Client {
	t.Helper()
	c, err := Dial("http://granary.test/", append(opts, WithHTTPClient(&http.Client{Transport: f}))...)
	require.NoError(t, err)
	return c
}

// answer makes an answer of a status; headers are pairs.
func answer(r *http.Request, status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{
		StatusCode: status, Status: http.StatusText(status), Header: h, Request: r,
		Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}
}

var errDial = &net.OpError{Op: "dial", Err: errors.New("connection refused")}

func TestRetries(t *testing.T) {
	busy := func(r *http.Request) (*http.Response, error) { return answer(r, 503, "busy"), nil }
	refused := func(*http.Request) (*http.Response, error) { return nil, errDial }
	lost := func(*http.Request) (*http.Response, error) { return nil, io.ErrUnexpectedEOF }
	wrong := func(r *http.Request) (*http.Response, error) { return answer(r, 400, "no"), nil }
	lookup := func(ctx context.Context, c *Client) error {
		_, err := c.OnlineFeatures(ctx, wire.OnlineRequest{})
		return err
	}
	apply := func(ctx context.Context, c *Client) error {
		_, err := c.Apply(ctx, wire.ApplyRequest{})
		return err
	}
	push := func(ctx context.Context, c *Client) error {
		_, err := c.Push(ctx, "v", feature.FormatCSV, strings.NewReader("k\n1\n"), wire.PushOptions{})
		return err
	}
	long := func(ctx context.Context, c *Client) error {
		body := io.MultiReader(bytes.NewReader(make([]byte, replayBytes+1))) // no seeker, and too long to keep
		_, err := c.Push(ctx, "v", feature.FormatCSV, body, wire.PushOptions{})
		return err
	}
	for _, c := range []struct {
		name   string
		first  transport
		call   func(context.Context, *Client) error
		tries  int
		failed bool
	}{
		{"a lookup at a busy server", busy, lookup, 2, false},
		{"a lookup that is not connected", refused, lookup, 2, false},
		{"a lookup whose answer is lost", lost, lookup, 2, false},
		{"a lookup that is wrong", wrong, lookup, 1, true},
		{"an apply at a busy server", busy, apply, 1, true},
		{"an apply that never arrived", refused, apply, 2, false},
		{"an apply whose answer is lost", lost, apply, 1, true},
		{"a push whose answer is lost", lost, push, 2, false},
		{"a long push whose answer is lost", lost, long, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				client := fake(t, func(r *http.Request) (*http.Response, error) {
					tries++
					if r.Body != nil {
						_, _ = io.Copy(io.Discard, r.Body)
					}
					if tries == 1 {
						return c.first(r)
					}
					return answer(r, 200, "{}"), nil
				})
				err := c.call(t.Context(), client)
				require.Equal(t, c.failed, err != nil, "%v", err)
				require.Equal(t, c.tries, tries)
			})
		})
	}
}

func TestRetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		client := fake(t, func(*http.Request) (*http.Response, error) {
			tries++
			return nil, errDial
		}, WithRetries(2))
		err := client.Ready(t.Context())
		require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
		require.ErrorContains(t, err, "connection refused")
		require.Equal(t, 3, tries)
	})
}

func TestRetryAfterIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		client := fake(t, func(r *http.Request) (*http.Response, error) {
			if tries++; tries == 1 {
				return answer(r, 503, "", "Retry-After", "7"), nil
			}
			return answer(r, 200, "{}"), nil
		})
		require.NoError(t, client.Ready(t.Context()))
		require.Equal(t, 7*time.Second, time.Since(start))
	})
}

func TestWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		client := fake(t, func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, `{"id": "j", "state": "running"}`), nil
		})
		seen := 0
		job, err := client.Wait(ctx, "j", func(wire.Job) { seen++ })
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, wire.JobRunning, job.State)
		require.Greater(t, seen, 10)
	})
}

// TestPushKeepsItsKey shows that a push that is sent again carries the same
// idempotency key and the same rows, and that two pushes have two keys.
func TestPushKeepsItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var keys, bodies []string
		client := fake(t, func(r *http.Request) (*http.Response, error) {
			data, err := io.ReadAll(r.Body)
			require.NoError(t, err)
			keys, bodies = append(keys, r.Header.Get("Idempotency-Key")), append(bodies, string(data))
			if len(keys)%2 == 1 {
				return nil, io.ErrUnexpectedEOF
			}
			return answer(r, 200, `{"accepted": 1, "version": 3}`), nil
		})
		for range 2 {
			result, err := client.Push(t.Context(), "v", feature.FormatNDJSON, strings.NewReader(`{"k":1}`), wire.PushOptions{})
			require.NoError(t, err)
			require.Equal(t, int64(3), result.Version)
		}
		require.Equal(t, []string{`{"k":1}`, `{"k":1}`, `{"k":1}`, `{"k":1}`}, bodies)
		require.Equal(t, keys[0], keys[1])
		require.Equal(t, keys[2], keys[3])
		require.NotEqual(t, keys[0], keys[2])
		require.NotEmpty(t, keys[0])
	})
}

func TestErrorsAreTheServers(t *testing.T) {
	for _, want := range []*feature.Error{
		feature.Errorf(feature.CodeNotFound, "", "view p/v", "there is no such view"),
		{Code: feature.CodeInvalidArgument, Subject: "request", Faults: []feature.Fault{{Field: "features[0]", Detail: "no"}, {Detail: "both"}}},
		feature.Errorf(feature.CodeDataLoss, "", "table", "damaged"),
	} {
		client := fake(t, func(r *http.Request) (*http.Response, error) {
			p := wire.Problem{
				Status: want.Code.HTTPStatus(), Code: want.Code.String(), Detail: want.Detail(), Subject: want.Subject, Errors: want.Faults,
			}
			data, err := json.Marshal(p)
			require.NoError(t, err)
			return answer(r, p.Status, string(data), "Content-Type", wire.ProblemMediaType), nil
		})
		_, err := client.View(t.Context(), "v")
		require.Equal(t, want.Code, feature.CodeOf(err))
		require.Equal(t, want.Error(), err.Error())
		require.Equal(t, want.Faults, feature.FaultsOf(err))
	}
}

// TestErrorsOfOthers reads what proxies between us and a server answer.
func TestErrorsOfOthers(t *testing.T) {
	for status, want := range map[int]feature.Code{
		401: feature.CodeUnauthenticated, 403: feature.CodePermissionDenied, 404: feature.CodeNotFound, 409: feature.CodeConflict,
		412: feature.CodeFailedPrecondition, 413: feature.CodeTooLarge, 415: feature.CodeUnsupportedMediaType,
		418: feature.CodeInvalidArgument, 429: feature.CodeResourceExhausted, 500: feature.CodeInternal,
		502: feature.CodeUnavailable, 503: feature.CodeUnavailable, 504: feature.CodeDeadlineExceeded,
	} {
		client := fake(t, func(r *http.Request) (*http.Response, error) {
			return answer(r, status, "<html>gateway</html>", "Content-Type", "text/html"), nil
		}, WithRetries(0))
		_, err := client.View(t.Context(), "v")
		require.Equal(t, want, feature.CodeOf(err), status)
		require.ErrorContains(t, err, "gateway")
	}
}

func TestAnswerThatIsNotJSON(t *testing.T) {
	client := fake(t, func(r *http.Request) (*http.Response, error) { return answer(r, 200, `{"columns": [`), nil })
	_, err := client.OnlineFeatures(t.Context(), wire.OnlineRequest{})
	require.ErrorContains(t, err, "cut or is not JSON")
}

func TestDial(t *testing.T) {
	for _, url := range []string{"", "granary", "localhost:7787", "ftp://host", "http://"} {
		_, err := Dial(url)
		require.ErrorContains(t, err, "is not the URL of a server", url)
	}
	_, err := Dial("http://host", WithProject("a b"))
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
}

// TestPaths shows what each call asks for.
func TestPaths(t *testing.T) {
	var got string
	client := fake(t, func(r *http.Request) (*http.Response, error) {
		got = r.Method + " " + r.URL.RequestURI()
		require.Equal(t, "yes", r.Header.Get("X-Extra"))
		return answer(r, 200, "{}"), nil
	}, WithProject("p"), WithHeader("X-Extra", "yes"))
	ctx, seven := t.Context(), int64(7)
	for want, call := range map[string]func() error{
		"POST /v1/projects/p/registry:plan":                       func() error { _, err := client.Plan(ctx, wire.ApplyRequest{}); return err },
		"POST /v1/projects/p/registry:apply":                      func() error { _, err := client.Apply(ctx, wire.ApplyRequest{}); return err },
		"POST /v1/projects/p/registry:rollback":                   func() error { _, err := client.Rollback(ctx, wire.RollbackRequest{}); return err },
		"DELETE /v1/projects/p/entities/e?expected_revision=7":    func() error { _, err := client.Delete(ctx, "entity", "e", &seven); return err },
		"DELETE /v1/projects/p":                                   func() error { _, err := client.DeleteProject(ctx, nil); return err },
		"GET /v1/projects":                                        func() error { _, err := client.Projects(ctx); return err },
		"GET /v1/projects/other":                                  func() error { _, _, err := client.Project("other").Definitions(ctx); return err },
		"GET /v1/projects/p/views/a%2Fb":                          func() error { _, err := client.View(ctx, "a/b"); return err },
		"GET /v1/projects/p/revisions":                            func() error { _, err := client.History(ctx); return err },
		"POST /v1/projects/p/materializations":                    func() error { _, err := client.Materialize(ctx, wire.MaterializeRequest{}); return err },
		"GET /v1/projects/p/materializations/j":                   func() error { _, err := client.Job(ctx, "j"); return err },
		"GET /v1/projects/p/materializations":                     func() error { _, err := client.Jobs(ctx); return err },
		"DELETE /v1/projects/p/materializations/j":                func() error { _, err := client.CancelJob(ctx, "j"); return err },
		"DELETE /v1/projects/p/views/v/rows":                      func() error { _, err := client.Erase(ctx, "v", wire.EraseRequest{}); return err },
		"GET /version":                                            func() error { _, err := client.Version(ctx); return err },
		"GET /readyz":                                             func() error { return client.Ready(ctx) },
		"POST /v1/projects/p/features/online":                     func() error { _, err := client.OnlineFeatures(ctx, wire.OnlineRequest{}); return err },
		"POST /v1/projects/p/views/v/rows?strict=true&to=offline": func() error { return pushStrict(ctx, client) },
	} {
		require.NoError(t, call())
		require.Equal(t, want, got)
	}
	_, err := client.Delete(ctx, "thing", "x", nil)
	require.ErrorContains(t, err, "is not a kind")
	require.NoError(t, client.Close())
}

func pushStrict(ctx context.Context, c *Client) error {
	_, err := c.Push(ctx, "v", feature.FormatCSV, strings.NewReader(""), wire.PushOptions{Offline: true, Strict: true})
	return err
}
