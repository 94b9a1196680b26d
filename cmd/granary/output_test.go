package main

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
)

func TestTexts(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1000: "-1,000", -999: "-999", math.MaxInt64: "9,223,372,036,854,775,807",
	} {
		require.Equal(t, want, count(n))
	}
	require.Equal(t, "1 row", rowsText(1))
	require.Equal(t, "2,000 rows", rowsText(2000))
	for d, want := range map[time.Duration]string{
		0: "0 ms", 1500 * time.Microsecond: "1 ms", 1540 * time.Millisecond: "1.5 s", 61500 * time.Millisecond: "1m2s", 2 * time.Hour: "2h0m0s",
	} {
		require.Equal(t, want, seconds(d))
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1536: "1.5 KiB", 3 << 20: "3.0 MiB", 5 << 30: "5.0 GiB", 1 << 50: "1024.0 TiB"} {
		require.Equal(t, want, size(n))
	}
}

func TestDescribe(t *testing.T) {
	for want, err := range map[string]error{
		"plain":                         errors.New("plain"),
		"view p/v: gone":                feature.Errorf(feature.CodeNotFound, "registry.View", "view p/v", "gone"),
		"unavailable":                   &feature.Error{Code: feature.CodeUnavailable},
		"request: a: wrong":             &feature.Error{Subject: "request", Faults: []feature.Fault{{Field: "a", Detail: "wrong"}}},
		"internal:\n  a: 1\n  b: 2":     &feature.Error{Faults: []feature.Fault{{Field: "a", Detail: "1"}, {Field: "b", Detail: "2"}}},
		"interrupted":                   feature.Errorf(feature.CodeCanceled, "", "view", "context canceled"),
		"the first: one\nthe second: 2": errors.Join(feature.Errorf(0, "", "the first", "one"), feature.Errorf(0, "", "the second", "2")),
	} {
		require.Equal(t, want, describe(err))
	}
}

// TestProgressLines shows what is written where there is no terminal: a line
// every two seconds, with the rate and how long it takes.
func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	now := clock.NewManual(noon)
	p := (&app{stderr: &out, clock: now}).newProgress("ingest v")
	for i := range int64(6) {
		p.Update(i*10_000, i*10, 100)
		now.Advance(time.Second)
	}
	p.Update(60_000, 0, 0) // how much there is is not known
	p.End()
	require.Equal(t, `ingest v: 20,000 rows, 10,000 rows/s, 20%, 8.0 s left
ingest v: 40,000 rows, 10,000 rows/s, 40%, 6.0 s left
ingest v: 60,000 rows, 10,000 rows/s
`, out.String())
}

func TestProgressBar(t *testing.T) {
	var out bytes.Buffer
	now := clock.NewManual(noon)
	p := newBar(&out, meter{what: "ingest v", clock: now, start: now.Now()})
	now.Advance(time.Second)
	p.Update(50_000, 50, 100)
	require.Contains(t, out.String(), "ingest v  50,000 rows  50,000 rows/s")
	require.Contains(t, out.String(), "50%")
	p.End()
	require.True(t, strings.HasSuffix(out.String(), "\r"), "%q", out.String())
}

func TestQuietShowsNothing(t *testing.T) {
	var out bytes.Buffer
	a := &app{stderr: &out, clock: clock.NewManual(noon)}
	a.flags.quiet = true
	p := a.newProgress("x")
	p.Update(1, 1, 1)
	p.End()
	require.Empty(t, out.String())
}

// brokenPipe fails as a pipe whose reader has gone.
type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestOutputThatFails(t *testing.T) {
	var stderr bytes.Buffer
	a := &app{stdout: brokenPipe{}, stderr: &stderr, clock: clock.NewManual(noon), env: func(string) (string, bool) { return "", false }}
	require.Equal(t, exitError, run(t.Context(), a, []string{"version"}))
	require.Equal(t, "granary: broken pipe\n", stderr.String())
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]feature.Format{
		"a.csv": feature.FormatCSV, "b/A.CSV.GZ": feature.FormatCSV, "x.jsonl.zst": feature.FormatNDJSON, "x.ndjson": feature.FormatNDJSON,
		"x.json": feature.FormatJSON, "x.parquet": feature.FormatParquet, "x.y.arrow": feature.FormatArrow,
	} {
		got, err := formatOf(name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, name := range []string{"x", "csv", "x.txt", "x.gz"} {
		_, err := formatOf(name)
		require.ErrorContains(t, err, "the name tells no format", name)
	}
}
