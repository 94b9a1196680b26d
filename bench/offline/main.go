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
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/bench/peers"
	"github.com/granary-ml/granary/bench/report"
)

func main() { harness.Main(start) }

func start(ctx context.Context) error {
	full := flag.Bool("full", false, "ten million rows instead of one")
	only := flag.String("only", "", "run one benchmark, such as P6")
	runs := flag.Int("runs", 3, "rounds; the median counts")
	work := flag.String("worker", "", "run one case in this process (used by the command itself)")
	flag.Parse()
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
	b := &bench{env: env, runs: runs, full: full}
	set := peers.Short
	if full {
		set = peers.TenMillion
	}
	if b.data, err = env.Data(ctx, set); err != nil {
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
func run(ctx context.Context, j job) (outcome, error) { return harness.Work[outcome](ctx, j) }

// isUsers tells whether a case of DuckDB is what a user writes.
func isUsers(m *peers.Measured) bool {
	return m.Peer == "duckdb" && strings.Contains(m.Case, "/parquet/asof/")
}
