package serving_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/serving"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

const drivers = `
entities:
  - {name: driver, join_keys: [{name: driver_id, type: int64}]}
  - {name: pair, join_keys: [{name: a, type: string}, {name: b, type: int32}]}
views:
  - {name: stats, entities: [driver], ttl: 1h, features: [{name: trips, type: int64}, {name: rate, type: float64}, {name: note, type: string}]}
  - {name: more, entities: [driver], features: [{name: trips, type: int64}]}
  - {name: pairs, entities: [pair], features: [{name: v, type: int64}]}
  - {name: hidden, entities: [driver], online: false, features: [{name: v, type: int64}]}
services:
  - {name: model, features: ["stats:rate", {ref: "more:trips", as: all_trips}]}
`

func driverWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t, serving.Options{})
	w.define(project, drivers)
	w.put(project, "stats", noon.Add(-time.Minute), []string{"1001"}, []string{"12", "0.5", `"a\"b"`})
	w.put(project, "stats", noon.Add(-time.Hour), []string{"1002"}, []string{"null", "1", "null"})
	w.put(project, "stats", noon.Add(-time.Hour-time.Microsecond), []string{"1003"}, []string{"3", "3", `"old"`})
	w.put(project, "more", noon.Add(-24*time.Hour), []string{"1001"}, []string{"99"})
	w.put(project, "pairs", noon, []string{`"x"`, "1"}, []string{"10"})
	return w
}

func TestLookupAnswersByColumn(t *testing.T) {
	w := driverWorld(t)
	got := w.ask(project, `{"features": ["stats:trips", "stats:note"], "entities": {"driver_id": [1001, 1002, 1003, 4]},
		"include": ["status", "event_timestamp", "age"]}`)
	require.JSONEq(t, `{"columns": [
		{"name": "driver_id", "values": [1001, 1002, 1003, 4]},
		{"name": "stats:trips", "values": [12, null, null, null],
		 "status": ["PRESENT", "NULL_VALUE", "OUTSIDE_MAX_AGE", "NOT_FOUND"],
		 "event_timestamp": ["2024-01-01T11:59:00Z", "2024-01-01T11:00:00Z", "2024-01-01T10:59:59.999999Z", null],
		 "age_seconds": [60.0, 3600.0, 3600.000001, null]},
		{"name": "stats:note", "values": ["a\"b", null, null, null],
		 "status": ["PRESENT", "NULL_VALUE", "OUTSIDE_MAX_AGE", "NOT_FOUND"],
		 "event_timestamp": ["2024-01-01T11:59:00Z", "2024-01-01T11:00:00Z", "2024-01-01T10:59:59.999999Z", null],
		 "age_seconds": [60.0, 3600.0, 3600.000001, null]}], "revision": 1}`, got)
	require.Contains(t, got, `"age_seconds":[60.0,3600.0,`, "an age is a float to the eye, too")
}

func TestLookupWithoutIncludeHasValuesOnly(t *testing.T) {
	w := driverWorld(t)
	require.JSONEq(t, `{"columns":[{"name":"driver_id","values":[1001]},{"name":"stats:rate","values":[0.5]}],"revision":1}`,
		w.ask(project, `{"features":["stats:rate"],"entities":{"driver_id":[1001]},"include":[]}`))
}

func TestLookupByService(t *testing.T) {
	w := driverWorld(t)
	require.JSONEq(t, `{"columns":[{"name":"driver_id","values":[1001]},{"name":"stats:rate","values":[0.5]},{"name":"all_trips","values":[99]}],"revision":1}`,
		w.ask(project, `{"service":"model","features":null,"entities":{"driver_id":[1001]}}`))
}

func TestLookupOfNobody(t *testing.T) {
	w := driverWorld(t)
	require.JSONEq(t, `{"columns":[{"name":"driver_id","values":[]},{"name":"stats:rate","values":[],"status":[]}],"revision":1}`,
		w.ask(project, `{"features":["stats:rate"],"entities":{"driver_id":[]},"include":["status"]}`))
}

func TestLookupRowDatedAheadIsOfNow(t *testing.T) {
	w := driverWorld(t)
	w.put(project, "stats", noon.Add(30*time.Second), []string{"5"}, []string{"1", "1", "null"})
	require.Contains(t, w.ask(project, `{"features":["stats:trips"],"entities":{"driver_id":[5]},"include":["age"]}`), `"age_seconds":[0.0]`)
}

// T11: keys keep their last digit, and are asked for by their own type.
func TestLookupKeys(t *testing.T) {
	w := newWorld(t, serving.Options{})
	w.define(project, `
entities:
  - {name: wide, join_keys: [{name: wide, type: int64}]}
  - {name: narrow, join_keys: [{name: narrow, type: int32}]}
views:
  - {name: f, entities: [wide], features: [{name: v, type: int64}]}
  - {name: g, entities: [narrow], features: [{name: v, type: int64}]}
`)
	w.put(project, "f", noon, []string{"2147483648"}, []string{"1"})
	w.put(project, "f", noon, []string{"-9223372036854775808"}, []string{"2"})
	w.put(project, "g", noon, []string{"7"}, []string{"3"})
	for _, tc := range []struct{ ref, key, keys, echo, want string }{
		{"f:v", "wide", `2147483648, -9223372036854775808`, `[2147483648,-9223372036854775808]`, `[1,2]`},
		{"f:v", "wide", `2147483648.0, 2.147483648e9, 2147483647`, `[2147483648,2147483648,2147483647]`, `[1,1,null]`},
		{"f:v", "wide", `-0, 0`, `[0,0]`, `[null,null]`},
		{"g:v", "narrow", `7, 7.0, -2147483648`, `[7,7,-2147483648]`, `[3,3,null]`},
	} {
		got := w.ask(project, fmt.Sprintf(`{"features":[%q],"entities":{%q:[%s]}}`, tc.ref, tc.key, tc.keys))
		require.Equal(t, tc.echo, values(t, got, tc.key))
		require.Equal(t, tc.want, values(t, got, tc.ref))
	}
	for _, tc := range []struct{ ref, key, value string }{
		{"f:v", "wide", `7.5`},
		{"f:v", "wide", `"7"`},
		{"f:v", "wide", `9223372036854775808`},
		{"f:v", "wide", `1e1000000000`},
		{"f:v", "wide", `true`},
		{"f:v", "wide", `[7]`},
		{"f:v", "wide", `{"a":1}`},
		{"g:v", "narrow", `2147483648`},
	} {
		e := w.refuse(project, fmt.Sprintf(`{"features":[%q],"entities":{%q:[1,%s]}}`, tc.ref, tc.key, tc.value))
		require.Equal(t, feature.CodeInvalidArgument, e.Code)
		require.Len(t, e.Faults, 1, tc.value)
		require.Equal(t, "entities."+tc.key+"[1]", e.Faults[0].Field)
	}
}

// T13: request order, whatever it is, and the same bytes every time.
func TestLookupKeepsTheOrderOfTheRequest(t *testing.T) {
	w := newWorld(t, serving.Options{})
	w.define(project, drivers)
	for k := range 4 {
		w.put(project, "stats", noon, []string{strconv.Itoa(k)}, []string{strconv.Itoa(10 * k), "1", "null"})
		w.put(project, "more", noon, []string{strconv.Itoa(k)}, []string{strconv.Itoa(k)})
	}
	body := `{"features":["more:trips","stats:note","stats:trips"],"entities":{"driver_id":[3,1,3,99,2]},"include":["status"]}`
	first := w.ask(project, body)
	require.Equal(t, `[30,10,30,null,20]`, values(t, first, "stats:trips"))
	require.Equal(t, `[3,1,3,null,2]`, values(t, first, "more:trips"))
	at := func(name string) int { return strings.Index(first, `"name":"`+name+`"`) }
	require.True(t, at("driver_id") < at("more:trips") && at("more:trips") < at("stats:note") && at("stats:note") < at("stats:trips"))
	require.Equal(t, first, w.ask(project, body))
}

// T14: all parts of a composite key, of one length, and nothing else.
func TestLookupCompositeKeys(t *testing.T) {
	w := driverWorld(t)
	require.Equal(t, `[10,null,null,10]`, values(t, w.ask(project, `{"features":["pairs:v"],"entities":{"b":[1,1,null,1],"a":["x","y","x","\u0078"]}}`), "pairs:v"))
	require.Equal(t, `[null,10]`, values(t, w.ask(project, `{"features":["pairs:v","stats:trips"],"entities":{"a":[null,"x"],"b":[1,1],"driver_id":[1001,null]}}`), "pairs:v"))
	require.Equal(t, `[12,null]`, values(t, w.ask(project, `{"features":["pairs:v","stats:trips"],"entities":{"a":[null,"x"],"b":[1,1],"driver_id":[1001,null]}}`), "stats:trips"))
	for _, tc := range []struct{ entities, field string }{
		{`{"a":["x"]}`, "entities.b"},
		{`{"a":["x","y"],"b":[1]}`, "entities.b"},
		{`{"a":["x"],"b":[1],"c":[1]}`, "entities.c"},
		{`{"a":["x"],"b":1}`, "entities.b"},
	} {
		e := w.refuse(project, `{"features":["pairs:v"],"entities":`+tc.entities+`}`)
		require.Equal(t, feature.CodeInvalidArgument, e.Code)
		require.Len(t, e.Faults, 1)
		require.Equal(t, tc.field, e.Faults[0].Field)
	}
}

// T15: neither projects nor views see each other's rows, and what is deleted
// is gone at once.
func TestLookupAfterDelete(t *testing.T) {
	w := newWorld(t, serving.Options{})
	const views = `
entities: [{name: k, join_keys: [{name: k, type: int64}]}]
views:
  - {name: f, entities: [k], features: [{name: v, type: int64}]}
  - {name: g, entities: [k], features: [{name: v, type: int64}]}
`
	for i, p := range []string{"prod", "preprod"} {
		w.define(p, views)
		w.put(p, "f", noon, []string{"1"}, []string{strconv.Itoa(10 * (i + 1))})
		w.put(p, "g", noon, []string{"1"}, []string{strconv.Itoa(10*(i+1) + 1)})
	}
	one := func(p, ref string) string {
		return values(t, w.ask(p, `{"features":["`+ref+`"],"entities":{"k":[1]}}`), ref)
	}
	require.Equal(t, "[10]", one("prod", "f:v"))
	_, err := w.Delete(t.Context(), "prod", "view", "f", nil)
	require.NoError(t, err)
	require.Equal(t, feature.CodeNotFound, w.refuse("prod", `{"features":["f:v"],"entities":{"k":[1]}}`).Code)
	require.Equal(t, "[11]", one("prod", "g:v"))
	w.define("prod", views)
	require.Equal(t, "[null]", one("prod", "f:v"))
	_, err = w.DeleteProject(t.Context(), "prod", nil)
	require.NoError(t, err)
	require.Equal(t, feature.CodeNotFound, w.refuse("prod", `{"features":["g:v"],"entities":{"k":[1]}}`).Code)
	require.Equal(t, "[20]", one("preprod", "f:v"))
	require.Equal(t, "[21]", one("preprod", "g:v"))
}

// H45: text that is not text is refused, and never read as U+FFFD.
func TestLookupTextKeys(t *testing.T) {
	w := newWorld(t, serving.Options{})
	w.define(project, `
entities: [{name: k, join_keys: [{name: k, type: string}]}]
views: [{name: f, entities: [k], features: [{name: v, type: int64}]}]
`)
	w.put(project, "f", noon, []string{`"\ufffd"`}, []string{"1"})
	w.put(project, "f", noon, []string{`"\ud83d\ude00"`}, []string{"2"})
	w.put(project, "f", noon, []string{`"a\u0000b"`}, []string{"3"})
	w.put(project, "f", noon, []string{`""`}, []string{"4"})
	require.Equal(t, "[1,2,2,3,4,null]", values(t, w.ask(project, `{"features":["f:v"],"entities":{"k":["�","😀","\uD83D\uDE00","a\u0000b","","A"]}}`), "f:v"))
	for _, text := range []string{`"\ud800"`, `"\udc00\ud800"`, "\"\xff\"", "\"\xed\xa0\x80\""} {
		e := w.refuse(project, `{"features":["f:v"],"entities":{"k":[`+text+`]}}`)
		require.Equal(t, feature.CodeInvalidArgument, e.Code)
	}
	long := `"` + strings.Repeat("x", feature.MaxEntityKeyBytes+1) + `"`
	require.Equal(t, "entities.k[0]", w.refuse(project, `{"features":["f:v"],"entities":{"k":[`+long+`]}}`).Faults[0].Field)
}

func TestLookupTellsEveryFaultAtOnce(t *testing.T) {
	w := driverWorld(t)
	for name, tc := range map[string]struct {
		body   string
		code   feature.Code
		fields []string
	}{
		"members":     {`{"features":["stats:trips"],"entities":{"driver_id":["x",1.5]},"limit":1,"include":["ages"]}`, feature.CodeInvalidArgument, []string{"include[0]", "limit", "entities.driver_id[0]", "entities.driver_id[1]"}},
		"kinds":       {`{"features":"stats:trips","entities":[],"include":1,"service":[]}`, feature.CodeInvalidArgument, []string{"entities", "features", "include", "service"}},
		"not text":    {`{"features":[1,"stats:trips",null],"entities":{"driver_id":[1]}}`, feature.CodeInvalidArgument, []string{"features[0]", "features[2]"}},
		"no entities": {`{"features":["stats:trips"]}`, feature.CodeInvalidArgument, []string{"entities.driver_id"}},
		"null":        {`{"features":["stats:trips"],"entities":null}`, feature.CodeInvalidArgument, []string{"entities.driver_id"}},
		"hidden":      {`{"features":["hidden:v"],"entities":{"driver_id":[1]}}`, feature.CodeFailedPrecondition, []string{"features"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			e := w.refuse(project, tc.body)
			require.Equal(t, tc.code, e.Code, "%v", e)
			fields := make([]string, len(e.Faults))
			for i, f := range e.Faults {
				fields[i] = f.Field
			}
			require.ElementsMatch(t, tc.fields, fields, "%v", e)
		})
	}
}

func TestLookupNames(t *testing.T) {
	w := driverWorld(t)
	for body, code := range map[string]feature.Code{
		`{"features":["Stats:trips"],"entities":{"driver_id":[1]}}`:                   feature.CodeNotFound, // H50
		`{"features":["stats:TRIPS"],"entities":{"driver_id":[1]}}`:                   feature.CodeNotFound,
		`{"features":["stats:event_timestamp"],"entities":{"driver_id":[1]}}`:         feature.CodeNotFound, // H09
		`{"features":["stats"],"entities":{"driver_id":[1]}}`:                         feature.CodeInvalidArgument,
		`{"features":["stats:trips","stats:trips"],"entities":{"driver_id":[1]}}`:     feature.CodeInvalidArgument,
		`{"features":[],"entities":{"driver_id":[1]}}`:                                feature.CodeInvalidArgument,
		`{"entities":{"driver_id":[1]}}`:                                              feature.CodeInvalidArgument,
		`{"service":"nobody","entities":{"driver_id":[1]}}`:                           feature.CodeNotFound,
		`{"service":"model","features":["stats:trips"],"entities":{"driver_id":[1]}}`: feature.CodeInvalidArgument,
		`{"Features":["stats:trips"],"entities":{"driver_id":[1]}}`:                   feature.CodeInvalidArgument,
		`{"features":["stats:trips"],"entities":{"driver_id":[1]},"entities":{}}`:     feature.CodeInvalidArgument,
		`{"features":["stats:trips"],"entities":{"driver_id":[1],"driver_id":[2]}}`:   feature.CodeInvalidArgument,
		`{"features":["stats:trips"],"entities":{"driver_id":[1]}} {}`:                feature.CodeInvalidArgument,
		`{"features":["stats:trips"],"entities":{"driver_id":[01]}}`:                  feature.CodeInvalidArgument, // H46
		`{"features":["stats:trips"],"entities":{"driver_id":[+1]}}`:                  feature.CodeInvalidArgument,
		`{"features":["stats:trips"],"entities":{"driver_id":[.5]}}`:                  feature.CodeInvalidArgument,
		`{"features":["stats:trips"],"entities":{"driver_id":[1]}`:                    feature.CodeInvalidArgument,
		`[]`: feature.CodeInvalidArgument, ``: feature.CodeInvalidArgument, `null`: feature.CodeInvalidArgument, `7`: feature.CodeInvalidArgument,
	} {
		require.Equal(t, code, w.refuse(project, body).Code, body)
	}
	require.Equal(t, feature.CodeNotFound, w.refuse("nowhere", `{"features":["stats:trips"],"entities":{"driver_id":[1]}}`).Code)
}

func TestLookupIsBounded(t *testing.T) {
	w := driverWorld(t)
	small := w.over(w.store, serving.Options{MaxLookupValues: 4})
	_, err := small.AppendOnline(t.Context(), nil, project, []byte(`{"features":["stats:trips","stats:rate"],"entities":{"driver_id":[1,2]}}`))
	require.NoError(t, err)
	_, err = small.AppendOnline(t.Context(), nil, project, []byte(`{"features":["stats:trips","stats:rate"],"entities":{"driver_id":[1,2,3]}}`))
	require.Equal(t, feature.CodeTooLarge, feature.CodeOf(err))
}

// A store that does not answer is an error, never a missing row.
func TestLookupOfAStoreThatFails(t *testing.T) {
	w := driverWorld(t)
	faulty := onlinetest.NewFaults(w.store, 1, onlinetest.Fault{Op: "Read"})
	s := w.over(faulty, serving.Options{})
	_, err := s.AppendOnline(t.Context(), nil, project, []byte(`{"features":["stats:trips"],"entities":{"driver_id":[1001]}}`))
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
	require.Equal(t, 1, faulty.Made())
}

func TestLookupCountsValuesByStatus(t *testing.T) {
	w := driverWorld(t)
	w.ask(project, `{"features":["stats:trips","stats:rate"],"entities":{"driver_id":[1001,1002,1003,4]}}`)
	s := w.Stats()
	require.Equal(t, int64(1), s.Lookups)
	require.Equal(t, int64(4), s.Entities)
	require.Equal(t, [...]int64{online.Present: 3, online.NullValue: 1, online.NotFound: 2, online.OutsideMaxAge: 2}, s.Values)
}

func TestOnlineIsTheSameAnswer(t *testing.T) {
	w := driverWorld(t)
	got, err := w.Online(t.Context(), project, wire.OnlineRequest{
		Features: []string{"stats:trips"}, Entities: map[string][]wire.RawValue{"driver_id": {wire.RawValue("1001"), wire.RawValue("4")}},
		Include: []string{wire.IncludeStatus, wire.IncludeAge},
	})
	require.NoError(t, err)
	age := 60.0
	require.Equal(t, &wire.OnlineResponse{Revision: 1, Columns: []wire.Column{
		{Name: "driver_id", Values: []wire.RawValue{wire.RawValue("1001"), wire.RawValue("4")}},
		{Name: "stats:trips", Values: []wire.RawValue{wire.RawValue("12"), wire.RawValue("null")}, Status: []string{"PRESENT", "NOT_FOUND"}, AgeSeconds: []*float64{&age, nil}},
	}}, got)
	_, err = w.Online(t.Context(), project, wire.OnlineRequest{Features: []string{"stats:trips"}, Entities: map[string][]wire.RawValue{"driver_id": {wire.RawValue("]")}}})
	require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
}

func TestOnlineRecordHasTheSameColumns(t *testing.T) {
	w := driverWorld(t)
	rec, err := w.OnlineRecord(t.Context(), project, []byte(`{"features":["pairs:v","stats:rate"],"entities":{"a":["x",null],"b":[1,2],"driver_id":[1001,1003]},"include":["status","event_timestamp","age"]}`))
	require.NoError(t, err)
	defer rec.Release()
	data, err := rec.MarshalJSON()
	require.NoError(t, err)
	require.JSONEq(t, `[
		{"a": "x", "b": 1, "driver_id": 1001,
		 "pairs:v": 10, "pairs:v.status": "PRESENT", "pairs:v.event_timestamp": "2024-01-01 12:00:00Z", "pairs:v.age_seconds": 0,
		 "stats:rate": 0.5, "stats:rate.status": "PRESENT", "stats:rate.event_timestamp": "2024-01-01 11:59:00Z", "stats:rate.age_seconds": 60},
		{"a": null, "b": 2, "driver_id": 1003,
		 "pairs:v": null, "pairs:v.status": "NOT_FOUND", "pairs:v.event_timestamp": null, "pairs:v.age_seconds": null,
		 "stats:rate": null, "stats:rate.status": "OUTSIDE_MAX_AGE", "stats:rate.event_timestamp": "2024-01-01 10:59:59.999999Z", "stats:rate.age_seconds": 3600.000001}]`, string(data))
	revision, _ := rec.Schema().Metadata().GetValue("revision")
	require.Equal(t, "1", revision)
}

// A plan belongs to a revision: what is applied is served at once.
func TestLookupFollowsTheRegistry(t *testing.T) {
	w := driverWorld(t)
	body := `{"features":["stats:trips"],"entities":{"driver_id":[1003]},"include":["status"]}`
	require.Contains(t, w.ask(project, body), "OUTSIDE_MAX_AGE")
	w.define(project, strings.ReplaceAll(drivers, "ttl: 1h", "ttl: 2h"))
	got := w.ask(project, body)
	require.Contains(t, got, "PRESENT")
	require.Contains(t, got, `"revision":2`)
}

// The memory that a lookup takes does not depend on how many entities it has.
func TestLookupAllocatesABoundedNumber(t *testing.T) {
	w := newWorld(t, serving.Options{})
	w.define(project, drivers)
	body := func(n int) []byte {
		ids := make([]string, n)
		for i := range ids {
			ids[i] = strconv.Itoa(i)
			w.put(project, "stats", noon, []string{ids[i]}, []string{"1", "0.25", `"note"`})
		}
		return []byte(`{"features":["stats:trips","stats:rate","stats:note"],"entities":{"driver_id":[` + strings.Join(ids, ",") + `]},"include":["status","age"]}`)
	}
	dst := make([]byte, 0, 1<<20)
	count := func(body []byte) float64 {
		return testing.AllocsPerRun(50, func() {
			_, err := w.AppendOnline(t.Context(), dst, project, body)
			require.NoError(t, err)
		})
	}
	few, many := count(body(1)), count(body(500))
	// Under the race detector a pool forgets on purpose, so there is room.
	require.LessOrEqual(t, many, few+50)
	require.LessOrEqual(t, few, 50.0)
}
