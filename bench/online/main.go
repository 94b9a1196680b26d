// Command online measures the online store: materialization into Pebble (P12)
// against a loop that sets the same rows in batches.
//
//	go run ./bench/online                 a million rows, half a minute
//	go run ./bench/online -full           ten million rows, a few minutes
//
// Every side runs in a process of its own, in turn, on the same rows; an answer
// counts only if the hash of all rows that are read back is the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/bench/report"
)

func main() { harness.Main(start) }

func start(ctx context.Context) error {
	full := flag.Bool("full", false, "ten million rows of a million entities instead of a tenth of both")
	runs := flag.Int("runs", 3, "rounds; the median counts")
	side := flag.String("worker", "", "run one side in this process (used by the command itself)")
	flag.Parse()
	work := workload{Entities: 100_000, PerEntity: 10}
	if *full {
		work.Entities = 1_000_000
	}
	if *side != "" {
		return worker(ctx, work, *side)
	}
	line, err := measure(ctx, work, *full, *runs)
	if err != nil {
		return err
	}
	return report.Write(os.Stdout, filepath.Join("bench", "out"), []report.Line{line})
}

// outcome is what a worker prints.
type outcome struct {
	Seconds float64 `json:"seconds"`
	PeakMB  float64 `json:"peak_mb"`
	DiskMB  float64 `json:"disk_mb"`
	Hash    uint64  `json:"hash"`
}

// measure runs the sides in turn.
func measure(ctx context.Context, work workload, full bool, runs int) (report.Line, error) {
	seconds, peaks, last := map[string][]float64{}, map[string][]float64{}, map[string]outcome{}
	equal := true
	for range runs {
		for _, side := range sideNames {
			out, err := run(ctx, side, full)
			if err != nil {
				return report.Line{}, fmt.Errorf("%s: %w", side, err)
			}
			seconds[side], peaks[side], last[side] = append(seconds[side], out.Seconds), append(peaks[side], out.PeakMB), out
			equal = equal && out.Hash == last[sideNames[0]].Hash
		}
	}
	name := fmt.Sprintf("materialize %d rows of 10 float64 -> %d entities, Pebble", work.rows(), work.Entities)
	l := report.New("P12", name, report.Lower, report.Median(seconds[sideOurs]), report.Median(seconds[sideSet]))
	l.Unit, l.PeerName, l.Runs, l.Equal = "s", "pebble batches of 10k Set, synced", runs, equal
	l.PeakMB, l.PeerPeakMB = report.Median(peaks[sideOurs]), report.Median(peaks[sideSet])
	l.Extra = map[string]any{
		"input_mb":     float64(work.rows()) * 13 * 8 / 1e6,
		"disk_mb":      last[sideOurs].DiskMB,
		"peer_disk_mb": last[sideSet].DiskMB,
		// What storing costs without the newer-than rule: the newest rows alone,
		// set into an empty database.
		"set_newest_s": report.Median(seconds[sideNewest]),
		"rows_per_s":   float64(work.rows()) / report.Median(seconds[sideOurs]),
	}
	return l, nil
}

// run does one side in a process of its own.
func run(ctx context.Context, side string, full bool) (outcome, error) {
	return harness.Self[outcome](ctx, "-worker", side, fmt.Sprintf("-full=%v", full))
}

var errNoSide = errors.New("no such side")
