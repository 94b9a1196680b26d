package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/testutil"
)

// The tests of this file run the binary as processes of their own, which are
// killed, interrupted, or held to a limit; what stays is looked at in the test.

const countersYAML = `
entities:
  - name: counter
    join_keys: [{name: k, type: int64}]
views:
  - name: counters
    entities: [counter]
    features: [{name: v, type: int64}]
`

// counterRow is a row of the view counters.
type counterRow struct {
	k, v  int64
	event int64 // seconds after the start of 2024
}

// newCounters makes a project with the view counters in the working directory,
// which becomes a folder of the test.
func newCounters(t *testing.T) *shell {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("features.yaml", []byte(countersYAML), 0o600))
	sh := newShell()
	sh.clock = clock.Real{} // as the processes have it
	sh.must(t, "apply")
	return sh
}

func writeCounters(t *testing.T, path string, rows []counterRow) {
	t.Helper()
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	var b bytes.Buffer
	b.WriteString("k,event_timestamp,v\n")
	for _, r := range rows {
		fmt.Fprintf(&b, "%d,%s,%d\n", r.k, start.Add(time.Duration(r.event)*time.Second).Format(time.RFC3339), r.v)
	}
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}

// counters is what the stores should hold: the naive rule over all rows so far.
type counters struct {
	rows   int64
	newest map[int64]counterRow
}

// add takes rows in the order in which they arrive.
func (c *counters) add(rows []counterRow) {
	for _, r := range rows {
		c.rows++
		if old, ok := c.newest[r.k]; !ok || r.event >= old.event {
			c.newest[r.k] = r
		}
	}
}

// check compares the table and, if online is set, the online store.
func (c *counters) check(t *testing.T, sh *shell, online bool) {
	t.Helper()
	require.Equal(t, c.rows, exportedRows(t, sh))
	if !online {
		return
	}
	keys, want := []string{}, []string{}
	for k, r := range c.newest {
		keys, want = append(keys, strconv.FormatInt(k, 10)), append(want, strconv.FormatInt(r.v, 10))
	}
	var answer wire.OnlineResponse
	text := sh.must(t, "get", "counters:v", "-e", "k="+strings.Join(keys, ","), "--json")
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	for i, got := range answer.Columns[1].Values {
		require.Equal(t, want[i], string(got), "key %s", keys[i])
	}
}

// exportedRows counts the rows of the table.
func exportedRows(t *testing.T, sh *shell) (n int64) {
	t.Helper()
	r, err := ipc.NewReader(strings.NewReader(sh.must(t, "export", "counters", "--out", "-")))
	require.NoError(t, err)
	defer r.Release()
	for r.Next() {
		require.IsType(t, &array.Int64{}, r.Record().Column(0))
		n += r.Record().NumRows()
	}
	require.NoError(t, r.Err())
	return n
}

// killAfter starts a process and kills it at some moment; whether it had ended
// by then does not matter.
func killAfter(t *testing.T, wait time.Duration, signal os.Signal, name string, args ...string) (stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	var out bytes.Buffer
	cmd.Stderr = &out
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(wait, func() { _ = cmd.Process.Signal(signal) })
	err = cmd.Wait()
	timer.Stop()
	return out.String(), err
}

// killRounds is how often each is killed in `make test`; GRANARY_KILL_ROUNDS
// raises it for `make soak`.
func killRounds(t *testing.T) int {
	t.Helper()
	text, ok := os.LookupEnv("GRANARY_KILL_ROUNDS")
	if !ok {
		return 50
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err)
	return n
}

// TestKill kills ingest and materialize at random moments and runs them again:
// the state is that of one run of each, whatever was killed and when.
func TestKill(t *testing.T) {
	binary := testutil.Granary(t)
	sh := newCounters(t)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	want := counters{newest: map[int64]counterRow{}}
	// The first round is not killed: it tells how long a run takes.
	longest := map[string]time.Duration{"ingest": 0, "materialize": 0}
	rounds := killRounds(t)
	for round := range rounds + 1 {
		rows := make([]counterRow, 500)
		for i := range rows {
			rows[i] = counterRow{k: random.Int64N(200), v: random.Int64(), event: random.Int64N(1000)}
		}
		file := fmt.Sprintf("batch-%d.csv", round)
		writeCounters(t, file, rows)
		for _, step := range [][]string{
			{"ingest", "counters", file, "--idempotency-key", file},
			{"materialize"},
		} {
			start := time.Now()
			wait := time.Minute
			if round > 0 {
				wait = time.Duration(random.Int64N(int64(longest[step[0]])))
			}
			_, _ = killAfter(t, wait, os.Kill, binary, step...)
			if round == 0 {
				longest[step[0]] = time.Since(start)
			}
			sh.must(t, step...)
		}
		want.add(rows)
		want.check(t, sh, true)
	}
}

// TestInterrupt stops an ingest as Ctrl-C does, at random moments: either all of
// it has landed or nothing, and the exit code says which.
func TestInterrupt(t *testing.T) {
	binary := testutil.Granary(t)
	sh := newCounters(t)
	random := rand.New(rand.NewPCG(1, 1))
	rows := make([]counterRow, 50_000)
	for i := range rows {
		rows[i] = counterRow{k: random.Int64N(1000), v: random.Int64(), event: random.Int64N(1000)}
	}
	writeCounters(t, "rows.csv", rows)
	start := time.Now()
	_, err := killAfter(t, time.Minute, os.Interrupt, binary, "ingest", "counters", "rows.csv")
	require.NoError(t, err)
	whole := time.Since(start)
	landed, interrupted := int64(1), 0
	for range 10 {
		stderr, err := killAfter(t, time.Duration(random.Int64N(int64(whole))), os.Interrupt, binary, "ingest", "counters", "rows.csv")
		var exit *exec.ExitError
		switch {
		case err == nil:
			landed++
		case errors.As(err, &exit) && exit.ExitCode() == exitError:
			require.Contains(t, stderr, "granary: interrupted")
			interrupted++
		}
		require.Equal(t, landed*int64(len(rows)), exportedRows(t, sh), "%v %s", err, stderr)
	}
	require.Positive(t, interrupted, "no signal came in time")
	left, err := filepath.Glob(".granary/**/*.tmp*")
	require.NoError(t, err)
	require.Empty(t, left)
}

// TestTwoProcesses runs a command beside a server on the same folder: what needs
// the online store is refused with the way out, the rest works, and the server
// sees what it did.
func TestTwoProcesses(t *testing.T) {
	binary := testutil.Granary(t)
	sh := newCounters(t)
	url := serveProcess(t, binary)
	writeCounters(t, "rows.csv", []counterRow{{k: 1, v: 7}})
	var sum ingest.Summary
	require.NoError(t, json.Unmarshal([]byte(sh.must(t, "ingest", "counters", "rows.csv", "--json")), &sum))
	require.Equal(t, int64(1), sum.Accepted)
	for _, args := range [][]string{{"materialize"}, {"get", "counters:v", "-e", "k=1"}, {"serve", "--listen", "127.0.0.1:0"}} {
		stdout, stderr, code := sh.run(t.Context(), args...)
		require.Equal(t, exitError, code, stdout)
		require.Contains(t, stderr, "another process has the online store open (stop it, or talk to it through its server)")
	}
	sh.server = url
	sh.must(t, "materialize")
	require.Contains(t, sh.must(t, "get", "counters:v", "-e", "k=1"), "7")
}

// serveProcess runs a server until the test ends, which has to end well.
func serveProcess(t *testing.T, binary string) (url string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "serve", "--listen", "127.0.0.1:0")
	stderr, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := bufio.NewReader(stderr)
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		rest, _ := io.ReadAll(lines)
		require.NoError(t, cmd.Wait(), "%s", rest)
	})
	line, err := lines.ReadString('\n')
	require.NoError(t, err)
	_, url, ok := strings.Cut(strings.TrimSpace(line), "serving on ")
	require.True(t, ok, line)
	return url
}

// TestFullDisk lets no file grow beyond a limit, as a full disk would: the
// command says so, nothing has landed, and it works once there is room.
func TestFullDisk(t *testing.T) {
	binary := testutil.Granary(t)
	sh := newCounters(t)
	rows := make([]counterRow, 20_000)
	for i := range rows {
		rows[i] = counterRow{k: int64(i), v: int64(i) * 7919, event: int64(i)}
	}
	writeCounters(t, "rows.csv", rows)
	stderr, err := killAfter(t, time.Minute, os.Kill, "sh", "-c", `ulimit -f 8; exec "$0" "$@"`, binary, "ingest", "counters", "rows.csv")
	require.Error(t, err)
	require.Contains(t, stderr, "file too large")
	require.Zero(t, exportedRows(t, sh))
	sh.must(t, "ingest", "counters", "rows.csv")
	require.Equal(t, int64(len(rows)), exportedRows(t, sh))
}
