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
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"

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
	full := flag.Bool("full", false, "two million rows of 53 columns instead of one of 13")
	runs := flag.Int("runs", 5, "rounds; the median counts")
	work := flag.String("worker", "", "run one case in this process (used by the command itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *work != "" {
		return worker(ctx, *work)
	}
	env, err := peers.Open(ctx)
	if err != nil {
		return err
	}
	data, args := "short", []string{"--preset", "1m", "--views", "1", "--spines", "10000,100000,1000000", "--layouts", "sorted,unsorted,csv"}
	if *full {
		data, args = "wide", []string{"--preset", "wide"}
	}
	b := &bench{env: env, data: filepath.Join("bench", "data", data), runs: *runs}
	if err := env.Generate(ctx, b.data, args...); err != nil {
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

// side collects the runs of one program.
type side struct {
	name          string
	seconds, peak []float64
	wrong         bool
}

func (s *side) add(seconds, peak float64, right bool) {
	s.seconds, s.peak, s.wrong = append(s.seconds, seconds), append(s.peak, peak), s.wrong || !right
}

// compare runs one case of ours and of each peer in turn.
func (b *bench) compare(ctx context.Context, columns int, mode string) (report.Line, error) {
	ours, others := &side{name: "granary"}, map[string]*side{}
	for range b.runs {
		out, err := run(ctx, job{File: filepath.Join(b.data, "history", "v00", "sorted.parquet"), Columns: columns, Mode: mode})
		if err != nil {
			return report.Line{}, err
		}
		ours.add(out.Seconds, out.PeakMB, true)
		measured, err := b.env.Run(ctx, "scan.py", b.data, "--columns", strconv.Itoa(columns), "--mode", mode, "--threads", "2", "--runs", "1")
		if err != nil {
			return report.Line{}, err
		}
		for i := range measured {
			m := &measured[i]
			if m.Failed != "" {
				continue
			}
			name := m.Peer + " " + m.Version
			if others[name] == nil {
				others[name] = &side{name: name}
			}
			others[name].add(m.Seconds, m.PeakMB, m.HasHash(out.Hash))
		}
	}
	var best *side
	for _, s := range others {
		if !s.wrong && (best == nil || report.Median(s.seconds) < report.Median(best.seconds)) {
			best = s
		}
	}
	if best == nil {
		return report.Line{}, fmt.Errorf("no peer read what we read (%d columns, %s)", columns, mode)
	}
	share := "all columns"
	if columns > 0 {
		share = fmt.Sprintf("%d columns", columns)
	}
	l := report.New("P10", fmt.Sprintf("%s, %s, %s", filepath.Base(b.data), share, mode), report.Lower,
		report.Median(ours.seconds), report.Median(best.seconds))
	l.Unit, l.PeerName, l.Runs, l.Equal = "s", best.name, b.runs, true
	l.PeakMB, l.PeerPeakMB = report.Median(ours.peak), report.Median(best.peak)
	return l, nil
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
