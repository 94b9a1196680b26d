package serving

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/keyenc"
	"github.com/granary-ml/granary/internal/strictjson"
)

// FuzzRequest holds the scanner of lookups to the slow reader of JSON: both
// take and refuse the same bodies, and find the same features, service and
// entities in them.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		`{"features":["a:b","c:d"],"entities":{"k":[1,2.5,"x",null]},"include":["status","age"]}`,
		`{"service":"s","entities":{"a":[],"b":[[1,[2]],{"c":"]}"}]}}`,
		`{"service":null,"features":null,"entities":null,"include":null}`,
		`{"entities":{"k":["\u00e9\\\"","\ud83d\ude00"]},"features":["\u0061:b"]}`,
		` { "features" : [ "a:b" ] , "entities" : { "k" : [ 1 , 2 ] } } `,
		`{"features":["a:b"],"features":[]}`, `{"entities":{"k":[1],"k":[2]}}`, `{"x":1}`, `{}`, `[]`, `nul`, `{"entities":{"k":["\ud800"]}}`,
		"{\"service\":\"\xff\"}", `{"include":["events"]}`, `{"features":["a:b"]}x`, `{"a":{"b":[{"c":{}}]}}`,
	} {
		f.Add([]byte(seed))
	}
	p := &parser{}
	f.Fuzz(func(t *testing.T, body []byte) {
		var slow wire.OnlineRequest
		slowErr := strictjson.Unmarshal(body, &slow)
		fast, err := p.parse(body)
		if err != nil {
			require.Error(t, slowErr)
			require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
			return
		}
		if slowErr != nil || len(fast.faults) > 0 {
			return // valid JSON that is not a lookup, which the plan or the faults tell
		}
		refs, faults := readRefs(fast.features)
		require.Empty(t, faults)
		require.Len(t, refs, len(slow.Features))
		for i := range refs {
			require.Equal(t, slow.Features[i], refs[i])
		}
		service := ""
		if fast.service != nil {
			service, _ = unquote(fast.service)
		}
		require.Equal(t, slow.Service, service)
		requireSameEntities(t, slow.Entities, fast.entities)
	})
}

func requireSameEntities(t *testing.T, want map[string][]wire.RawValue, raw jsontext.Value) {
	t.Helper()
	if raw == nil {
		require.Empty(t, want)
		return
	}
	got := map[string][]wire.RawValue{}
	members := objectOf(raw)
	for {
		name, value, ok := members.member()
		if !ok {
			break
		}
		text, ok := unquote(name)
		require.True(t, ok)
		require.True(t, isString(name, text))
		if value.Kind() != '[' { // null is an empty list to the slow reader
			require.Equal(t, "null", string(value))
			got[text] = nil
			continue
		}
		got[text] = nil
		list := arrayOf(value)
		for item, ok := list.next(); ok; item, ok = list.next() {
			got[text] = append(got[text], wire.RawValue(item))
		}
	}
	require.Len(t, got, len(want))
	for name, values := range want {
		require.Len(t, got[name], len(values))
		for i := range values {
			require.Equal(t, string(values[i]), string(got[name][i]))
		}
	}
}

// The short ways of reading a key value give what the long one gives, or leave
// it to the long one.
func FuzzKeyColumn(f *testing.F) {
	for _, seed := range []string{
		`0`, `-0`, `7`, `-7`, `7.0`, `1e3`, `2147483647`, `2147483648`, `-2147483648`, `-2147483649`, `999999999999999999`,
		`9223372036854775807`, `-9223372036854775808`, `9223372036854775808`, `"x"`, `"a\u0000b"`, `"\ud83d\ude00"`, `"\/"`, `null`, `true`, `[]`,
		`"2024-01-01T00:00:00Z"`, `"YWJj"`, `"YWJ"`,
	} {
		f.Add([]byte(seed))
	}
	types := []feature.Type{feature.Bool, feature.Int32, feature.Int64, feature.String, feature.Bytes, feature.TimestampType}
	f.Fuzz(func(t *testing.T, raw []byte) {
		value := jsontext.Value(bytes.TrimSpace(raw))
		if !value.IsValid() {
			return
		}
		for _, typ := range types {
			key := feature.JoinKey{Name: "k", Type: typ}
			var c keyColumn
			faults := c.read(key, jsontext.Value("["+string(value)+"]"))
			want, err := strictjson.Value(typ, value)
			if err != nil {
				require.Len(t, faults, 1, "%s as %s", value, typ)
				continue
			}
			if len(want.Text()) > feature.MaxEntityKeyBytes/2 {
				continue
			}
			require.Empty(t, faults)
			require.Equal(t, 1, c.rows)
			require.Equal(t, want.IsNull(), c.null(0))
			require.True(t, json.Valid(c.text))
			if want.IsNull() {
				require.Equal(t, "null", string(c.text))
				continue
			}
			require.Equal(t, feature.AppendKey(nil, want), c.segment(0), "%s as %s", value, typ)
			again, err := strictjson.Value(typ, c.text)
			require.NoError(t, err)
			require.True(t, want.Equal(again), "%s as %s came back as %s", value, typ, c.text)
		}
	})
}

func TestKeyColumnNulls(t *testing.T) {
	var c keyColumn
	require.Empty(t, c.read(feature.JoinKey{Name: "k", Type: feature.Int64}, jsontext.Value(`[1,null,3, null ,5]`)))
	require.Equal(t, `1,null,3,null,5`, string(c.text))
	var nulls []bool
	for row := range c.rows {
		nulls = append(nulls, c.null(row))
	}
	require.Equal(t, []bool{false, true, false, true, false}, nulls)
	require.Equal(t, keyenc.AppendInt64(nil, 5), c.segment(4))
	c.reset()
	require.Empty(t, c.read(feature.JoinKey{Name: "k", Type: feature.Int64}, jsontext.Value(`[7,8]`)))
	require.False(t, c.null(1), "a column is used again without its nulls")
}

func TestKeyColumnTellsABoundedNumberOfFaults(t *testing.T) {
	var c keyColumn
	raw := append(bytes.Repeat([]byte(`"x",`), 1000), `"x"]`...)
	require.Len(t, c.read(feature.JoinKey{Name: "k", Type: feature.Int64}, append(jsontext.Value(`[`), raw...)), maxFaults)
}

func TestPlanCacheIsBounded(t *testing.T) {
	var c planCache
	for i := range 3 * maxPlans {
		c.add(&plan{revision: 1}, []byte{byte(i), byte(i >> 8)})
		require.LessOrEqual(t, len(c.current.Load().plans), maxPlans)
	}
	require.NotNil(t, c.find(1, []byte{byte((3*maxPlans - 1) & 255), byte((3*maxPlans - 1) >> 8)}))
	require.Nil(t, c.find(2, []byte{0, 0}), "a plan belongs to its revision")
	c.add(&plan{revision: 2}, []byte("k"))
	require.Len(t, c.current.Load().plans, 1)
	c.add(&plan{revision: 1}, []byte("k"))
	require.Equal(t, int64(2), c.find(2, []byte("k")).revision, "an older plan does not come back")
	c.add(&plan{revision: 2}, make([]byte, maxPlanKeyBytes+1))
	require.Len(t, c.current.Load().plans, 1)
}
