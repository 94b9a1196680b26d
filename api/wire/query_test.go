package wire_test

import (
	"math"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// overTheWire is what a server gets of the parameters that a client writes.
func overTheWire(t require.TestingT, q url.Values) url.Values {
	got, err := url.ParseQuery(q.Encode())
	require.NoError(t, err)
	return got
}

var (
	names      = rapid.SliceOfDistinct(rapid.StringMatching(`[a-z_]{1,8}(:[a-z_]{1,8})?`), rapid.ID[string])
	timestamps = rapid.Map(rapid.Int64Range(int64(feature.MinTimestamp), int64(feature.MaxTimestamp)), func(us int64) feature.Timestamp { return feature.Timestamp(us) })
)

func drawAsOf(t *rapid.T) wire.AsOf {
	switch rapid.IntRange(0, 2).Draw(t, "as of") {
	case 1:
		v := rapid.Int64Range(0, math.MaxInt64).Draw(t, "version")
		return wire.AsOf{Version: &v}
	case 2:
		at := timestamps.Draw(t, "time")
		return wire.AsOf{Time: &at}
	}
	return wire.AsOf{}
}

func list(t *rapid.T) []string {
	if out := names.Draw(t, "names"); len(out) > 0 {
		return out
	}
	return nil
}

func TestHistoricalQueryComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := wire.HistoricalOptions{
			Features: list(t), Service: rapid.StringMatching(`[a-z]*`).Draw(t, "service"), TimeColumn: rapid.StringMatching(`[a-z]*`).Draw(t, "time column"),
			FullNames: rapid.Bool().Draw(t, "full names"), KnownAt: rapid.Bool().Draw(t, "known at"), AsOf: drawAsOf(t),
		}
		got, err := wire.ParseHistoricalQuery(overTheWire(t, o.Query()))
		require.NoError(t, err)
		require.Equal(t, o, got)
	})
}

func TestExportQueryComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := wire.ExportOptions{Columns: list(t), AsOf: drawAsOf(t)}
		if rapid.Bool().Draw(t, "bounded") {
			start := timestamps.Draw(t, "start")
			o.Interval = feature.Interval{Start: start, End: math.MaxInt64}
			if end := timestamps.Draw(t, "end"); end > start {
				o.Interval.End = end
			}
		}
		if rapid.Bool().Draw(t, "entities") {
			o.Entities = map[string][]wire.RawValue{"a": {wire.RawValue("1"), wire.RawValue(`"x, +y/%"`)}, "b": {}}
		}
		if n := rapid.IntRange(1, 9).Draw(t, "shards"); n > 1 {
			o.Shards, o.Shard = n, rapid.IntRange(0, n-1).Draw(t, "shard")
		}
		got, err := wire.ParseExportQuery(overTheWire(t, o.Query()))
		require.NoError(t, err)
		require.Equal(t, o, got)
	})
}

func TestPushQueryComesBack(t *testing.T) {
	for _, o := range []wire.PushOptions{{}, {Online: true}, {Offline: true}, {Strict: true}, {Online: true, Strict: true}} {
		got, err := wire.ParsePushQuery(overTheWire(t, o.Query()))
		require.NoError(t, err)
		require.Equal(t, o, got)
	}
	both, err := wire.ParsePushQuery(url.Values{"to": {"online", "offline"}})
	require.NoError(t, err)
	require.Equal(t, wire.PushOptions{Online: true, Offline: true}, both)
	require.Empty(t, both.Query(), "both is what is done without a word")
}

func TestExpectedQuery(t *testing.T) {
	none, err := wire.ParseExpectedQuery(url.Values{})
	require.NoError(t, err)
	require.Nil(t, none)
	seven, err := wire.ParseExpectedQuery(url.Values{"expected_revision": {"7"}})
	require.NoError(t, err)
	require.Equal(t, int64(7), *seven)
}

func TestQueryTellsEveryFault(t *testing.T) {
	fields := func(err error) []string {
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
		var out []string
		for _, f := range feature.FaultsOf(err) {
			out = append(out, f.Field)
		}
		return out
	}
	for _, tc := range []struct {
		parse func(url.Values) error
		query string
		want  []string
	}{
		{historical, "service=a&service=b&full_names=1&known_at=TRUE&as_of=1.5&x=1&y=2", []string{"query.service", "query.full_names", "query.known_at", "query.as_of", "query.x", "query.y"}},
		{historical, "as_of=99999999999999999999", []string{"query.as_of"}},
		{export, "start=monday&end=2024", []string{"query.start", "query.end"}},
		{export, "start=2024-01-01&end=2024-01-01", []string{"query.end"}},
		{export, "entities={&shard=1", []string{"query.entities", "query.shard"}},
		{export, "shard=-1/2", []string{"query.shard"}},
		{export, "shard=0/0", []string{"query.shard"}},
		{push, "to=online,nowhere&strict=yes", []string{"query.strict", "query.to"}},
		{expected, "expected_revision=-1", []string{"query.expected_revision"}},
		{expected, "expected_revision=x&prune=true", []string{"query.expected_revision", "query.prune"}},
		{wire.ParseEmptyQuery, "a=1", []string{"query.a"}},
	} {
		q, err := url.ParseQuery(tc.query)
		require.NoError(t, err)
		require.Equal(t, tc.want, fields(tc.parse(q)), tc.query)
	}
}

func historical(q url.Values) error { _, err := wire.ParseHistoricalQuery(q); return err }
func export(q url.Values) error     { _, err := wire.ParseExportQuery(q); return err }
func push(q url.Values) error       { _, err := wire.ParsePushQuery(q); return err }
func expected(q url.Values) error   { _, err := wire.ParseExpectedQuery(q); return err }

func TestReadingAQueryLeavesItAlone(t *testing.T) {
	q := url.Values{"to": {"online"}}
	require.NoError(t, push(q))
	require.Equal(t, url.Values{"to": {"online"}}, q)
}
