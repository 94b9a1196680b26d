// Package harness is what the benchmark programs share: the frame of a
// program, measured work in a process of its own, and the sides of a
// comparison.
package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"

	"github.com/granary-ml/granary/bench/report"
)

// Main runs a benchmark until it ends or is interrupted, and ends the process.
func Main(run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// Self runs this program again with other arguments, as a process of its own,
// and returns the JSON that it prints.
func Self[T any](ctx context.Context, args ...string) (T, error) {
	var out T
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	cmd := exec.CommandContext(ctx, self, args...) //nolint:gosec // ourselves
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	err = json.Unmarshal(text, &out)
	return out, err
}

// Work is Self for a program that takes what to do as JSON behind -worker.
func Work[T any](ctx context.Context, job any) (T, error) {
	spec, err := json.Marshal(job)
	if err != nil {
		var none T
		return none, err
	}
	return Self[T](ctx, "-worker", string(spec))
}

var highWater = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// PeakMB is the most memory that this process has held, in MiB; 0 where the
// system does not tell.
func PeakMB() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	m := highWater.FindSubmatch(status)
	if m == nil {
		return 0
	}
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	if err != nil {
		return 0
	}
	return kb / 1024
}

// Side collects the runs of one program. It is wrong if one of its answers was.
type Side struct {
	Name    string
	Seconds []float64
	Peak    []float64 // MiB
	Wrong   bool
}

// Add adds a run.
func (s *Side) Add(seconds, peak float64, right bool) {
	s.Seconds, s.Peak, s.Wrong = append(s.Seconds, seconds), append(s.Peak, peak), s.Wrong || !right
}

// Sides are the peers of a comparison by the name of their case.
type Sides map[string]*Side

// Of returns the side of a name.
func (s Sides) Of(name string) *Side {
	if s[name] == nil {
		s[name] = &Side{Name: name}
	}
	return s[name]
}

// Best returns the fastest side whose answers were right; nil if there is none.
func (s Sides) Best() *Side {
	var best *Side
	for _, one := range s {
		if !one.Wrong && (best == nil || report.Median(one.Seconds) < report.Median(best.Seconds)) {
			best = one
		}
	}
	return best
}

// Line compares ours with a peer by seconds. Equal says that ours was right:
// what a user writes may leave ties open, so a peer's own hash is not asked
// for here.
func Line(id, name string, ours, peer *Side) report.Line {
	l := report.New(id, name, report.Lower, report.Median(ours.Seconds), report.Median(peer.Seconds))
	l.Unit, l.PeerName, l.Runs, l.Equal = "s", peer.Name, len(ours.Seconds), !ours.Wrong
	l.PeakMB, l.PeerPeakMB = report.Median(ours.Peak), report.Median(peer.Peak)
	return l
}
