// Command lookup measures the lookup over HTTP/JSON on Pebble: one entity (P1)
// and a hundred (P2) times fifty features of five views, against a net/http
// handler behind mux that writes the same bytes.
//
//	go run ./bench/lookup                    a minute
//	go run ./bench/lookup -seconds 5 -runs 7
//
// Both sides are servers in this process, asked in turn by the same closed
// loop over kept connections; every answer is compared before a time counts.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/bench/report"
)

func main() { harness.Main(start) }

func start(ctx context.Context) error {
	entities := flag.Int("entities", 10_000, "entities that are stored")
	seconds := flag.Float64("seconds", 2, "length of one run of one side")
	runs := flag.Int("runs", 5, "rounds; the median counts")
	conns := flag.Int("conns", 16, "connections")
	profile := flag.String("cpuprofile", "", "write a CPU profile to this file")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			return err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	dir, err := os.MkdirTemp("", "granary-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	w, err := openWorld(ctx, dir, *entities)
	if err != nil {
		return err
	}
	var lines []report.Line
	for _, c := range []struct {
		id   string
		rows int
	}{{"P1", 1}, {"P2", 100}} {
		line, err := measure(ctx, w, shape{c.id, c.rows, *conns, *runs, time.Duration(*seconds * float64(time.Second))})
		if err != nil {
			return fmt.Errorf("%s: %w", c.id, err)
		}
		lines = append(lines, line)
	}
	if err := w.close(); err != nil {
		return err
	}
	return report.Write(os.Stdout, filepath.Join("bench", "out"), lines)
}

// shape is how one case is run.
type shape struct {
	id       string
	rows     int
	conns    int
	runs     int
	duration time.Duration
}

// measure runs both sides in turn.
func measure(ctx context.Context, w *world, s shape) (report.Line, error) {
	bodies := w.requests(s.rows)
	answers, err := w.answers(ctx, bodies)
	if err != nil {
		return report.Line{}, err
	}
	peer, err := servePeer(ctx, answers)
	if err != nil {
		return report.Line{}, err
	}
	defer peer.stop()
	ours := load{addr: w.server.addr, requests: render(bodies, func(int) string { return lookupPath })}
	theirs := load{addr: peer.addr, requests: render(bodies, func(i int) string { return fmt.Sprintf("%s/%d", lookupPath, i) })}
	for _, side := range []load{ours, theirs} {
		if err := side.verify(ctx, answers); err != nil {
			return report.Line{}, err
		}
	}
	var rates, peerRates, allocs []float64
	for range s.runs {
		one, err := ours.run(ctx, s)
		if err != nil {
			return report.Line{}, err
		}
		other, err := theirs.run(ctx, s)
		if err != nil {
			return report.Line{}, err
		}
		rates, peerRates, allocs = append(rates, one.rate), append(peerRates, other.rate), append(allocs, one.allocs)
	}
	name := fmt.Sprintf("HTTP/JSON lookup, %d entities x %d features of %d views, Pebble", s.rows, views*perView, views)
	l := report.New(s.id, name, report.Higher, report.Median(rates), report.Median(peerRates))
	l.Unit, l.PeerName, l.Runs, l.Equal = "requests/s", "net/http behind mux, same bytes", s.runs, true
	l.Extra = map[string]any{
		"stored_entities": w.entities, "hit_rate": 1.0, "connections": s.conns,
		"bytes_per_answer": len(answers[0]), "allocs_per_request": report.Median(allocs),
	}
	return l, nil
}
