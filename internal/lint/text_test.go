package lint

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPackageComments asks of every package what it is.
func TestPackageComments(t *testing.T) {
	for _, p := range packages(t) {
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment: say in doc.go what it is, and where to start reading", p.name())
		}
	}
}

// A phrase that must not stand in the code, and why.
type phrase struct {
	pattern *regexp.Regexp
	tests   bool // it is about test files only
	reason  string
}

// The patterns are put together from parts so that this file does not match.
var phrases = []phrase{
	{
		pattern: regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X|HA` + `CK)\b`),
		reason:  "finish it, or say in plain words what is not done and why",
	},
	{
		pattern: regexp.MustCompile(`\bt\.(Skip|Skipf|SkipNow)\(|testing\.Sho` + `rt\(\)`),
		tests:   true,
		reason:  "a test that cannot have what it needs fails: start the thing, or fail with how to get it",
	},
	{
		pattern: regexp.MustCompile(`\btime\.Sle` + `ep\(`),
		tests:   true,
		reason:  "wait for the condition, set the clock, or use testing/synctest",
	},
}

func TestPhrases(t *testing.T) {
	for _, p := range packages(t) {
		for _, name := range slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles) {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			require.NoError(t, err)
			n := 0
			for line := range strings.Lines(string(data)) {
				n++
				for _, ph := range phrases {
					if ph.tests && !strings.HasSuffix(name, "_test.go") || !ph.pattern.MatchString(line) {
						continue
					}
					t.Errorf("%s/%s:%d: %q: %s", p.name(), name, n, strings.TrimSpace(line), ph.reason)
				}
			}
		}
	}
}
