// Command scan measures reading Parquet into Arrow (P10) against pyarrow, DuckDB
// and Polars, on a file that pyarrow wrote: all columns and three, as a whole
// table in memory and batch by batch.
//
//	go run ./bench/scan          a million rows of 13 columns
//	go run ./bench/scan -full    two million of 53
//
// Both sides run in processes of their own, in turn, after one call to warm up.
// A peer counts only if its answer has the hash of ours.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/bench/peers"
	"github.com/granary-ml/granary/bench/report"
)

func main() { harness.Main(start) }

func start(ctx context.Context) error {
	full := flag.Bool("full", false, "two million rows of 53 columns instead of one of 13")
	runs := flag.Int("runs", 5, "rounds; the median counts")
	work := flag.String("worker", "", "run one case in this process (used by the command itself)")
	flag.Parse()
	if *work != "" {
		return worker(ctx, *work)
	}
	env, err := peers.Open(ctx)
	if err != nil {
		return err
	}
	set := peers.Short
	if *full {
		set = peers.Wide
	}
	b := &bench{env: env, runs: *runs}
	if b.data, err = env.Data(ctx, set); err != nil {
		return err
	}
	var lines []report.Line
	for _, columns := range []int{0, 3} {
		for _, mode := range []string{"table", "stream"} {
			l, err := b.compare(ctx, columns, mode)
			if err != nil {
				return fmt.Errorf("P10: %w", err)
			}
			lines = append(lines, l)
		}
	}
	return report.Write(os.Stdout, filepath.Join("bench", "out"), lines)
}

type bench struct {
	env  *peers.Env
	data string
	runs int
}

// compare runs one case of ours and of each peer in turn.
func (b *bench) compare(ctx context.Context, columns int, mode string) (report.Line, error) {
	ours, others := &harness.Side{Name: "granary"}, harness.Sides{}
	for range b.runs {
		out, err := run(ctx, job{File: filepath.Join(b.data, "history", "v00", "sorted.parquet"), Columns: columns, Mode: mode})
		if err != nil {
			return report.Line{}, err
		}
		ours.Add(out.Seconds, out.PeakMB, true)
		measured, err := b.env.Run(ctx, "scan.py", b.data, "--columns", strconv.Itoa(columns), "--mode", mode, "--threads", "2", "--runs", "1")
		if err != nil {
			return report.Line{}, err
		}
		for i := range measured {
			m := &measured[i]
			if m.Failed != "" {
				continue
			}
			others.Of(m.Peer+" "+m.Version).Add(m.Seconds, m.PeakMB, m.HasHash(out.Hash))
		}
	}
	best := others.Best()
	if best == nil {
		return report.Line{}, fmt.Errorf("no peer read what we read (%d columns, %s)", columns, mode)
	}
	share := "all columns"
	if columns > 0 {
		share = fmt.Sprintf("%d columns", columns)
	}
	return harness.Line("P10", fmt.Sprintf("%s, %s, %s", filepath.Base(b.data), share, mode), ours, best), nil
}

// job is one case, done in a process of its own.
type job struct {
	File    string `json:"file"`
	Columns int    `json:"columns"` // features to read, 0 for all columns
	Mode    string `json:"mode"`    // table, stream
}

// outcome is what a worker prints.
type outcome struct {
	Seconds float64 `json:"seconds"`
	PeakMB  float64 `json:"peak_mb"`
	Hash    string  `json:"hash"`
}

func run(ctx context.Context, j job) (outcome, error) { return harness.Work[outcome](ctx, j) }
