// Package peers runs the Python side of the benchmarks: the generator of the
// data and the same work on other systems. The scripts stand beside this file;
// each prints one JSON line per case.
package peers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Env is the Python environment of the peers and the folder of the scripts.
type Env struct {
	python  string
	scripts string
}

// Open builds the environment of internal/tools/requirements-bench.txt if it is
// not there yet, which takes a minute or two. It is called from the module's
// root.
func Open(ctx context.Context) (*Env, error) {
	out, err := output(exec.CommandContext(ctx, "sh", filepath.Join("internal", "tools", "cache.sh"), "python-bench")) //nolint:gosec // our own script, no input
	if err != nil {
		return nil, err
	}
	return &Env{python: strings.TrimSpace(string(out)), scripts: filepath.Join("bench", "peers")}, nil
}

// Measured is one line of a script.
type Measured struct {
	Peer    string  `json:"peer"`
	Version string  `json:"version"`
	Case    string  `json:"case"`
	Rows    int64   `json:"rows"`
	Seconds float64 `json:"seconds_median"`
	PeakMB  float64 `json:"peak_rss_mb"`
	Hash    any     `json:"answer_hash"`
	Failed  string  `json:"error"`
}

// HasHash tells whether the answer's hash was the wanted one in every run.
func (m *Measured) HasHash(want string) bool { return m.Hash == want }

// Run runs a script and returns the lines it printed.
func (e *Env) Run(ctx context.Context, script string, args ...string) ([]Measured, error) {
	cmd := exec.CommandContext(ctx, e.python, append([]string{filepath.Join(e.scripts, script)}, args...)...) //nolint:gosec // our own scripts
	cmd.Env = append(os.Environ(), "POLARS_MAX_THREADS=2", "PYTHONDONTWRITEBYTECODE=1")
	out, err := output(cmd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", script, err)
	}
	var lines []Measured
	for line := range bytes.Lines(out) {
		var m Measured
		if err := json.Unmarshal(line, &m); err != nil {
			return nil, fmt.Errorf("%s printed %q: %w", script, line, err)
		}
		lines = append(lines, m)
	}
	return lines, nil
}

// DataSet is what the generator makes, in a folder of bench/data.
type DataSet struct {
	Name string
	Args []string
}

// The data sets.
var (
	// Short is a million rows of ten features.
	Short = DataSet{"short", []string{"--preset", "1m", "--views", "1", "--spines", "10000,100000,1000000", "--layouts", "sorted,unsorted,csv"}}
	// TenMillion is ten of them.
	TenMillion = DataSet{"10m", []string{"--preset", "10m", "--layouts", "sorted,unsorted,csv"}}
	// Wide is two million rows of fifty features.
	Wide = DataSet{"wide", []string{"--preset", "wide"}}
)

// Data returns the folder of a data set, which it makes unless it is there.
func (e *Env) Data(ctx context.Context, set DataSet) (string, error) {
	dir := filepath.Join("bench", "data", set.Name)
	if _, err := os.Stat(filepath.Join(dir, "manifest.json")); err == nil {
		return dir, nil
	}
	_, err := e.Run(ctx, "gen.py", append([]string{dir}, set.Args...)...)
	return dir, err
}

// Answer returns the hash that the join of a spine must have, by the oracle.
func (e *Env) Answer(ctx context.Context, dir, spine string, views int) (string, error) {
	lines, err := e.Run(ctx, "oracle.py", dir, "--spine", spine, "--views", strconv.Itoa(views))
	if err != nil {
		return "", err
	}
	if len(lines) != 1 {
		return "", fmt.Errorf("the oracle printed %d lines where one is expected", len(lines))
	}
	hash, ok := lines[0].Hash.(string)
	if !ok {
		return "", errors.New("the oracle printed no hash")
	}
	return hash, nil
}

// output runs a command and adds what it wrote to standard error to a failure.
func output(cmd *exec.Cmd) ([]byte, error) {
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("%w: %s", err, bytes.TrimSpace(exit.Stderr))
	}
	return out, err
}
