package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRatioAboveOneIsBetter(t *testing.T) {
	require.InDelta(t, 2.0, New("P5", "", Lower, 1, 2).Ratio, 0)
	require.InDelta(t, 0.5, New("P1", "", Higher, 1, 2).Ratio, 0)
	require.Zero(t, New("P1", "", Higher, 1, 0).Ratio)
}

func TestMedian(t *testing.T) {
	require.Zero(t, Median(nil))
	require.InDelta(t, 2.0, Median([]float64{9, 1, 2}), 0)
	require.InDelta(t, 1.5, Median([]float64{2, 1}), 0)
}

func TestWriteAppendsOneLineACase(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	var text strings.Builder
	lines := []Line{New("P5", "dense", Lower, 1, 2), New("P6", "sparse", Lower, 1, 3)}
	require.NoError(t, Write(&text, dir, lines))
	require.NoError(t, Write(&text, dir, lines))
	data, err := os.ReadFile(filepath.Join(dir, "P5.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(data), "\n"))
	require.Contains(t, string(data), `"ratio":2`)
	require.Contains(t, text.String(), "sparse")
}
