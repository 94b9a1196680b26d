package sdk

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// everything has a field of each type.
type everything struct {
	ID      int64             `granary:"key"`
	Zone    string            `granary:"key,name=zone_id"`
	At      time.Time         `granary:"event,name=at"`
	Known   feature.Timestamp `granary:"created,name=known"`
	Flag    bool              `granary:"feature"`
	Small   int32             `granary:"feature"`
	Plain   int               `granary:"feature"`
	Half    float32           `granary:"feature"`
	Full    *float64          `granary:"feature"`
	Text    *string           `granary:"feature"`
	Raw     []byte            `granary:"feature"`
	When    *time.Time        `granary:"feature"`
	Scores  []float64         `granary:"feature"`
	Maybe   []*int64          `granary:"feature"`
	Vector  [3]float32        `granary:"feature"`
	HTTPRef string            `granary:"feature"`
	Other   chan int          // no tag: not ours
	Skipped string            `granary:"-"`
}

func TestViewOf(t *testing.T) {
	entity, err := EntityOf[everything]("thing")
	require.NoError(t, err)
	require.Equal(t, feature.Entity{Name: "thing", JoinKeys: []feature.JoinKey{
		{Name: "id", Type: feature.Int64}, {Name: "zone_id", Type: feature.String},
	}}, entity)
	view, err := ViewOf[everything](feature.View{Name: "things", Entities: []string{"thing"}, TTL: feature.TTL(time.Hour)})
	require.NoError(t, err)
	require.Equal(t, "at", view.EventTimestamp)
	require.Equal(t, "known", view.CreatedTimestamp)
	types := map[string]string{}
	for _, f := range view.Features {
		types[f.Name] = f.Type.String()
	}
	require.Equal(t, map[string]string{
		"flag": "bool", "small": "int32", "plain": "int64", "half": "float32", "full": "float64", "text": "string", "raw": "bytes",
		"when": "timestamp", "scores": "list<float64>", "maybe": "list<int64>", "vector": "vector<float32,3>", "http_ref": "string",
	}, types)
	require.NoError(t, feature.Definitions{Entities: []feature.Entity{entity}, Views: []feature.View{view}}.Validate())
}

func TestViewOfTellsEveryFault(t *testing.T) {
	type wrong struct {
		Key     float64        `granary:"key"`
		At      string         `granary:"event"`
		Map     map[string]int `granary:"feature"`
		Role    int            `granary:"value"`
		Option  int            `granary:"feature,size=3"`
		private int            `granary:"feature"` //nolint:unused // its tag is what is tested
	}
	_, err := ViewOf[wrong](feature.View{})
	var fields []string
	for _, f := range feature.FaultsOf(err) {
		fields = append(fields, f.Field)
	}
	require.Equal(t, []string{"Key", "At", "Map", "Role", "Option", "private"}, fields)
	_, err = EntityOf[int]("e")
	require.ErrorContains(t, err, "not a struct")
	_, err = EntityOf[struct{ A int }]("e")
	require.ErrorContains(t, err, "no field has a granary tag")
}

func TestRowsRoundTrip(t *testing.T) {
	at := time.Date(2024, 1, 1, 10, 0, 0, 123456000, time.UTC)
	rows := []everything{{
		ID: math.MaxInt64, Zone: `a"b`, At: at, Known: 1, Flag: true, Small: -1, Plain: math.MinInt64, Half: 0.1,
		Full: new(math.Inf(-1)), Text: new("é"), Raw: []byte{0, 255}, When: &at, Scores: []float64{1, 0.1},
		Maybe: []*int64{new(int64(9007199254740993)), nil}, Vector: [3]float32{1, 2, 0.5}, HTTPRef: "",
	}, {}}
	data, err := appendRows(nil, rows)
	require.NoError(t, err)
	want := `{"id":9223372036854775807,"zone_id":"a\"b","at":"2024-01-01T10:00:00.123456Z","known":"1970-01-01T00:00:00.000001Z",` +
		`"flag":true,"small":-1,"plain":-9223372036854775808,"half":0.1,"full":"-Infinity","text":"é","raw":"AP8=",` +
		`"when":"2024-01-01T10:00:00.123456Z","scores":[1.0,0.1],"maybe":[9007199254740993,null],"vector":[1.0,2.0,0.5],"http_ref":""}` + "\n" +
		`{"id":0,"zone_id":"","at":"0001-01-01T00:00:00Z","known":"1970-01-01T00:00:00Z","flag":false,"small":0,"plain":0,"half":0.0,` +
		`"full":null,"text":null,"raw":null,"when":null,"scores":null,"maybe":null,"vector":[0.0,0.0,0.0],"http_ref":""}` + "\n"
	require.Equal(t, want, string(data))

	// The same values, as an answer has them by column, come back.
	fields, err := fieldsOf(reflect.TypeFor[everything]())
	require.NoError(t, err)
	var resp wire.OnlineResponse
	for _, f := range fields {
		column := wire.Column{Name: "things:" + f.name}
		for i := range rows {
			column.Values = append(column.Values, valueOf(reflect.ValueOf(rows[i]).Field(f.index), f.typ).AppendJSON(nil))
		}
		resp.Columns = append(resp.Columns, column)
	}
	back, err := Decode[everything](&resp)
	require.NoError(t, err)
	require.Equal(t, rows, back)
}

func TestDecodeFaults(t *testing.T) {
	type row struct {
		K int64   `granary:"key"`
		F float64 `granary:"feature,name=a:f"`
		G string  `granary:"feature"`
		H string  `granary:"feature"`
	}
	_, err := Decode[row](&wire.OnlineResponse{Columns: []wire.Column{
		{Name: "k", Values: Values[any](1, "x")},
		{Name: "a:f", Values: Values[any](1, nil)},
		{Name: "a:g", Values: Values("x", "y")},
		{Name: "b:g", Values: Values("x", "y")},
	}})
	var got []string
	for _, f := range feature.FaultsOf(err) {
		got = append(got, f.String())
	}
	require.Equal(t, []string{
		`k: row 1: the text "x" for the Go type int64`,
		"a:f: row 1: null for the Go type float64: make it a pointer",
		"g: both a:g and b:g have this name",
		"h: the answer has no such column",
	}, got)
}

func TestSnakeCase(t *testing.T) {
	for name, want := range map[string]string{
		"ID": "id", "AirTime": "air_time", "HTTPServer": "http_server", "UserID": "user_id", "A": "a", "Trips_7d": "trips_7d", "X_Y": "x_y",
	} {
		require.Equal(t, want, snakeCase(name))
	}
}

func TestValues(t *testing.T) {
	raw := Values(feature.Timestamp(0), 1)
	require.Equal(t, `"1970-01-01T00:00:00Z"`, string(raw[0]))
	require.Equal(t, "null", string(Values(make(chan int))[0]))
}
