package feature_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
)

// TestFloor is H07: time before 1970 is floored and never moved forward.
func TestFloor(t *testing.T) {
	for ns, want := range map[int64]feature.Timestamp{
		-1: -1, -999: -1, -1000: -1, -1001: -2, 0: 0, 1: 0, 999: 0, 1000: 1, 1999: 1,
		math.MinInt64: -9223372036854776, math.MaxInt64: 9223372036854775,
	} {
		require.Equal(t, want, feature.FromNanos(ns), "%d ns", ns)
		require.Equal(t, want, feature.FromTime(time.Unix(0, ns)), "%d ns", ns)
	}
	ts, err := feature.ParseTimestamp("1969-12-31T23:59:59.9999999Z")
	require.NoError(t, err)
	require.Equal(t, feature.Timestamp(-1), ts)
	require.Equal(t, "1969-12-31T23:59:59.999999Z", ts.String())
}

func TestParseTimestamp(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"2024-01-01T10:00:00Z", "2024-01-01T10:00:00Z"},
		{"2024-01-01T10:00:00", "2024-01-01T10:00:00Z"},
		{"2024-01-01 10:00:00", "2024-01-01T10:00:00Z"},
		{"2024-01-01 10:00:00 UTC", "2024-01-01T10:00:00Z"},
		{"2024-01-01T10:00:00.5+05:30", "2024-01-01T04:30:00.500Z"},
		{"2024-01-01T10:00:00+0530", "2024-01-01T04:30:00Z"},
		{"2024-01-01T10:00", "2024-01-01T10:00:00Z"},
		{"2024-01-01T10:00-01:00", "2024-01-01T11:00:00Z"},
		{"2024-01-01", "2024-01-01T00:00:00Z"},
		{"2024-02-29", "2024-02-29T00:00:00Z"},
		{"2024-01-01T10:00:00.123456789Z", "2024-01-01T10:00:00.123456Z"},
		{"2024-01-01T10:00:00.12345678999999999999999Z", "2024-01-01T10:00:00.123456Z"},
		{"2024-01-01T10:00:00.1234567Z", "2024-01-01T10:00:00.123456Z"},
		{"2024-01-01T10:00:00.120Z", "2024-01-01T10:00:00.120Z"},
		{"0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"},
		{"9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999Z"},
	} {
		got, err := feature.ParseTimestamp(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got.String(), c.text)
	}
	for _, text := range []string{
		"", "now", "1704103200", "2024-01-01T", "2024-13-01", "2023-02-29", "2024-01-01T24:00:00Z", "2024-01-01T10:00:60Z",
		"2024-01-01T10:00:00 Z", " 2024-01-01", "2024-01-01 ", "2024-01-01T10:00:00ZZ", "2024-01-01 UTC:00", "24-01-01", "10000-01-01",
		"2024-01-01T10:00:00+25:00", "0000-12-31T23:59:59Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01",
	} {
		_, err := feature.ParseTimestamp(text)
		require.Error(t, err, text)
	}
}

// TestTimestampZone: the zone of the process changes nothing.
func TestTimestampZone(t *testing.T) {
	old := time.Local
	defer func() { time.Local = old }()
	for _, zone := range []string{"Asia/Kolkata", "America/Los_Angeles", "UTC"} {
		location, err := time.LoadLocation(zone)
		require.NoError(t, err)
		time.Local = location
		ts, err := feature.ParseTimestamp("2023-12-31 20:00")
		require.NoError(t, err)
		require.Equal(t, feature.Timestamp(1704052800000000), ts)
		require.Equal(t, "2023-12-31T20:00:00Z", ts.String())
	}
}

func TestTimestampRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		ts := feature.Timestamp(rapid.Int64Range(int64(feature.MinTimestamp), int64(feature.MaxTimestamp)).Draw(rt, "ts"))
		require.True(rt, ts.Valid())
		text, err := ts.MarshalText()
		require.NoError(rt, err)
		var back feature.Timestamp
		require.NoError(rt, back.UnmarshalText(text))
		require.Equal(rt, ts, back)
		require.Equal(rt, ts, feature.FromTime(ts.Time()))
		require.Contains(rt, []int{len("2006-01-02T15:04:05Z"), len("2006-01-02T15:04:05.000Z"), len("2006-01-02T15:04:05.000000Z")}, len(text))
	})
	require.False(t, (feature.MinTimestamp - 1).Valid())
	require.False(t, (feature.MaxTimestamp + 1).Valid())
}

func TestTimestampAdd(t *testing.T) {
	require.Equal(t, feature.Timestamp(3_600_000_000), feature.Epoch.Add(time.Hour))
	require.Equal(t, feature.Timestamp(-1), feature.Epoch.Add(-time.Nanosecond))
	require.Equal(t, feature.Timestamp(math.MaxInt64), feature.Timestamp(math.MaxInt64-1).Add(time.Hour))
	require.Equal(t, feature.Timestamp(math.MinInt64), feature.Timestamp(math.MinInt64+1).Add(-time.Hour))
}

func TestInterval(t *testing.T) {
	i := feature.Interval{Start: 10, End: 20}
	require.False(t, i.Contains(9))
	require.True(t, i.Contains(10))
	require.True(t, i.Contains(19))
	require.False(t, i.Contains(20), "the end is exclusive")
	require.False(t, i.Empty())
	require.True(t, feature.Interval{Start: 10, End: 10}.Empty())
	require.True(t, feature.Always.Contains(feature.MinTimestamp))
	require.True(t, feature.Always.Contains(feature.MaxTimestamp))
}

// TestTTLCovers is T1 and T5: both ends of the age are inclusive.
func TestTTLCovers(t *testing.T) {
	const hour = feature.TTL(time.Hour)
	at := func(text string) feature.Timestamp {
		ts, err := feature.ParseTimestamp("2024-01-01T" + text)
		require.NoError(t, err)
		return ts
	}
	require.True(t, hour.Covers(at("10:00:00"), at("11:00:00")))
	require.False(t, hour.Covers(at("10:00:00"), at("11:00:00.000001")))
	require.False(t, hour.Covers(at("10:00:00"), at("11:00:01")))
	require.True(t, hour.Covers(at("09:00:00"), at("10:00:00")))
	require.False(t, hour.Covers(at("09:00:00"), at("10:00:01")))
	require.True(t, feature.TTL(0).Covers(feature.MinTimestamp, feature.MaxTimestamp), "no TTL is for ever")
	require.Equal(t, feature.Timestamp(math.MinInt64), feature.TTL(0).Oldest(0))
	longest := feature.TTL(math.MaxInt64 / 1000 * 1000)
	require.True(t, longest.Covers(feature.MinTimestamp, feature.MinTimestamp))
}

func TestTTLText(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration
		out  string
	}{
		{"0", 0, "0"},
		{"0s", 0, "0"},
		{"0d", 0, "0"},
		{"90m", 90 * time.Minute, "1h30m"},
		{"6h", 6 * time.Hour, "6h"},
		{"7d", 7 * 24 * time.Hour, "7d"},
		{"1d12h", 36 * time.Hour, "1d12h"},
		{"36h", 36 * time.Hour, "1d12h"},
		{"1.5h", 90 * time.Minute, "1h30m"},
		{"1m30s", 90 * time.Second, "1m30s"},
		{"1500ms", 1500 * time.Millisecond, "1.5s"},
		{"1us", time.Microsecond, "1µs"},
		{"106751d", 106751 * 24 * time.Hour, "106751d"},
	} {
		got, err := feature.ParseTTL(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, feature.TTL(c.want), got, c.text)
		require.Equal(t, c.out, got.String(), c.text)
	}
	for _, text := range []string{
		"", "1", "d", "-1h", "+1h", "1d-12h", "+1d", "-1d", "1d1d", "1.5d", "1ns", "1h1ns", "3 hours", "106752d", "106751d24h", "9999999h", "1d 2h",
	} {
		_, err := feature.ParseTTL(text)
		require.Error(t, err, text)
	}
	rapid.Check(t, func(rt *rapid.T) {
		ttl := feature.TTL(rapid.Int64Range(0, math.MaxInt64/1000).Draw(rt, "us") * 1000)
		text, err := ttl.MarshalText()
		require.NoError(rt, err)
		var back feature.TTL
		require.NoError(rt, back.UnmarshalText(text), "%s", text)
		require.Equal(rt, ttl, back, "%s", text)
	})
}

func FuzzParseTimestamp(f *testing.F) {
	for _, text := range []string{"2024-01-01T10:00:00Z", "1969-12-31 23:59:59.9999999", "2024-01-01T10:00+05:30", "0001-01-01", "2024-01-01 10:00:00 UTC"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ts, err := feature.ParseTimestamp(text)
		if err != nil {
			require.Zero(t, ts)
			return
		}
		require.True(t, ts.Valid())
		back, err := feature.ParseTimestamp(ts.String())
		require.NoError(t, err)
		require.Equal(t, ts, back)
	})
}

func FuzzParseTTL(f *testing.F) {
	for _, text := range []string{"90m", "1d12h", "0", "1.5h", "106751d23h47m16s", "1d-1h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ttl, err := feature.ParseTTL(text)
		if err != nil {
			return
		}
		require.GreaterOrEqual(t, ttl, feature.TTL(0))
		back, err := feature.ParseTTL(ttl.String())
		require.NoError(t, err)
		require.Equal(t, ttl, back)
	})
}
