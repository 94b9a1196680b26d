package online_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// TestRows: rows of any size stay where they were put while others come, and a
// Rows that is used again shows nothing of before.
func TestRows(t *testing.T) {
	var rows online.Rows
	for round := range 3 {
		n := 2000 >> round
		rows.Reset([]online.Lookup{{Keys: make([]feature.EntityKey, n)}, {Keys: make([]feature.EntityKey, 1)}})
		require.Nil(t, rows.Row(0, n-1))
		require.Nil(t, rows.Row(1, 0))
		want := make([][]byte, n)
		for i := range n {
			want[i] = bytes.Repeat([]byte{byte(i)}, i*37%40000)
			rows.Copy(0, i, want[i])
		}
		rows.Share(1, 0, want[1])
		for i := range n {
			require.True(t, bytes.Equal(want[i], rows.Row(0, i)), "row %d", i)
			require.NotNil(t, rows.Row(0, i))
		}
		require.Equal(t, want[1], rows.Row(1, 0))
	}
}

// TestRowsAllocations: a Rows that has seen its size allocates no more.
func TestRowsAllocations(t *testing.T) {
	lookups := []online.Lookup{{Keys: make([]feature.EntityKey, 500)}}
	packed := make([]byte, 120)
	var rows online.Rows
	fill := func() {
		rows.Reset(lookups)
		for i := range lookups[0].Keys {
			rows.Copy(0, i, packed)
		}
	}
	fill()
	require.Zero(t, testing.AllocsPerRun(10, fill))
}

func TestStatus(t *testing.T) {
	v := viewOf(t, []feature.Type{feature.Int64, feature.Int64})
	packed, err := v.Append(nil, 100, 0, []feature.Value{feature.Int64Value(1), feature.Null(feature.Int64)})
	require.NoError(t, err)
	const ttl = feature.TTL(10_000) // 10 microseconds
	for _, c := range []struct {
		packed []byte
		slot   int
		ttl    feature.TTL
		at     feature.Timestamp
		want   online.Status
		text   string
	}{
		{packed, 0, ttl, 110, online.Present, "PRESENT"},
		{packed, 0, ttl, 111, online.OutsideMaxAge, "OUTSIDE_MAX_AGE"},
		{packed, 1, ttl, 110, online.NullValue, "NULL_VALUE"},
		{packed, 1, ttl, 111, online.OutsideMaxAge, "OUTSIDE_MAX_AGE"},
		{packed, 2, 0, feature.MaxTimestamp, online.NullValue, "NULL_VALUE"},
		{nil, 0, ttl, 110, online.NotFound, "NOT_FOUND"},
	} {
		got := online.StatusOf(c.packed, c.slot, c.ttl, c.at)
		require.Equal(t, c.want, got)
		require.Equal(t, c.text, got.String())
	}
	require.Equal(t, "INVALID", online.Status(9).String())
	require.Equal(t, int64(11), online.AgeMicros(100, 111))
	require.Zero(t, online.AgeMicros(100, 99))
	require.Equal(t, int64(feature.MaxTimestamp-feature.MinTimestamp), online.AgeMicros(feature.MinTimestamp, feature.MaxTimestamp))
}

func TestReplaces(t *testing.T) {
	v := viewOf(t, nil)
	row := func(event, created feature.Timestamp) []byte {
		packed, err := v.Append(nil, event, created, nil)
		require.NoError(t, err)
		return packed
	}
	for _, c := range []struct {
		written, stored []byte
		want            bool
	}{
		{row(1, 1), nil, true},
		{row(1, 1), row(1, 1), true},
		{row(2, 0), row(1, 9), true},
		{row(1, 9), row(2, 0), false},
		{row(1, 2), row(1, 1), true},
		{row(1, 1), row(1, 2), false},
		{row(-1, 0), row(-2, 0), true},
	} {
		got, err := online.Replaces(c.written, c.stored)
		require.NoError(t, err)
		require.Equal(t, c.want, got)
	}
	for _, pair := range [][2][]byte{{row(1, 1), {}}, {{}, row(1, 1)}} {
		_, err := online.Replaces(pair[0], pair[1])
		require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
	}
}
