package feature_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
)

// valid returns definitions without a fault.
func valid() feature.Definitions {
	return feature.Definitions{
		Entities: []feature.Entity{
			{Name: "driver", JoinKeys: []feature.JoinKey{{Name: "driver_id", Type: feature.Int64}}},
			{Name: "city", JoinKeys: []feature.JoinKey{{Name: "city", Type: feature.String}, {Name: "country", Type: feature.Bytes}}},
		},
		Sources: []feature.Source{{Name: "rows", Path: "rows.csv", Columns: map[string]string{"id": "driver_id"}}},
		Views: []feature.View{
			{
				Name: "stats", Entities: []string{"driver", "city"}, Source: "rows", TTL: feature.TTL(time.Hour),
				Features: []feature.Feature{{Name: "trips", Type: feature.Int64}, {Name: "profile", Type: feature.Vector(3)}},
			},
			{Name: "plain", Entities: []string{"city"}, Static: true, Features: []feature.Feature{{Name: "trips", Type: feature.ListOf(feature.String)}}},
		},
		Services: []feature.Service{{Name: "model", Features: []feature.ServiceItem{
			{View: "stats", Feature: "trips", As: "heat"}, {View: "plain"},
		}}},
	}
}

func faultTexts(err error) []string {
	var out []string
	for _, f := range feature.FaultsOf(err) {
		out = append(out, f.String())
	}
	return out
}

func TestValidate(t *testing.T) {
	require.NoError(t, valid().Validate())
	require.NoError(t, feature.Definitions{}.Validate())
}

// requireFaults asks for the faults of valid definitions after an edit. Their
// order does not depend on the order of maps, so it is asked for three times.
func requireFaults(t *testing.T, edit func(d *feature.Definitions), want []string) {
	t.Helper()
	for range 3 {
		d := valid()
		edit(&d)
		err := d.Validate()
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
		require.Equal(t, want, faultTexts(err))
	}
}

func TestValidateEntities(t *testing.T) {
	requireFaults(t, func(d *feature.Definitions) {
		d.Entities = append(d.Entities,
			feature.Entity{Name: "City"},
			feature.Entity{Name: "driver", JoinKeys: []feature.JoinKey{{Name: "k", Type: feature.Float32}, {Name: "K", Type: feature.ListOf(feature.Int64)}, {}}},
		)
		d.Views, d.Services = nil, nil
	}, []string{
		"entities[City].name: entity City differs from city only by case",
		"entities[City].join_keys: an entity needs at least one join key",
		"entities[driver].name: entity driver is defined twice",
		"entities[driver].join_keys[k].type: float32 cannot be a join key (expected int32, int64, string, bytes, bool or timestamp)",
		"entities[driver].join_keys[K].name: join key K differs from k only by case",
		"entities[driver].join_keys[K].type: list<int64> cannot be a join key (expected int32, int64, string, bytes, bool or timestamp)",
		"entities[driver].join_keys[].name: a name is missing",
		"entities[driver].join_keys[].type: invalid cannot be a join key (expected int32, int64, string, bytes, bool or timestamp)",
	})
}

func TestValidateSources(t *testing.T) {
	requireFaults(t, func(d *feature.Definitions) {
		d.Sources = append(d.Sources, feature.Source{
			Name: "1", Format: "xml", Incomplete: "drop", CSV: feature.CSVOptions{Delimiter: "ab", Quote: "''"},
			Columns: map[string]string{"b": "x", "a": "x", "c": "no name"},
		}, feature.Source{Name: "tabs", CSV: feature.CSVOptions{Delimiter: "\t", Quote: "\t"}},
			feature.Source{Name: "quoted", CSV: feature.CSVOptions{Delimiter: `"`}},
			feature.Source{Name: "bare", CSV: feature.CSVOptions{Delimiter: "¦", Quote: "none"}})
	}, []string{
		`sources[1].name: name "1" is not allowed (expected letters, digits, _ and -, not starting with a digit or -)`,
		`sources[1].format: "xml" is not a format (expected csv, ndjson, json, parquet or arrow)`,
		`sources[1].incomplete: "drop" is not a choice (expected reject or skip)`,
		`sources[1].csv.delimiter: "ab" is not a delimiter (expected one character)`,
		`sources[1].csv.quote: "''" is not a quote (expected one ASCII character, or none)`,
		"sources[1].columns: columns a and b are both mapped to x",
		`sources[1].columns[c]: name "no name" is not allowed (expected letters, digits, _ and -, not starting with a digit or -)`,
		"sources[tabs].csv.quote: the quote and the delimiter are the same",
		`sources[quoted].csv.delimiter: "\"" is not a delimiter (expected one character)`,
	})
}

func TestValidateViews(t *testing.T) {
	requireFaults(t, func(d *feature.Definitions) {
		d.Views = append(d.Views,
			feature.View{
				Name: "a", Entities: []string{"driver", "nobody"}, Source: "nowhere", TTL: -1, Static: true, EventTimestamp: "at", CreatedTimestamp: "at",
				Features: []feature.Feature{
					{Name: "v", Type: feature.Int64},
					{Name: "V", Type: feature.Int64},
					{Name: "driver_id", Type: feature.Int64},
					{Name: "AT", Type: feature.Int64},
					{Name: "x"},
					{Name: "y", Type: feature.Vector(feature.MaxVectorDim + 1)},
					{Name: "z", Type: feature.Type{Kind: feature.KindInt64, Dim: 3}},
					{Name: "w", Type: feature.Type{Kind: 99}},
				},
			},
			feature.View{Name: "b", TTL: 1500, Static: true},
			feature.View{Name: "c", Entities: []string{"driver"}, TTL: feature.TTL(time.Hour), Static: true, Features: []feature.Feature{{Name: "event_timestamp", Type: feature.Int64}}},
			feature.View{Name: "d", Entities: []string{"driver", "driver"}, Features: []feature.Feature{{Name: "v", Type: feature.Int64}}},
		)
	}, []string{
		"views[a].source: there is no source nowhere",
		"views[a].ttl: a TTL is not negative",
		"views[a].static: a static view has no event timestamp column, and this one names at",
		"views[a].entities: there is no entity nobody",
		"views[a].created_timestamp: column at is defined twice",
		"views[a].features[V].name: column V differs from v only by case",
		"views[a].features[driver_id].name: column driver_id is defined twice",
		"views[a].features[AT].name: column AT differs from at only by case",
		"views[a].features[x].type: a type is missing",
		"views[a].features[y].type: vector<float32,65537> is not a vector of 1 to 65536 float32",
		"views[a].features[z].type: vector<int64,3> is not a vector of 1 to 65536 float32",
		"views[a].features[w].type: a type is missing",
		"views[b].ttl: a TTL is not finer than a microsecond",
		"views[b].entities: a view needs at least one entity",
		"views[b].features: a view needs at least one feature",
		"views[c].ttl: the rows of a static view are true since the epoch: a TTL would hide them all",
		"views[c].features[event_timestamp].name: column event_timestamp is defined twice",
		"views[d].entities[driver]: column driver_id is defined twice",
	})
}

func TestValidateServices(t *testing.T) {
	requireFaults(t, func(d *feature.Definitions) {
		d.Services = append(d.Services, feature.Service{Name: "Model"}, feature.Service{Name: "s", Features: []feature.ServiceItem{
			{View: "stats", Feature: "trips", As: "x"},
			{View: "stats"},
			{View: "STATS", Feature: "trips"},
			{View: "stats", Feature: "TRIPS"},
			{View: "plain", As: "y"},
			{View: "plain", Feature: "trips", As: "X"},
		}})
	}, []string{
		"services[Model].name: service Model differs from model only by case",
		"services[Model].features: a service needs at least one feature",
		"services[s].features[1]: feature stats:trips is selected twice",
		"services[s].features[2]: there is no view STATS",
		"services[s].features[3]: view stats has no feature TRIPS",
		"services[s].features[4]: only one feature can be renamed, not all of view plain",
		"services[s].features[5]: feature plain:trips is selected twice",
		"services[s].features[5].as: name X differs from x only by case",
	})
}

func TestValidateText(t *testing.T) {
	requireFaults(t, func(d *feature.Definitions) {
		d.Entities[0].Description = "\xff"
		d.Sources[0].Path = "\xff"
		d.Sources[0].CSV.Nulls = []string{"NA", "\xff"}
		d.Sources[0].Columns = map[string]string{"\xff": "x"}
		d.Views[0].Owner = "\xff"
		d.Views[0].Features[0].Tags = map[string]string{"a": "\xed\xa0\x80", "\xff": "b"}
		d.Services[0].Tags = map[string]string{"a": "\xff"}
	}, []string{
		"entities[driver].description: text is not valid UTF-8",
		"sources[rows].path: text is not valid UTF-8",
		"sources[rows].csv: text is not valid UTF-8",
		"sources[rows].columns: text is not valid UTF-8",
		"views[stats].owner: text is not valid UTF-8",
		"views[stats].features[trips].tags[a]: text is not valid UTF-8",
		"views[stats].features[trips].tags: text is not valid UTF-8",
		"services[model].tags[a]: text is not valid UTF-8",
	})
}

func TestDefinitionsSorted(t *testing.T) {
	d := feature.Definitions{Entities: []feature.Entity{{Name: "b"}, {Name: "a"}}}
	require.Equal(t, "a", d.Sorted().Entities[0].Name)
	require.Equal(t, "b", d.Entities[0].Name, "what it was called on stays as it was")
	merged := d.Merge(feature.Definitions{Entities: []feature.Entity{{Name: "a"}}})
	require.Len(t, merged.Entities, 3)
	require.Len(t, d.Entities, 2)
}

func TestViewColumns(t *testing.T) {
	off := false
	v := feature.BoundView{
		View: feature.View{
			Name: "stats", EventTimestamp: "at", Online: &off,
			Features: []feature.Feature{{Name: "trips", Type: feature.Int64}, {Name: "rate", Type: feature.Float64}},
		},
		Project: "demo", Keys: []feature.JoinKey{{Name: "driver_id", Type: feature.Int64}},
	}
	require.Equal(t, []string{"driver_id", "at", "created_timestamp", "trips", "rate"}, v.Columns())
	require.Equal(t, "view demo/stats", v.Subject())
	require.False(t, v.IsOnline())
	require.True(t, feature.View{}.IsOnline())
	require.Equal(t, "event_timestamp", feature.View{}.EventColumn())
	require.Equal(t, "known", feature.View{CreatedTimestamp: "known"}.CreatedColumn())
	require.Equal(t, 1, v.Index("rate"))
	require.Equal(t, -1, v.Index("Rate"))
}

func TestSelection(t *testing.T) {
	driver := feature.JoinKey{Name: "driver_id", Type: feature.Int64}
	f := &feature.BoundView{
		View: feature.View{Name: "f", Features: []feature.Feature{{Name: "v", Type: feature.Int64}, {Name: "w", Type: feature.Bool}}},
		ID:   1, Keys: []feature.JoinKey{driver}, Slots: []int{1, 0},
	}
	g := &feature.BoundView{
		View: feature.View{Name: "g", Features: []feature.Feature{{Name: "v", Type: feature.String}}},
		ID:   2, Keys: []feature.JoinKey{{Name: "city", Type: feature.String}, driver}, Slots: []int{0},
	}
	h := &feature.BoundView{
		View: feature.View{Name: "h", Features: []feature.Feature{{Name: "v", Type: feature.String}}},
		ID:   3, Keys: []feature.JoinKey{{Name: "driver_id", Type: feature.String}}, Slots: []int{0},
	}
	s := feature.Selection{Features: []feature.SelectedFeature{{View: g}, {View: f, Index: 1, As: "speed"}, {View: f}}}
	require.Equal(t, []*feature.BoundView{g, f}, s.Views())
	keys, faults := s.JoinKeys()
	require.Empty(t, faults)
	require.Equal(t, g.Keys, keys)
	require.Equal(t, "g:v", s.Features[0].Ref().String())
	require.Equal(t, "v", s.Features[0].Name(false))
	require.Equal(t, "g__v", s.Features[0].Name(true))
	require.Equal(t, "speed", s.Features[1].Name(true))
	require.Equal(t, feature.Bool, s.Features[1].Type())
	require.Equal(t, 0, s.Features[1].Slot())

	s.Features = append(s.Features, feature.SelectedFeature{View: h})
	_, faults = s.JoinKeys()
	require.Equal(t, []feature.Fault{{
		Field: "features", Detail: "join key driver_id is int64 in one view and string in view h: ask for them apart",
	}}, faults)
}
