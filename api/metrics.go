package api

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/granary-ml/granary/online"
)

// metrics are the counts of the surface. docs/http-api.md lists them

type metrics struct {
	registry *prometheus.Registry
	handler  http.Handler
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	sent     *prometheus.CounterVec
	received *prometheus.CounterVec
}

func newMetrics(m Monitor, extra []prometheus.Collector) *metrics {
	out := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "granary_http_requests_total", Help: "Requests that were answered, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "granary_http_request_seconds", Help: "Time from the request's header to the end of the answer.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60, 600},
		}, []string{"route"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "granary_http_requests_in_flight", Help: "Requests that are being answered.",
		}, []string{"route"}),
		sent: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "granary_http_response_bytes_total", Help: "Bytes of answers.",
		}, []string{"route"}),
		received: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "granary_http_request_bytes_total", Help: "Bytes of bodies, decoded.",
		}, []string{"route"}),
	}
	out.registry.MustRegister(out.requests, out.seconds, out.inFlight, out.sent, out.received, &serviceCollector{monitor: m},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	out.registry.MustRegister(extra...)
	out.handler = promhttp.HandlerFor(out.registry, promhttp.HandlerOpts{})
	return out
}

// routeMetrics are the counts of one route, found once.
type routeMetrics struct {
	requests *prometheus.CounterVec
	ok       prometheus.Counter
	seconds  prometheus.Observer
	inFlight prometheus.Gauge
	sent     prometheus.Counter
	received prometheus.Counter
}

func (m *metrics) route(name string) *routeMetrics {
	requests := m.requests.MustCurryWith(prometheus.Labels{"route": name})
	return &routeMetrics{
		requests: requests,
		ok:       requests.WithLabelValues("200"),
		seconds:  m.seconds.WithLabelValues(name),
		inFlight: m.inFlight.WithLabelValues(name),
		sent:     m.sent.WithLabelValues(name),
		received: m.received.WithLabelValues(name),
	}
}

func (m *routeMetrics) done(a *answer, took time.Duration) {
	if a.status == http.StatusOK {
		m.ok.Inc()
	} else {
		m.requests.WithLabelValues(strconv.Itoa(a.status)).Inc()
	}
	m.seconds.Observe(took.Seconds())
	m.sent.Add(float64(a.bytes))
	if a.body != nil {
		m.received.Add(float64(a.body.limit - a.body.left))
	}
}

// serviceCollector shows the counts of the service when they are asked for.
type serviceCollector struct{ monitor Monitor }

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

// The metrics of the service.
var (
	lookups    = describe("granary_online_lookups_total", "Lookups that were answered.")
	entities   = describe("granary_online_entities_total", "Entity rows of the lookups.")
	values     = describe("granary_online_values_total", "Values of the lookups, by status.", "status")
	pushes     = describe("granary_pushes_total", "Pushes that were answered, wholly or not.")
	pushedRows = describe("granary_push_rows_total", "Rows of the pushes, by what became of them.", "outcome")
	runs       = describe("granary_materializations_total", "Materializations that have ended, by state.", "state")
	running    = describe("granary_materializations_running", "Materializations that are running.")
)

// Describe implements prometheus.Collector.
func (c *serviceCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{lookups, entities, values, pushes, pushedRows, runs, running} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c *serviceCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.monitor.Stats()
	count := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	count(lookups, s.Lookups)
	count(entities, s.Entities)
	for status, n := range s.Values {
		count(values, n, online.Status(status).String())
	}
	count(pushes, s.Pushes)
	count(pushedRows, s.Accepted, "accepted")
	count(pushedRows, s.Rejected, "rejected")
	count(pushedRows, s.Superseded, "superseded")
	for state, n := range s.Jobs {
		count(runs, n, state)
	}
	ch <- prometheus.MustNewConstMetric(running, prometheus.GaugeValue, float64(s.Running))
}

func (s *Server) showMetrics(_ context.Context, w *answer, r *http.Request) error {
	s.metrics.handler.ServeHTTP(w, r)
	return nil
}
