package registry_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/strictjson"
	"github.com/granary-ml/granary/registry"
	"github.com/granary-ml/granary/registry/registrytest"
)

// TestRegistryProperties runs random applies, deletes, rollbacks and reopenings
// over a few names, so that they meet often, and checks after each what must
// always hold.
func TestRegistryProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{
			rt: rt, t: t, storage: registrytest.NewMemory(), lives: map[feature.ViewID]*life{},
			history: []map[string]feature.Definitions{{}},
		}
		m.registry = open(t, m.storage)
		m.other = open(t, m.storage)
		rt.Repeat(map[string]func(*rapid.T){
			"apply":         m.apply,
			"delete":        m.delete,
			"deleteProject": m.deleteProject,
			"rollback":      m.rollback,
			"reopen":        func(*rapid.T) { m.registry = open(t, m.storage) },
			"swap":          func(*rapid.T) { m.registry, m.other = m.other, m.registry },
			"":              m.check,
		})
	})
}

// model is what the registry should hold: the definitions at each revision, and
// the life of each view id.
type model struct {
	rt       *rapid.T
	t        *testing.T
	storage  registry.Storage
	registry *registry.Registry
	other    *registry.Registry // another process
	history  []map[string]feature.Definitions
	lives    map[feature.ViewID]*life
}

// life is all that was ever seen of a view id.
type life struct {
	project, view string
	keys          []feature.JoinKey
	types         []feature.Type
	slots         map[string]int
	last          int64 // revision at which it was seen last
}

func (m *model) now() map[string]feature.Definitions { return m.history[len(m.history)-1] }

// record takes a call's outcome: an error changes nothing, and a plan with
// changes is one more revision.
func (m *model) record(project string, want *feature.Definitions, plan wire.Plan, err error) {
	if err != nil {
		return
	}
	from := int64(len(m.history) - 1)
	require.Equal(m.rt, from, plan.From)
	if plan.To == from {
		require.Empty(m.rt, plan.Changes)
		return
	}
	require.Equal(m.rt, from+1, plan.To)
	next := map[string]feature.Definitions{}
	for name, d := range m.now() {
		if name != project {
			next[name] = d
		}
	}
	if want != nil {
		next[project] = want.Sorted()
	}
	m.history = append(m.history, next)
}

func (m *model) apply(rt *rapid.T) {
	project := drawProject(rt)
	want := drawDefinitions(rt)
	req := wire.ApplyRequest{Definitions: want, Prune: rapid.Bool().Draw(rt, "prune")}
	planned, planErr := m.registry.Plan(m.t.Context(), project, req)
	plan, err := m.registry.Apply(m.t.Context(), project, req)
	switch {
	case planErr != nil:
		require.Equal(rt, feature.FaultsOf(planErr), feature.FaultsOf(err))
	case len(planned.Refusals) > 0:
		require.Equal(rt, feature.CodeFailedPrecondition, feature.CodeOf(err))
	default:
		require.NoError(rt, err)
		require.Equal(rt, planned.Changes, plan.Changes)
		require.Equal(rt, planned.Patch, plan.Patch)
	}
	if !req.Prune {
		want = overlay(m.now()[project], want)
	}
	m.record(project, &want, plan, err)
}

// overlay says additive apply in the plainest way.
func overlay(have, want feature.Definitions) feature.Definitions {
	for _, e := range have.Entities {
		if !slices.ContainsFunc(want.Entities, func(o feature.Entity) bool { return o.Name == e.Name }) {
			want.Entities = append(want.Entities, e)
		}
	}
	for i := range have.Views {
		if !slices.ContainsFunc(want.Views, func(o feature.View) bool { return o.Name == have.Views[i].Name }) {
			want.Views = append(want.Views, have.Views[i])
		}
	}
	for _, s := range have.Services {
		if !slices.ContainsFunc(want.Services, func(o feature.Service) bool { return o.Name == s.Name }) {
			want.Services = append(want.Services, s)
		}
	}
	return want
}

func (m *model) delete(rt *rapid.T) {
	project := drawProject(rt)
	name := rapid.SampledFrom([]string{"v0", "v1", "s0"}).Draw(rt, "name")
	kind := registry.KindView
	if name == "s0" {
		kind = registry.KindService
	}
	plan, err := m.registry.Delete(m.t.Context(), project, kind, name, nil)
	want := m.now()[project]
	want.Views = slices.DeleteFunc(slices.Clone(want.Views), func(v feature.View) bool { return v.Name == name })
	want.Services = slices.DeleteFunc(slices.Clone(want.Services), func(s feature.Service) bool { return s.Name == name })
	m.record(project, &want, plan, err)
}

func (m *model) deleteProject(rt *rapid.T) {
	project := drawProject(rt)
	plan, err := m.registry.DeleteProject(m.t.Context(), project, nil)
	_, there := m.now()[project]
	require.Equal(rt, there, err == nil)
	m.record(project, nil, plan, err)
}

func (m *model) rollback(rt *rapid.T) {
	project := drawProject(rt)
	revision := rapid.IntRange(0, len(m.history)-1).Draw(rt, "revision")
	want, there := m.history[revision][project]
	plan, err := m.registry.Rollback(m.t.Context(), project, int64(revision), nil)
	require.Equal(rt, there, err == nil, "%v", err)
	m.record(project, &want, plan, err)
}

func (m *model) check(rt *rapid.T) {
	revision := int64(len(m.history) - 1)
	for _, r := range []*registry.Registry{m.registry, m.other, open(m.t, m.storage)} {
		snapshot, err := r.Refresh(m.t.Context())
		require.NoError(rt, err)
		require.Equal(rt, revision, snapshot.Revision())
		m.requireDefinitions(snapshot, m.now())
	}
	old := rapid.IntRange(0, len(m.history)-1).Draw(rt, "old")
	snapshot, err := m.registry.At(m.t.Context(), int64(old))
	require.NoError(rt, err)
	m.requireDefinitions(snapshot, m.history[old])
	m.checkLives(revision)
}

func (m *model) requireDefinitions(s *registry.Snapshot, want map[string]feature.Definitions) {
	require.Len(m.rt, s.Projects(), len(want))
	for _, project := range s.Projects() {
		d, err := s.Definitions(project)
		require.NoError(m.rt, err)
		require.Equal(m.rt, toJSON(m.t, want[project]), toJSON(m.t, d))
	}
}

// checkLives: an id stands for one view from its creation to its deletion, with
// the same keys, and with slots that are only added.
func (m *model) checkLives(revision int64) {
	s := m.registry.Snapshot()
	for _, project := range s.Projects() {
		views, err := s.Views(project)
		require.NoError(m.rt, err)
		for _, v := range views {
			l, known := m.lives[v.ID]
			if !known {
				l = &life{project: project, view: v.Name, keys: v.Keys, types: []feature.Type{}, slots: map[string]int{}}
				m.lives[v.ID] = l
			} else {
				require.GreaterOrEqual(m.rt, l.last, revision-1, "view id %d came back", v.ID)
			}
			require.Equal(m.rt, [2]string{l.project, l.view}, [2]string{project, v.Name})
			require.Equal(m.rt, l.keys, v.Keys)
			require.GreaterOrEqual(m.rt, len(v.SlotTypes), len(l.types))
			require.Equal(m.rt, l.types, v.SlotTypes[:len(l.types)])
			for i, f := range v.Features {
				slot, known := l.slots[f.Name]
				require.True(m.rt, !known || slot == v.Slots[i], "feature %s moved", f.Name)
				l.slots[f.Name] = v.Slots[i]
				require.Equal(m.rt, f.Type, v.SlotTypes[v.Slots[i]])
			}
			l.types, l.last = v.SlotTypes, revision
		}
	}
}

func toJSON(t *testing.T, v any) string {
	t.Helper()
	out, err := json.Marshal(v)
	require.NoError(t, err)
	return string(out)
}

func drawProject(rt *rapid.T) string {
	return rapid.SampledFrom([]string{"dev", "prod"}).Draw(rt, "project")
}

func drawType(rt *rapid.T) feature.Type {
	return rapid.SampledFrom([]feature.Type{feature.Int64, feature.Int64, feature.Int64, feature.String}).Draw(rt, "type")
}

// drawDefinitions draws definitions that are mostly valid, over few names.
func drawDefinitions(rt *rapid.T) feature.Definitions {
	d := feature.Definitions{Entities: []feature.Entity{{Name: "e", JoinKeys: []feature.JoinKey{{Name: "k", Type: drawType(rt)}}}}}
	for _, name := range []string{"v0", "v1"} {
		if !rapid.Bool().Draw(rt, name) {
			continue
		}
		v := feature.View{Name: name, Entities: []string{"e"}, TTL: feature.TTL(rapid.IntRange(0, 2).Draw(rt, "ttl")) * feature.TTL(time.Hour)}
		for f := range rapid.IntRange(1, 3).Draw(rt, "features") {
			v.Features = append(v.Features, feature.Feature{Name: fmt.Sprintf("f%d", f), Type: drawType(rt)})
		}
		d.Views = append(d.Views, v)
	}
	if rapid.Bool().Draw(rt, "s0") {
		d.Services = []feature.Service{{Name: "s0", Features: []feature.ServiceItem{{View: "v0"}}}}
	}
	return d
}

// TestSpellingsProperties: Go, YAML and JSON are three spellings of one model.
func TestSpellingsProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawAnyDefinitions(rt)
		if err := d.Validate(); err != nil {
			rt.Fatalf("the generator makes valid definitions: %v", err)
		}
		text, err := registry.MarshalYAML(d)
		require.NoError(rt, err)
		fromYAML, err := registry.ParseYAML("defs.yaml", text)
		require.NoError(rt, err, "%s", text)
		require.Equal(rt, d, fromYAML, "%s", text)

		raw, err := json.Marshal(d)
		require.NoError(rt, err)
		var fromJSON feature.Definitions
		require.NoError(rt, strictjson.Unmarshal(raw, &fromJSON), "%s", raw)
		require.Equal(rt, d, fromJSON, "%s", raw)

		second, err := registry.MarshalYAML(fromJSON)
		require.NoError(rt, err)
		require.Equal(rt, string(text), string(second))
	})
}

var names = rapid.StringMatching(`[A-Za-z_][A-Za-z0-9_-]{0,12}`)

// drawText draws text that spellings like to trip over.
func drawText(rt *rapid.T, label string) string {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		"", "null", "~", "true", "No", "y", "1.10", "0x1F", "1e3", "2024-01-01", ".inf", "=", "<<", "- a", "a: b", "a #b", "#", "'", `"`, `\`,
		" lead", "trail ", "tab\t", "two\nlines", "\n", "\r\n", "\u2028", "\ufeff", "\u0085", "\x00", "\x7f", "日本", "😀", "*a", "&a", "!a", "%", "@", "`", "?", "{", "[", ",", "|", ">",
	})).Draw(rt, label)
}

func drawTags(rt *rapid.T) map[string]string {
	var tags map[string]string
	for range rapid.IntRange(0, 2).Draw(rt, "tags") {
		if tags == nil {
			tags = map[string]string{}
		}
		tags[drawText(rt, "key")] = drawText(rt, "value")
	}
	return tags
}

func drawAnyType(rt *rapid.T) feature.Type {
	kind := rapid.IntRange(int(feature.KindBool), int(feature.KindTimestamp)).Draw(rt, "kind")
	scalar := feature.Type{Kind: feature.Kind(kind)}
	switch rapid.IntRange(0, 2).Draw(rt, "shape") {
	case 1:
		return feature.ListOf(scalar)
	case 2:
		return feature.Vector(uint32(rapid.IntRange(1, feature.MaxVectorDim).Draw(rt, "dim")))
	}
	return scalar
}

// drawAnyDefinitions draws valid definitions that use every member.
func drawAnyDefinitions(rt *rapid.T) feature.Definitions {
	d := feature.Definitions{
		Entities: []feature.Entity{{
			Name: names.Draw(rt, "entity"), JoinKeys: []feature.JoinKey{{Name: "key-1", Type: feature.Bytes}},
			Description: drawText(rt, "description"), Owner: drawText(rt, "owner"), Tags: drawTags(rt),
		}},
		Sources: []feature.Source{{
			Name: names.Draw(rt, "source"), Path: drawText(rt, "path"),
			Format:     rapid.SampledFrom([]feature.Format{feature.FormatByName, feature.FormatCSV, feature.FormatArrow}).Draw(rt, "format"),
			Incomplete: rapid.SampledFrom([]feature.Incomplete{feature.IncompleteDefault, feature.IncompleteSkip}).Draw(rt, "incomplete"),
			CSV:        feature.CSVOptions{Delimiter: rapid.SampledFrom([]string{"", ";", "\t", "|"}).Draw(rt, "delimiter")},
			Tags:       drawTags(rt),
		}},
	}
	for range rapid.IntRange(0, 2).Draw(rt, "nulls") {
		d.Sources[0].CSV.Nulls = append(d.Sources[0].CSV.Nulls, drawText(rt, "null"))
	}
	if from := drawText(rt, "from"); from != "" {
		d.Sources[0].Columns = map[string]string{from: "to"}
	}
	v := feature.View{
		Name: names.Draw(rt, "view"), Entities: []string{d.Entities[0].Name}, Source: d.Sources[0].Name,
		Static: rapid.Bool().Draw(rt, "static"), Description: drawText(rt, "description"), Tags: drawTags(rt),
		Features: []feature.Feature{{Name: "f-1", Type: drawAnyType(rt), Description: drawText(rt, "description"), Tags: drawTags(rt)}},
	}
	if !v.Static {
		v.TTL = feature.TTL(time.Duration(rapid.Int64Range(0, 1e12).Draw(rt, "ttl")) * time.Microsecond)
		v.EventTimestamp = rapid.SampledFrom([]string{"", "at"}).Draw(rt, "event")
	}
	v.CreatedTimestamp = rapid.SampledFrom([]string{"", "known"}).Draw(rt, "created")
	if rapid.Bool().Draw(rt, "says online") {
		online := rapid.Bool().Draw(rt, "online")
		v.Online = &online
	}
	d.Views = []feature.View{v}
	d.Services = []feature.Service{{
		Name: names.Draw(rt, "service"), Owner: drawText(rt, "owner"),
		Features: []feature.ServiceItem{{View: v.Name, Feature: "f-1", As: rapid.SampledFrom([]string{"", "other"}).Draw(rt, "as")}},
	}}
	return d
}
