package onlinetest

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

//go:embed testdata/store
var scripts embed.FS

const scriptFolder = "testdata/store"

// RunScripts runs the golden scripts over stores that open makes, one for each.
// The commands are
//
//	define view=f id=1 ttl=1h    columns as lines: "key k int64", "feature v int64"
//	write view=f                 a row per line: k=1 event=10:00 created=10:01 v=5
//	read view=f at=11:00         a key per line: k=1
//	erase view=f                 a key per line
//	delete view=f
//	mark view=f                  with version= and through=, sets it
func RunScripts(t *testing.T, open func(tb testing.TB) online.Store) {
	t.Helper()
	entries, err := fs.ReadDir(scripts, scriptFolder)
	require.NoError(t, err)
	for _, e := range entries {
		t.Run(e.Name(), func(t *testing.T) {
			text, err := scripts.ReadFile(path.Join(scriptFolder, e.Name()))
			require.NoError(t, err)
			s := newScript(open(t))
			datadriven.RunTestFromString(t, string(text), s.run)
		})
	}
}

// script is the state of one golden script.
type script struct {
	store online.Store
	views map[string]View
}

func newScript(s online.Store) *script { return &script{store: s, views: map[string]View{}} }

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var name string
	d.ScanArgs(t, "view", &name)
	if d.Cmd == "define" {
		s.views[name] = defineView(t, d, name)
		return ""
	}
	v, ok := s.views[name]
	if !ok {
		d.Fatalf(t, "no view %s", name)
	}
	var out string
	var err error
	switch d.Cmd {
	case "write":
		out, err = s.write(t, v, d.Input)
	case "read":
		out, err = s.read(t, d, v)
	case "erase":
		var n int64
		n, err = s.store.DeleteEntities(t.Context(), v.ID, scriptKeys(t, v, d.Input))
		out = fmt.Sprintf("%d erased\n", n)
	case "delete":
		err = s.store.DeleteView(t.Context(), v.ID)
	case "mark":
		out, err = s.mark(t, d, v)
	default:
		d.Fatalf(t, "no command %s", d.Cmd)
	}
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	return out
}

func defineView(t *testing.T, d *datadriven.TestData, name string) View {
	t.Helper()
	id, ttl := 0, "0"
	d.ScanArgs(t, "id", &id)
	d.MaybeScanArgs(t, "ttl", &ttl)
	var keys, features []string
	for line := range strings.Lines(d.Input) {
		what, column, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch what {
		case "key":
			keys = append(keys, column)
		case "feature":
			features = append(features, column)
		default:
			d.Fatalf(t, "no such column: %s", line)
		}
	}
	v := MakeView(t, feature.ViewID(id), keys, features)
	v.Name = name
	var err error
	v.TTL, err = feature.ParseTTL(ttl)
	require.NoError(t, err)
	return v
}

func (s *script) write(t *testing.T, v View, input string) (string, error) {
	t.Helper()
	var rows []online.Row
	for line := range strings.Lines(input) {
		cells := scriptCells(t, line)
		values := make([]feature.Value, len(v.Features))
		for i, f := range v.Features {
			values[i] = ParseValue(t, f.Type, cells[f.Name])
		}
		event, created := At(t, cells["event"]), At(t, cells["event"])
		if text, ok := cells["created"]; ok {
			created = At(t, text)
		}
		rows = append(rows, v.Row(t, scriptKey(t, v, cells), event, created, values...))
	}
	stats, err := s.store.Write(t.Context(), v.ID, rows)
	return fmt.Sprintf("%d written, %d superseded\n", stats.Written, stats.Superseded), err
}

func (s *script) read(t *testing.T, d *datadriven.TestData, v View) (string, error) {
	t.Helper()
	at := "12:00"
	d.MaybeScanArgs(t, "at", &at)
	keys := scriptKeys(t, v, d.Input)
	var rows online.Rows
	if err := s.store.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: keys}}, &rows); err != nil {
		return "", err
	}
	var b strings.Builder
	i := 0
	for line := range strings.Lines(d.Input) {
		b.WriteString(strings.TrimSpace(line))
		served(t, &b, v, rows.Row(0, i), At(t, at))
		b.WriteByte('\n')
		i++
	}
	return b.String(), nil
}

// served prints a row as a lookup would serve it.
func served(t *testing.T, b *strings.Builder, v View, packed []byte, at feature.Timestamp) {
	t.Helper()
	for i, f := range v.Features {
		status := online.StatusOf(packed, v.Slots[i], v.TTL, at)
		text := []byte("null")
		if status == online.Present {
			var err error
			text, err = v.AppendJSON(nil, packed, v.Slots[i])
			require.NoError(t, err)
		}
		fmt.Fprintf(b, "  %s=%s %s", f.Name, text, status)
	}
	if packed != nil {
		version, err := online.VersionOf(packed)
		require.NoError(t, err)
		fmt.Fprintf(b, "  age=%gs", float64(online.AgeMicros(version.Event, at))/1e6)
	}
}

func (s *script) mark(t *testing.T, d *datadriven.TestData, v View) (string, error) {
	t.Helper()
	if d.HasArg("version") {
		var m online.Mark
		var through string
		d.ScanArgs(t, "version", &m.Version)
		d.ScanArgs(t, "through", &through)
		m.Through = At(t, through)
		return "", s.store.SetMark(t.Context(), v.ID, m)
	}
	m, ok, err := s.store.Mark(t.Context(), v.ID)
	if !ok {
		return "no mark\n", err
	}
	return fmt.Sprintf("version=%d through=%s\n", m.Version, m.Through), err
}

func scriptKeys(t *testing.T, v View, input string) []feature.EntityKey {
	t.Helper()
	var keys []feature.EntityKey
	for line := range strings.Lines(input) {
		keys = append(keys, scriptKey(t, v, scriptCells(t, line)))
	}
	return keys
}

func scriptKey(t *testing.T, v View, cells map[string]string) feature.EntityKey {
	t.Helper()
	values := make([]feature.Value, len(v.Keys))
	for i, k := range v.Keys {
		values[i] = ParseValue(t, k.Type, cells[k.Name])
	}
	return v.Key(t, values...)
}

// scriptCells splits a line of name=value, where a value with blanks is quoted.
func scriptCells(t *testing.T, line string) map[string]string {
	t.Helper()
	cells := map[string]string{}
	for rest := strings.TrimSpace(line); rest != ""; rest = strings.TrimSpace(rest) {
		name, after, ok := strings.Cut(rest, "=")
		require.True(t, ok, "line %q (expected name=value)", line)
		value, end := after, len(after)
		if quoted, err := strconv.QuotedPrefix(after); err == nil {
			end = len(quoted)
			value, err = strconv.Unquote(quoted)
			require.NoError(t, err)
		} else if i := strings.IndexByte(after, ' '); i >= 0 {
			value, end = after[:i], i
		}
		cells[name], rest = value, after[end:]
	}
	return cells
}

// ParseValue reads a value of a script: null, an array in JSON, or plain text.
func ParseValue(tb testing.TB, typ feature.Type, text string) feature.Value {
	tb.Helper()
	if text == "null" {
		return feature.Null(typ)
	}
	if typ.IsScalar() {
		v, err := feature.ParseText(typ, text)
		require.NoError(tb, err)
		return v
	}
	var raw []json.RawMessage
	require.NoError(tb, json.Unmarshal([]byte(text), &raw))
	elems := make([]feature.Value, len(raw))
	for i, r := range raw {
		word := string(r)
		if word[0] == '"' {
			require.NoError(tb, json.Unmarshal(r, &word))
		}
		elems[i] = ParseValue(tb, typ.Elem(), word)
	}
	return feature.ListValue(typ, elems)
}
