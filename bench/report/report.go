// Package report prints the results of benchmarks as ratios: a table for
// people and one JSON line per case in bench/out/<id>.jsonl.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
)

// Line is one case. A Ratio above 1 always means that ours is better. A case
// counts only if Equal: both sides gave the same answer.
type Line struct {
	ID         string         `json:"id"`
	Case       string         `json:"case"`
	Ratio      float64        `json:"ratio"`
	Ours       float64        `json:"ours"`
	Peer       float64        `json:"peer"`
	Unit       string         `json:"unit"`
	PeerName   string         `json:"peer_name"`
	Runs       int            `json:"runs"`
	Cores      int            `json:"cores"`
	Equal      bool           `json:"equal"`
	PeakMB     float64        `json:"peak_mb,omitempty"`
	PeerPeakMB float64        `json:"peer_peak_mb,omitempty"`
	Commit     string         `json:"commit"`
	Go         string         `json:"go"`
	Extra      map[string]any `json:"extra,omitempty"` // sizes, hit rates, bytes per answer, allocations
}

// Better says which way a unit is good.
type Better int

// The ways.
const (
	Lower  Better = iota // seconds, bytes
	Higher               // rates
)

// New fills in what follows from the sides: the ratio, the machine, the commit.
func New(id, name string, better Better, ours, peer float64) Line {
	l := Line{ID: id, Case: name, Ours: ours, Peer: peer, Cores: runtime.NumCPU(), Go: runtime.Version(), Commit: commit()}
	if better == Lower && ours > 0 {
		l.Ratio = peer / ours
	}
	if better == Higher && peer > 0 {
		l.Ratio = ours / peer
	}
	return l
}

func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output() //nolint:noctx // a few milliseconds at the end
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// Write appends the lines to dir/<id>.jsonl and prints them as a table.
func Write(w io.Writer, dir string, lines []Line) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	for i := range lines {
		if err := appendLine(filepath.Join(dir, lines[i].ID+".jsonl"), &lines[i]); err != nil {
			return err
		}
	}
	return table(w, lines)
}

func appendLine(path string, l *Line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600) //nolint:gosec // the path is the benchmark's own
	if err != nil {
		return err
	}
	_, err = f.Write(append(data, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func table(w io.Writer, lines []Line) error {
	var text strings.Builder
	text.WriteString("id\tcase\tratio\tours\tpeer\tunit\tagainst\truns\tequal\tpeak MB\tpeer MB\n")
	for i := range lines {
		l := &lines[i]
		fmt.Fprintf(&text, "%s\t%s\t%.2f\t%.4g\t%.4g\t%s\t%s\t%d\t%v\t%.0f\t%.0f\n",
			l.ID, l.Case, l.Ratio, l.Ours, l.Peer, l.Unit, l.PeerName, l.Runs, l.Equal, l.PeakMB, l.PeerPeakMB)
	}
	tw := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	if _, err := io.WriteString(tw, text.String()); err != nil {
		return err
	}
	return tw.Flush()
}

// Median returns the median of runs; of none it is 0.
func Median(runs []float64) float64 {
	if len(runs) == 0 {
		return 0
	}
	s := slices.Clone(runs)
	slices.Sort(s)
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
