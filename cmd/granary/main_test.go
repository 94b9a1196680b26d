package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/internal/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is the time of every test that does not say another.
var noon = time.Date(2024, 1, 3, 12, 0, 0, 0, time.UTC)

// shell runs command lines inside the test, in the working directory.
type shell struct {
	clock  clock.Clock
	stdin  string
	server string // URL that is given to each command; empty for the local stores
	env    map[string]string
}

func newShell() *shell { return &shell{clock: clock.NewManual(noon), env: map[string]string{}} }

// run runs one command line and returns what it wrote and its exit code.
func (s *shell) run(ctx context.Context, args ...string) (stdout, stderr string, code int) {
	var out, err bytes.Buffer
	a := &app{stdin: strings.NewReader(s.stdin), stdout: &out, stderr: &err, clock: s.clock, env: func(name string) (string, bool) {
		v, ok := s.env[name]
		return v, ok
	}}
	if s.server != "" {
		args = append(args, "--server", s.server)
	}
	code = run(ctx, a, args)
	return out.String(), err.String(), code
}

// must runs a command line that has to succeed and returns what it printed.
func (s *shell) must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := s.run(t.Context(), args...)
	require.Zero(t, code, "granary %s: %s", strings.Join(args, " "), stderr)
	return stdout
}

// TestHelp holds the help of every command to its golden text.
func TestHelp(t *testing.T) {
	var paths []string
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		paths = append(paths, cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			if sub.Name() != "help" && sub.Name() != "completion" {
				walk(sub)
			}
		}
	}
	walk(newRoot(&app{stdout: io.Discard, stderr: io.Discard}))
	asked := map[string]bool{}
	datadriven.RunTest(t, "testdata/help", func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		asked[d.Input] = true
		words := strings.Fields(d.Input + " --help")
		return newShell().must(t, words[1:]...)
	})
	for _, path := range paths {
		require.True(t, asked[path], "testdata/help has no %q: add it", path)
	}
}

// TestFlagsHaveHelp asks of every flag a line of help that tells its default.
func TestFlagsHaveHelp(t *testing.T) {
	for text := range strings.SplitSeq(readFile(t, "testdata/help"), "\n") {
		if !regexp.MustCompile(`^\s+(-\w, )?--[\w-]+( \w+)?  +\w`).MatchString(text) || strings.Contains(text, "--help") {
			continue
		}
		require.Regexp(t, `\((no default|default .*)\)$`, text)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

// TestScript runs testdata/script. Each file starts in an empty folder:
//
//	file NAME     writes its input to a file
//	run [A=b …]   runs each line of its input, which starts with "granary", in
//	              an environment of the variables that are given
//
// What a command writes is printed, standard error with "! " before it, and its
// exit code if it is not 0. Every file is run on local stores and again through
// a server; both must print the same. Files named *.local tell what is so on
// local stores only.
func TestScript(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*")
	require.NoError(t, err)
	for _, file := range files {
		path, err := filepath.Abs(file)
		require.NoError(t, err)
		t.Run(filepath.Base(file)+"/local", func(t *testing.T) { runScript(t, path, false) })
		if filepath.Ext(path) == ".local" {
			continue
		}
		t.Run(filepath.Base(file)+"/server", func(t *testing.T) { runScript(t, path, true) })
	}
}

func runScript(t *testing.T, path string, remote bool) {
	t.Helper()
	t.Chdir(t.TempDir())
	sh := newShell()
	if remote {
		sh.server = startServer(t, sh)
		t.Chdir(t.TempDir())
	}
	datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
		t.Helper()
		switch d.Cmd {
		case "file":
			require.NoError(t, os.WriteFile(d.CmdArgs[0].Key, []byte(d.Input+"\n"), 0o600))
			return ""
		case "run":
			var out strings.Builder
			clear(sh.env)
			for _, arg := range d.CmdArgs {
				sh.env[arg.Key] = arg.Vals[0]
			}
			for line := range strings.SplitSeq(d.Input, "\n") {
				sh.scriptLine(t, &out, line)
			}
			return out.String()
		}
		d.Fatalf(t, "no such command")
		return ""
	})
}

// scriptLine runs one line of a script. "at TIME" sets the clock.
func (s *shell) scriptLine(t *testing.T, out *strings.Builder, line string) {
	t.Helper()
	words := splitWords(line)
	if words[0] == "at" {
		at, err := time.Parse(time.RFC3339, words[1])
		require.NoError(t, err)
		manual, ok := s.clock.(*clock.Manual)
		require.True(t, ok)
		manual.Set(at)
		return
	}
	require.Equal(t, "granary", words[0])
	stdout, stderr, code := s.run(t.Context(), words[1:]...)
	out.WriteString(mask(stdout))
	for text := range strings.Lines(mask(stderr)) {
		out.WriteString("! " + text)
	}
	if code != 0 {
		fmt.Fprintf(out, "exit %d\n", code)
	}
}

// splitWords splits a command line at blanks, except inside single quotes.
func splitWords(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
			continue
		}
		words = append(words, strings.Fields(part)...)
	}
	return words
}

// masks hide what differs from run to run.
var masks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`\bin \d+(\.\d+)? m?s\b`), "in 0 ms"},
	{regexp.MustCompile(`"seconds": [0-9.e-]+`), `"seconds": 0`},
	{regexp.MustCompile(`"id": "[a-z0-9]{20,}"`), `"id": "…"`},
	{regexp.MustCompile(` --server http://127\.0\.0\.1:\d+`), ""},
}

func mask(text string) string {
	for _, m := range masks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	return text
}

// startServer serves the stores of the working directory until the test ends.
func startServer(t *testing.T, sh *shell) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	stderr, w := io.Pipe()
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: w, clock: sh.clock, env: os.LookupEnv}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, a, []string{"serve", "--listen", "127.0.0.1:0"})
		_ = w.Close()
	}()
	line := make([]byte, 200)
	n, err := stderr.Read(line)
	require.NoError(t, err)
	logged := make(chan []byte, 1)
	go func() {
		data, _ := io.ReadAll(stderr)
		logged <- data
	}()
	t.Cleanup(func() {
		cancel()
		require.Zero(t, <-ended)
		if data := <-logged; t.Failed() {
			t.Logf("the server said: %s", data)
		}
	})
	_, url, ok := strings.Cut(strings.TrimSpace(string(line[:n])), "serving on ")
	require.True(t, ok, "%s", line[:n])
	return url
}
