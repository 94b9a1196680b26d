package harness

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBestIsTheFastestThatIsRight(t *testing.T) {
	s := Sides{}
	require.Nil(t, s.Best())
	s.Of("fast, once wrong").Add(1, 10, true)
	s.Of("fast, once wrong").Add(1, 10, false)
	s.Of("slow").Add(3, 10, true)
	s.Of("right").Add(9, 10, true)
	s.Of("right").Add(2, 20, true)
	s.Of("right").Add(2, 20, true)
	require.Equal(t, "right", s.Best().Name)
	l := Line("P5", "case", &Side{Name: "granary", Seconds: []float64{1}, Peak: []float64{5}}, s.Best())
	require.InDelta(t, 2.0, l.Ratio, 0)
	require.True(t, l.Equal)
	require.Len(t, s.Best().Seconds, 3)
}

func TestPeakMB(t *testing.T) { require.GreaterOrEqual(t, PeakMB(), 0.0) }
