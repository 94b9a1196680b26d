package registry_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/registry"
)

// writeFiles makes a folder of files and returns its path.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o750))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return folder
}

// faultsOf returns the faults as lines, with paths relative to the folder.
func faultsOf(err error, folder string) []string {
	var out []string
	for _, f := range feature.FaultsOf(err) {
		out = append(out, strings.ReplaceAll(f.String(), folder+string(filepath.Separator), ""))
	}
	return out
}

const (
	entityYAML = "project: demo\nentities:\n  - {name: driver, join_keys: [{name: driver_id, type: int64}]}\n"
	viewJSON   = `{"views": [{"name": "f", "entities": ["driver"], "ttl": "1h", "features": [{"name": "v", "type": "int64"}]}]}`
)

func TestLoadDefinitions(t *testing.T) {
	folder := writeFiles(t, map[string]string{
		"a.yaml":         entityYAML,
		"b.json":         viewJSON,
		"c.YML":          "services:\n  - {name: s, features: [f]}\n",
		"empty.yaml":     "# nothing\n",
		"granary.yaml":   "storage: ./somewhere\n",
		".hidden.yaml":   "nonsense",
		"notes.txt":      "nonsense",
		"sub/other.yaml": "nonsense",
	})
	project, d, err := registry.LoadProject(folder)
	require.NoError(t, err)
	require.Equal(t, "demo", project)
	require.Len(t, d.Entities, 1)
	require.Len(t, d.Views, 1)
	require.Len(t, d.Services, 1)

	// Files one by one, one of them twice.
	again, err := registry.LoadDefinitions(filepath.Join(folder, "b.json"), folder, filepath.Join(folder, "a.yaml"))
	require.NoError(t, err)
	require.Equal(t, d, again)
}

func TestLoadDefinitionsFaults(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{"of every file at once", map[string]string{
			"a.yaml": "entitys: []\n",
			"b.yaml": "views:\n  - name: f\n    ttl: soon\n",
			"c.json": `{"views": [{"name": "f", "Entities": []}]}`,
			"d.json": `{"views": `,
		}, []string{
			"a.yaml:1: entitys: no such key (expected project, entities, sources, views, services)",
			`b.yaml:3: views[f].ttl: "soon" is not a TTL: it cannot be read (expected a duration such as 90m, 6h or 7d, or 0 for none)`,
			"c.json: views.0.Entities: no such member",
			"d.json: views: not valid JSON at byte 10: unexpected EOF",
		}},
		{"between files, with lines", map[string]string{
			"a.yaml": "entities:\n  - {name: driver, join_keys: [{name: id, type: int64}]}\n",
			"b.yaml": "views:\n  - name: f\n    entities: [driver, city]\n    static: true\n    ttl: 1h\n    features:\n      - name: id\n        type: int64\n",
			"c.json": `{"entities": [{"name": "driver", "join_keys": [{"name": "id", "type": "float64"}]}]}`,
			"d.yaml": "services:\n  - name: s\n    features:\n      - f:id\n      - g:v\n",
		}, []string{
			"c.json: entities[driver].name: entity driver is defined twice",
			"c.json: entities[driver].join_keys[id].type: float64 cannot be a join key (expected int32, int64, string, bytes, bool or timestamp)",
			"b.yaml:5: views[f].ttl: the rows of a static view are true since the epoch: a TTL would hide them all",
			"b.yaml:3: views[f].entities: there is no entity city",
			"b.yaml:7: views[f].features[id].name: column id is defined twice",
			"d.yaml:5: services[s].features[1]: there is no view g",
		}},
		{"projects", map[string]string{
			"a.yaml": "project: demo\n",
			"b.yaml": "project: other\n",
			"c.yaml": "project: 1st\n",
		}, []string{
			"b.yaml: project: it is other here and demo in another file",
			`c.yaml: project: name "1st" is not allowed (expected letters, digits, _ and -, not starting with a digit or -)`,
			"c.yaml: project: it is 1st here and other in another file",
		}},
		{"not text", map[string]string{"a.yaml": "project: demo\nentities:\n  - {name: \xff}\n"}, []string{
			"a.yaml:3: text is not valid UTF-8",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			folder := writeFiles(t, c.files)
			_, err := registry.LoadDefinitions(folder)
			requireCode(t, feature.CodeInvalidArgument, err)
			require.Equal(t, c.want, faultsOf(err, folder))
		})
	}
}

func TestLoadDefinitionsPaths(t *testing.T) {
	_, err := registry.LoadDefinitions(filepath.Join(t.TempDir(), "nothing.yaml"))
	requireCode(t, feature.CodeNotFound, err)
	require.ErrorContains(t, err, "nothing.yaml")

	_, err = registry.LoadDefinitions(writeFiles(t, map[string]string{"notes.txt": ""}))
	requireCode(t, feature.CodeInvalidArgument, err)
	require.ErrorContains(t, err, "there are no definitions")

	_, err = registry.LoadDefinitions()
	requireCode(t, feature.CodeInvalidArgument, err)
}

func TestMarshalYAMLRefusesInvalidText(t *testing.T) {
	d := feature.Definitions{Entities: []feature.Entity{{Name: "e", Description: "\xff"}}}
	_, err := registry.MarshalYAML(d)
	requireCode(t, feature.CodeInvalidArgument, err)
}

// FuzzParseYAML: no input makes it panic, every fault names the file, and what
// is read is written and read again the same.
func FuzzParseYAML(f *testing.F) {
	for _, name := range []string{"plan", "compat", "delete", "history", "select", "yaml"} {
		data, err := os.ReadFile(filepath.Join("testdata", "scripts", name))
		require.NoError(f, err)
		for block := range strings.SplitSeq(string(data), "\n\n") {
			_, text, _ := strings.Cut(block, "\n")
			text, _, _ = strings.Cut(text, "----")
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := registry.ParseYAML("defs.yaml", data)
		if err != nil {
			require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err))
			for _, fault := range feature.FaultsOf(err) {
				require.True(t, strings.HasPrefix(fault.Field, "defs.yaml"), "%v", fault)
			}
			return
		}
		text, err := registry.MarshalYAML(d)
		require.NoError(t, err)
		again, err := registry.ParseYAML("defs.yaml", text)
		require.NoError(t, err, "%s", text)
		twice, err := registry.MarshalYAML(again)
		require.NoError(t, err)
		require.Equal(t, string(text), string(twice))
	})
}
