package api_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/online"
)

// counting is a service that has been used.
type counting struct{ stub }

func (counting) Stats() serving.Stats {
	return serving.Stats{
		Lookups: 3, Entities: 5, Values: [...]int64{online.Present: 7, online.NullValue: 1, online.NotFound: 2, online.OutsideMaxAge: 4},
		Pushes: 2, Accepted: 6, Rejected: 1, Superseded: 3, Jobs: map[string]int64{"done": 2}, Running: 1,
	}
}

func scrape(t *testing.T, h *host) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://granary/metrics", http.NoBody)
	require.NoError(t, err)
	resp, err := h.Do(req)
	require.NoError(t, err)
	data, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusOK, resp.StatusCode)
	return string(data)
}

func TestMetrics(t *testing.T) {
	extra := prometheus.NewGauge(prometheus.GaugeOpts{Name: "granary_of_others", Help: "Of a store."})
	h := serve(t, api.New(api.Deps{Service: &counting{stub{online: echo}}, Collectors: []prometheus.Collector{extra}}, api.Options{}))
	for range 2 {
		resp, _ := post(t, h, lookupURL, strings.NewReader(`{"a":1}`))
		require.Equal(t, http.StatusOK, resp.StatusCode)
	}
	resp, _ := post(t, h, lookupURL, strings.NewReader(`{}`), "Content-Type", "text/plain")
	require.Equal(t, http.StatusUnsupportedMediaType, resp.StatusCode)
	text := scrape(t, h)
	for _, line := range []string{
		`granary_http_requests_total{route="getOnlineFeatures",status="200"} 2`,
		`granary_http_requests_total{route="getOnlineFeatures",status="415"} 1`,
		`granary_http_request_seconds_count{route="getOnlineFeatures"} 3`,
		`granary_http_requests_in_flight{route="getOnlineFeatures"} 0`,
		`granary_http_requests_in_flight{route="metrics"} 1`,
		`granary_http_request_bytes_total{route="getOnlineFeatures"} 14`,
		`granary_online_lookups_total 3`,
		`granary_online_entities_total 5`,
		`granary_online_values_total{status="PRESENT"} 7`,
		`granary_online_values_total{status="NULL_VALUE"} 1`,
		`granary_online_values_total{status="NOT_FOUND"} 2`,
		`granary_online_values_total{status="OUTSIDE_MAX_AGE"} 4`,
		`granary_pushes_total 2`,
		`granary_push_rows_total{outcome="accepted"} 6`,
		`granary_materializations_total{state="done"} 2`,
		`granary_materializations_running 1`,
		`granary_of_others 0`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

// The names of metrics are a promise: dashboards are built on them.
func TestMetricNames(t *testing.T) {
	h := serve(t, api.New(api.Deps{Service: &counting{}}, api.Options{}))
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (granary_\S+ \S+)$`).FindAllStringSubmatch(scrape(t, h), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	require.Equal(t, []string{
		"granary_http_request_bytes_total counter",
		"granary_http_request_seconds histogram",
		"granary_http_requests_in_flight gauge",
		"granary_http_requests_total counter",
		"granary_http_response_bytes_total counter",
		"granary_materializations_running gauge",
		"granary_materializations_total counter",
		"granary_online_entities_total counter",
		"granary_online_lookups_total counter",
		"granary_online_values_total counter",
		"granary_push_rows_total counter",
		"granary_pushes_total counter",
	}, names)
}
