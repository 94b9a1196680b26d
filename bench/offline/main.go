// Command offline measures the offline engine: the point-in-time join (P5, P6)
// and ingest (P11) against DuckDB and Polars on the same rows.
//
//	go run ./bench/offline                 a million rows, a few minutes
//	go run ./bench/offline -full           ten million rows
//	go run ./bench/offline -only P6
//
// Both sides run in processes of their own, in turn, after one call to warm up;
// an answer counts only if its hash is that of the oracle. The line of the
// fastest right answer has the plain id; that of what a user writes (DuckDB's
// ASOF join on the sorted file, ties left open) has a u behind it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/granary-ml/granary/bench/peers"
	"github.com/granary-ml/granary/bench/report"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func start() error {
	full := flag.Bool("full", false, "ten million rows instead of one")
	only := flag.String("only", "", "run one benchmark, such as P6")
	runs := flag.Int("runs", 3, "rounds; the median counts")
	work := flag.String("worker", "", "run one case in this process (used by the command itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *work != "" {
		return worker(ctx, *work)
	}
	return measure(ctx, *full, *only, *runs)
}

// bench is what every benchmark works with.
type bench struct {
	env  *peers.Env
	data string
	runs int
	full bool
}

func measure(ctx context.Context, full bool, only string, runs int) error {
	env, err := peers.Open(ctx)
	if err != nil {
		return err
	}
	b := &bench{env: env, data: filepath.Join("bench", "data", "short"), runs: runs, full: full}
	args := []string{"--preset", "1m", "--views", "1", "--spines", "10000,100000,1000000", "--layouts", "sorted,unsorted,csv"}
	if full {
		b.data = filepath.Join("bench", "data", "10m")
		args = []string{"--preset", "10m", "--layouts", "sorted,unsorted,csv"}
	}
	if err := env.Generate(ctx, b.data, args...); err != nil {
		return err
	}
	var lines []report.Line
	for _, part := range []struct {
		id  string
		run func(context.Context) ([]report.Line, error)
	}{{"P5", b.dense}, {"P6", b.sparse}, {"P11", b.ingest}} {
		if only != "" && only != part.id {
			continue
		}
		more, err := part.run(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", part.id, err)
		}
		lines = append(lines, more...)
	}
	return report.Write(os.Stdout, filepath.Join("bench", "out"), lines)
}

// job is one measured thing of ours, done in a process of its own.
type job struct {
	Mode    string `json:"mode"` // load, join, ingest
	Data    string `json:"data"`
	Store   string `json:"store"`
	Spine   string `json:"spine,omitempty"`
	Sink    string `json:"sink,omitempty"`   // arrow, parquet
	Source  string `json:"source,omitempty"` // parquet, csv
	Warmups int    `json:"warmups"`
}

// outcome is what a worker prints.
type outcome struct {
	Seconds float64 `json:"seconds"`
	PeakMB  float64 `json:"peak_mb"`
	Hash    string  `json:"hash"`
	Rows    int64   `json:"rows"`
}

// run does a job in a process of its own.
func run(ctx context.Context, j job) (outcome, error) {
	var out outcome
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	spec, err := json.Marshal(j)
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(ctx, self, "-worker", string(spec)) //nolint:gosec // ourselves
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w", spec, err)
	}
	err = json.Unmarshal(text, &out)
	return out, err
}

// side collects the runs of one program.
type side struct {
	name    string
	seconds []float64
	peak    []float64
	wrong   bool
}

func (s *side) add(seconds, peak float64, right bool) {
	s.seconds, s.peak, s.wrong = append(s.seconds, seconds), append(s.peak, peak), s.wrong || !right
}

// sides keeps the peers of a comparison by the name of their case.
type sides map[string]*side

func (s sides) of(name string) *side {
	if s[name] == nil {
		s[name] = &side{name: name}
	}
	return s[name]
}

// best returns the fastest side whose answers were right.
func (s sides) best() *side {
	var best *side
	for _, one := range s {
		if !one.wrong && (best == nil || report.Median(one.seconds) < report.Median(best.seconds)) {
			best = one
		}
	}
	return best
}

// line compares ours with a peer. What a user writes may leave ties open, so
// its own hash is not asked for; ours always is.
func line(id, name string, ours, peer *side) report.Line {
	l := report.New(id, name, report.Lower, report.Median(ours.seconds), report.Median(peer.seconds))
	l.Unit, l.PeerName, l.Runs, l.Equal = "s", peer.name, len(ours.seconds), !ours.wrong
	l.PeakMB, l.PeerPeakMB = report.Median(ours.peak), report.Median(peer.peak)
	return l
}

// isUsers tells whether a case of DuckDB is what a user writes.
func isUsers(m *peers.Measured) bool {
	return m.Peer == "duckdb" && strings.Contains(m.Case, "/parquet/asof/")
}
