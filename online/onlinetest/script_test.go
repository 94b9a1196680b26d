package onlinetest

import (
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the golden scripts over the reference; with -rewrite it
// writes what the reference answers.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, scriptFolder, func(t *testing.T, path string) {
		t.Helper()
		datadriven.RunTest(t, path, newScript(NewReference()).run)
	})
}
