package strictjson_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/strictjson"
)

type request struct {
	Name  string            `json:"name"`
	Count int32             `json:"count,omitempty"`
	TTL   feature.TTL       `json:"ttl,omitzero"`
	Items []item            `json:"items,omitempty"`
	Tags  map[string]string `json:"tags,omitempty"`
}

type item struct {
	On bool `json:"on"`
}

func TestUnmarshal(t *testing.T) {
	var r request
	require.NoError(t, strictjson.Unmarshal([]byte(" {\"name\": \"\\ud83d\\ude00\", \"ttl\": \"1h\", \"items\": [{\"on\": true}]}\n"), &r))
	require.Equal(t, "😀", r.Name, "a proper pair of surrogates is one character")
	require.Equal(t, "1h", r.TTL.String())
}

// TestUnmarshalRefuses: H45, H46 and the rules of docs/http-api.md.
func TestUnmarshalRefuses(t *testing.T) {
	for _, c := range []struct{ body, field, detail string }{
		{`{"name": "a", "Name": "b"}`, "Name", "no such member"},
		{`{"NAME": "a"}`, "NAME", "no such member"},
		{`{"name": "a", "name": "b"}`, "name", "duplicate"},
		{`{"tags": {"a": "1", "a": "2"}}`, "tags.a", "duplicate"},
		{`{"tags": {"a/b~c": 1}}`, "tags.a/b~c", "number"},
		{`{"items": [{"on": true}, {"on": true, "off": 1}]}`, "items.1.off", "no such member"},
		{`{"items": [{"on": "true"}]}`, "items.0.on", "string"},
		{`{"ttl": "soon"}`, "ttl", "not a TTL"},
		{`{"name": "a"} {}`, "", "not valid JSON"},
		{`{"name": "a"}x`, "", "not valid JSON"},
		{`{"name": "\ud800"}`, "name", "surrogate"},
		{`{"name": "\udc00\ud800"}`, "name", "surrogate"},
		{"{\"name\": \"\xff\"}", "name", "UTF-8"},
		{`{"name": "a",}`, "", "not valid JSON"},
		{`{"count": 01}`, "", "not valid JSON"},
		{`{"count": +1}`, "count", "not valid JSON"},
		{`{"count": .5}`, "count", "not valid JSON"},
		{`{"count": 7.5}`, "count", "not a whole one"},
		{`{"count": 3000000000}`, "count", "out of range"},
		{`{"count": NaN}`, "count", "not valid JSON"},
		{`{'name': 1}`, "", "not valid JSON"},
		{`[]`, "", "array"},
		{`{"name": "a"`, "", "not valid JSON"},
		{``, "", "not valid JSON"},
		{strings.Repeat("[", 20000), "", ""},
	} {
		t.Run(c.body[:min(len(c.body), 40)], func(t *testing.T) {
			for _, read := range []func() error{
				func() error { return strictjson.Unmarshal([]byte(c.body), &request{}) },
				func() error {
					return strictjson.UnmarshalRead(iotest.OneByteReader(strings.NewReader(c.body)), &request{})
				},
			} {
				err := read()
				require.Error(t, err)
				require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), "%v", err)
				faults := feature.FaultsOf(err)
				require.Len(t, faults, 1)
				if c.detail != "" {
					require.Equal(t, c.field, faults[0].Field, "%v", err)
					require.Contains(t, faults[0].Detail, c.detail)
				}
			}
		})
	}
}

// TestUnmarshalReadErrors: what the reader says comes back as it is.
func TestUnmarshalReadErrors(t *testing.T) {
	tooLarge := feature.Errorf(feature.CodeTooLarge, "", "body", "more than 10 bytes")
	broken := errors.New("connection reset")
	for _, want := range []error{tooLarge, broken} {
		r := io.MultiReader(strings.NewReader(`{"name": "a`), iotest.ErrReader(want))
		err := strictjson.UnmarshalRead(r, &request{})
		require.ErrorIs(t, err, want)
		require.Equal(t, feature.CodeOf(want), feature.CodeOf(err))
	}
}

// TestDefinitions: a service item has its own decoder and is as strict.
func TestDefinitions(t *testing.T) {
	body := func(itemText string) []byte {
		return []byte(`{"definitions": {"services": [{"name": "s", "features": [` + itemText + `]}]}}`)
	}
	var req wire.ApplyRequest
	require.NoError(t, strictjson.Unmarshal(body(`"f", "f:v", {"ref": "f:v", "as": "w"}`), &req))
	require.Len(t, req.Definitions.Services[0].Features, 3)
	for _, bad := range []string{`{"Ref": "f:v"}`, `{"ref": "f:v", "ref": "f:w"}`, `{"ref": "f:v", "x": 1}`, `"f:"`, `1`, `null`, `"\ud800"`} {
		err := strictjson.Unmarshal(body(bad), &wire.ApplyRequest{})
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), "%s: %v", bad, err)
		require.Contains(t, feature.FaultsOf(err)[0].Field, "definitions.services.0.features.0", "%s: %v", bad, err)
	}
}

// TestValue is T11, T12 and H46 in JSON.
func TestValue(t *testing.T) {
	list, vector := feature.ListOf(feature.Int64), feature.Vector(2)
	for _, c := range []struct {
		typ             feature.Type
		raw, want, fail string
	}{
		{typ: feature.Int64, raw: `9007199254740993`, want: `9007199254740993`},
		{typ: feature.Int64, raw: `-9223372036854775808`, want: `-9223372036854775808`},
		{typ: feature.Int64, raw: `7.0`, want: `7`},
		{typ: feature.Int64, raw: `null`, want: `null`},
		{typ: feature.Int64, raw: `7.5`, fail: "not a whole number"},
		{typ: feature.Int64, raw: `"7"`, fail: `string "7" where int64 is expected`},
		{typ: feature.Int64, raw: `true`, fail: "true where int64 is expected"},
		{typ: feature.Int64, raw: `{}`, fail: "a JSON object where int64 is expected"},
		{typ: feature.Int64, raw: `[1]`, fail: "a JSON array where int64 is expected"},
		{typ: feature.Int32, raw: `2147483648`, fail: "out of range"},
		{typ: feature.Float64, raw: `9007199254740993`, fail: "exactly"},
		{typ: feature.Float64, raw: `1e400`, fail: "out of range"},
		{typ: feature.Float64, raw: `"NaN"`, want: `"NaN"`},
		{typ: feature.Float64, raw: `-0.0`, want: `-0.0`},
		{typ: feature.Bool, raw: `false`, want: `false`},
		{typ: feature.Bool, raw: `0`, fail: "number 0 where bool is expected"},
		{typ: feature.String, raw: `7`, fail: "number 7 where string is expected"},
		{typ: feature.String, raw: `"\u00e9\ud83d\ude00"`, want: `"é😀"`},
		{typ: feature.String, raw: `"\ud800"`, fail: "UTF-8"},
		{typ: feature.Bytes, raw: `"AP8="`, want: `"AP8="`},
		{typ: feature.TimestampType, raw: `"2024-01-01T00:00:00.0000019Z"`, want: `"2024-01-01T00:00:00.000001Z"`},
		{typ: feature.TimestampType, raw: `1704067200`, fail: "number"},
		{typ: list, raw: `[1, null, -1]`, want: `[1,null,-1]`},
		{typ: list, raw: `[]`, want: `[]`},
		{typ: list, raw: `[1, [2]]`, fail: "element 1: a JSON array where int64 is expected"},
		{typ: list, raw: `1`, fail: "number 1 where list<int64> is expected"},
		{typ: list, raw: `true`, fail: "true where list<int64> is expected"},
		{typ: list, raw: `"[1]"`, fail: "where list<int64> is expected"},
		{typ: feature.ListOf(feature.Bool), raw: `[true]`, want: `[true]`},
		{typ: vector, raw: `[1, 2.5]`, want: `[1.0,2.5]`},
		{typ: vector, raw: `[1]`, fail: "1 elements where vector<float32,2> is expected"},
		{typ: vector, raw: `[1, null]`, fail: "element 1 is null"},
		{typ: vector, raw: `null`, want: `null`},
	} {
		v, err := strictjson.Value(c.typ, jsontext.Value(c.raw))
		if c.fail != "" {
			require.ErrorContains(t, err, c.fail, "%s from %s", c.typ, c.raw)
			continue
		}
		require.NoError(t, err, "%s from %s", c.typ, c.raw)
		require.Equal(t, c.want, v.String())
		require.Equal(t, c.typ, v.Type())
	}
}

// FuzzValue: valid JSON of any shape is a value that is written and read again
// the same, or an error, for every type.
func FuzzValue(f *testing.F) {
	for _, raw := range []string{`1`, `-0.0`, `1e3`, `"NaN"`, `"2024-01-01"`, `[1,null]`, `[0.5,1]`, `{"a":1}`, `true`, `"\ud83d\ude00"`, `"AP8="`} {
		f.Add([]byte(raw))
	}
	types := []feature.Type{
		feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes,
		feature.TimestampType, feature.ListOf(feature.Float32), feature.ListOf(feature.String), feature.Vector(2),
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value := jsontext.Value(raw)
		if !value.IsValid() || value.Compact() != nil {
			return
		}
		for _, typ := range types {
			v, err := strictjson.Value(typ, value)
			if err != nil {
				continue
			}
			again, err := strictjson.Value(typ, v.AppendJSON(nil))
			require.NoError(t, err)
			require.True(t, v.Equal(again), "%s", v)
		}
	})
}
