package pittest

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"

	"github.com/cockroachdb/datadriven"

	"github.com/granary-ml/granary/feature"
)

// Engine is what scripts are run on.
type Engine interface {
	// Load adds rows to a view that has been defined by then, in one commit.
	Load(t *testing.T, v *feature.BoundView, rows []feature.Row) error
	// Join answers a spine.
	Join(t *testing.T, j Join) (Answer, error)
}

// Join is a point-in-time join.
type Join struct {
	Selection feature.Selection
	// Columns are those of the spine, in order: join keys, times, labels.
	Columns            []feature.Feature
	Rows               [][]feature.Value
	FullNames, KnownAt bool
}

// TimeColumn is the name of the time column of every spine.
const TimeColumn = "at"

// Answer is the columns that a join adds to its spine.
type Answer struct {
	Names []string
	Rows  [][]feature.Value
	// Notes are more to say about a row, if the engine knows more.
	Notes []string
}

// Run runs the scripts of a file or folder, each on an engine of its own.
func Run(t *testing.T, path string, open func(t *testing.T) Engine) {
	t.Helper()
	datadriven.Walk(t, path, func(t *testing.T, file string) {
		t.Helper()
		s := &script{engine: open(t), views: map[string]*feature.BoundView{}}
		datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			out, err := s.run(t, d)
			if err != nil {
				return err.Error()
			}
			return out
		})
	})
}

// script is the state of one script.
type script struct {
	engine Engine
	views  map[string]*feature.BoundView
}

func (s *script) run(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	switch d.Cmd {
	case "define":
		return "", s.define(d)
	case "load":
		return s.load(t, d)
	case "join":
		return s.join(t, d)
	}
	return "", fmt.Errorf("no such command: %s", d.Cmd)
}

// args returns the values of an argument.
func args(d *datadriven.TestData, key string) []string {
	for _, a := range d.CmdArgs {
		if a.Key == key {
			return a.Vals
		}
	}
	return nil
}

func first(d *datadriven.TestData, key string) string {
	if vals := args(d, key); len(vals) > 0 {
		return vals[0]
	}
	return ""
}

func (s *script) define(d *datadriven.TestData) error {
	v := &feature.BoundView{
		View:    feature.View{Name: first(d, "view"), Static: d.HasArg("static")},
		Project: "p", ID: feature.ViewID(len(s.views) + 1), //nolint:gosec // a handful
	}
	for _, text := range args(d, "keys") {
		f, err := column(text)
		if err != nil {
			return err
		}
		v.Keys = append(v.Keys, feature.JoinKey{Name: f.Name, Type: f.Type})
	}
	for _, text := range args(d, "features") {
		f, err := column(text)
		if err != nil {
			return err
		}
		v.Features = append(v.Features, f)
	}
	if ttl := first(d, "ttl"); ttl != "" {
		parsed, err := feature.ParseTTL(ttl)
		if err != nil {
			return err
		}
		v.TTL = parsed
	}
	s.views[v.Name] = v
	return nil
}

// column reads "name:type".
func column(text string) (feature.Feature, error) {
	name, typ, _ := strings.Cut(text, ":")
	t, err := feature.ParseType(typ)
	return feature.Feature{Name: name, Type: t}, err
}

// view returns a view as it has been defined last.
func (s *script) view(name string) (*feature.BoundView, error) {
	v, ok := s.views[name]
	if !ok {
		return nil, fmt.Errorf("there is no view %s", name)
	}
	return v, nil
}

func (s *script) load(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	v, err := s.view(first(d, "view"))
	if err != nil {
		return "", err
	}
	types := map[string]feature.Type{"event": feature.TimestampType, "created": feature.TimestampType}
	for _, k := range v.Keys {
		types[k.Name] = k.Type
	}
	for _, f := range v.Features {
		types[f.Name] = f.Type
	}
	header, cells, err := table(d.Input, types)
	if err != nil {
		return "", err
	}
	rows := make([]feature.Row, 0, len(cells))
	for _, row := range cells {
		r := feature.Row{Values: make([]feature.Value, len(v.Features))}
		keys := make([]feature.Value, len(v.Keys))
		for i, name := range header {
			at, isFeature := v.Index(name), v.Index(name) >= 0
			switch {
			case name == "event":
				r.Event = row[i].Timestamp()
			case name == "created":
				r.Created = row[i].Timestamp()
			case isFeature:
				r.Values[at] = row[i]
			default:
				for k := range v.Keys {
					if v.Keys[k].Name == name {
						keys[k] = row[i]
					}
				}
			}
		}
		if r.Key, err = feature.MakeEntityKey(v.Keys, keys); err != nil {
			return "", err
		}
		rows = append(rows, r)
	}
	return fmt.Sprintf("%d rows\n", len(rows)), s.engine.Load(t, v, rows)
}

// table reads a header and rows of cells.
func table(input string, types map[string]feature.Type) (header []string, rows [][]feature.Value, err error) {
	for i, line := range strings.Split(strings.TrimSpace(input), "\n") {
		cells := strings.Fields(line)
		if i == 0 {
			header = cells
			continue
		}
		if len(cells) != len(header) {
			return nil, nil, fmt.Errorf("%q has %d cells, and the header %d", line, len(cells), len(header))
		}
		row := make([]feature.Value, len(cells))
		for c, text := range cells {
			typ, ok := types[header[c]]
			if !ok {
				typ = feature.Int64
			}
			if row[c], err = value(typ, text); err != nil {
				return nil, nil, err
			}
		}
		rows = append(rows, row)
	}
	return header, rows, nil
}

func value(t feature.Type, text string) (feature.Value, error) {
	switch {
	case text == "null":
		return feature.Null(t), nil
	case t == feature.TimestampType && !strings.Contains(text, "T"):
		return feature.ParseText(t, "2024-01-01T"+text)
	case t == feature.String:
		plain, err := strconv.Unquote(text)
		return feature.StringValue(plain), err
	}
	return feature.ParseText(t, text)
}

func (s *script) join(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	j := Join{FullNames: d.HasArg("full-names"), KnownAt: d.HasArg("known-at")}
	for _, text := range args(d, "features") {
		ref, err := feature.ParseRef(text)
		if err != nil {
			return "", err
		}
		v, err := s.view(ref.View)
		if err != nil {
			return "", err
		}
		j.Selection.Features = append(j.Selection.Features, feature.SelectedFeature{View: v, Index: v.Index(ref.Feature)})
	}
	types := map[string]feature.Type{TimeColumn: feature.TimestampType}
	keys, _ := j.Selection.JoinKeys()
	for _, k := range keys {
		types[k.Name] = k.Type
	}
	header, rows, err := table(d.Input, types)
	if err != nil {
		return "", err
	}
	for _, name := range header {
		typ, ok := types[name]
		if !ok {
			typ = feature.Int64
		}
		j.Columns = append(j.Columns, feature.Feature{Name: name, Type: typ})
	}
	j.Rows = rows
	answer, err := s.engine.Join(t, j)
	if err != nil {
		return "", err
	}
	return printed(j, answer, d.HasArg("notes")), nil
}

func printed(j Join, a Answer, notes bool) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	header := make([]string, 0, len(j.Columns)+len(a.Names))
	for _, c := range j.Columns {
		header = append(header, c.Name)
	}
	line := func(cells []string) { _, _ = io.WriteString(w, strings.Join(cells, "\t")+"\n") } // a strings.Builder takes everything
	line(append(header, a.Names...))
	for i, row := range j.Rows {
		cells := make([]string, 0, len(header)+1)
		for _, v := range append(append([]feature.Value{}, row...), a.Rows[i]...) {
			cells = append(cells, cell(v))
		}
		if notes && a.Notes != nil {
			cells = append(cells, a.Notes[i])
		}
		line(cells)
	}
	_ = w.Flush()
	return out.String()
}

func cell(v feature.Value) string {
	text := v.String()
	if v.Type() == feature.TimestampType && !v.IsNull() {
		text = strings.TrimPrefix(v.Timestamp().String(), "2024-01-01T")
		if !strings.Contains(text, "T") {
			text = strings.TrimSuffix(text, "Z")
		}
	}
	return text
}
