package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/registry"
)

// way is a storage and a surface over it.
type way struct {
	name    string
	storage func(t *testing.T) storage
	surface func(t *testing.T, s *stack) surface
}

func local(_ *testing.T, s *stack) surface { return s.service }

var ways = []way{
	{"memory", inMemory, local},
	{"files and Pebble", onFiles, local},
	{"HTTP over files and Pebble", onFiles, overHTTP},
}

func TestCases(t *testing.T) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) { w.runAll(t) })
	}
}

func (w way) runAll(t *testing.T) {
	t.Helper()
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		t.Helper()
		c := clock.NewManual(start)
		r := &runner{way: w, clock: c, storage: w.storage(t)}
		r.open(t)
		defer func() { r.stack.close() }()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			return r.run(t, d)
		})
	})
}

// runner runs one script.
type runner struct {
	way      way
	clock    *clock.Manual
	storage  storage
	stack    *stack
	surface  surface
	permuted int64
}

func (r *runner) open(t *testing.T) {
	t.Helper()
	r.stack = openStack(t, r.clock, r.storage)
	r.surface = r.way.surface(t, r.stack)
}

// run runs one command and returns what it prints.
func (r *runner) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	c := parseCommand(t, d)
	out, err := r.command(t, c)
	if err != nil {
		return printError(err)
	}
	return out
}

func (r *runner) command(t *testing.T, c command) (string, error) {
	t.Helper()
	switch c.name {
	case "now":
		r.clock.Set(parseTime(t, c.words[0]).Time())
		return "", nil
	case "reopen":
		r.stack.close()
		r.open(t)
		return "", nil
	case "apply":
		return r.apply(t, c)
	case "delete":
		return r.delete(t, c)
	case "push":
		return r.push(t, c)
	case "ingest":
		return r.ingest(t, c)
	case "permute":
		return r.permute(t, c)
	case "materialize":
		return r.materialize(t, c)
	case "lookup":
		return r.lookup(t, c)
	case "join":
		return r.join(t, c)
	}
	return "", fmt.Errorf("no such command: %s", c.name)
}

// command is a line of a script, taken apart.
type command struct {
	name    string
	project string
	options map[string]string
	words   []string
	input   string
}

var flags = map[string]bool{"values": true, "raw": true, "known-at": true, "full-names": true, "full": true}

func parseCommand(t *testing.T, d *datadriven.TestData) command {
	t.Helper()
	c := command{name: d.Cmd, project: "default", options: map[string]string{}, input: d.Input}
	for _, arg := range d.CmdArgs {
		value := strings.Join(arg.Vals, ",")
		switch {
		case arg.Key == "project":
			c.project = value
		case len(arg.Vals) > 0, flags[arg.Key]:
			c.options[arg.Key] = value
		default:
			c.words = append(c.words, arg.Key)
		}
	}
	return c
}

func (c command) has(option string) bool {
	_, ok := c.options[option]
	return ok
}

// printError prints an error's code and every fault on a line of its own.
func printError(err error) string {
	var e *feature.Error
	if !errors.As(err, &e) {
		return fmt.Sprintf("error: %v\n", err)
	}
	if len(e.Faults) == 0 {
		return fmt.Sprintf("%s: %s\n", e.Code, e.Detail())
	}
	var b strings.Builder
	fmt.Fprintln(&b, e.Code)
	for _, f := range e.Faults {
		fmt.Fprintf(&b, "  %s\n", f)
	}
	return b.String()
}

func (r *runner) apply(t *testing.T, c command) (string, error) {
	t.Helper()
	defs, err := registry.ParseYAML("script.yaml", []byte(c.input))
	require.NoError(t, err)
	plan, err := r.surface.Apply(t.Context(), c.project, wire.ApplyRequest{Definitions: defs})
	return fmt.Sprintf("revision %d\n", plan.To), err
}

func (r *runner) delete(t *testing.T, c command) (string, error) {
	t.Helper()
	var plan wire.Plan
	var err error
	if len(c.words) == 0 {
		plan, err = r.surface.DeleteProject(t.Context(), c.project, nil)
	} else {
		plan, err = r.surface.Delete(t.Context(), c.project, c.words[0], c.words[1], nil)
	}
	return fmt.Sprintf("revision %d\n", plan.To), err
}

func (r *runner) push(t *testing.T, c command) (string, error) {
	t.Helper()
	body := strings.NewReader(parseTable(t, c.input).ndjson())
	res, err := r.surface.Push(t.Context(), c.project, c.words[0], feature.FormatNDJSON, body, wire.PushOptions{})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d accepted", res.Accepted)
	if res.Superseded > 0 {
		fmt.Fprintf(&out, ", %d superseded", res.Superseded)
	}
	for _, rej := range res.Rejected {
		fmt.Fprintf(&out, "\nrejected row %d: %s: %s", rej.Row, rej.Field, rej.Reason)
	}
	return out.String() + "\n", nil
}

func (r *runner) view(t *testing.T, c command) *feature.BoundView {
	t.Helper()
	snap, err := r.stack.registry.Refresh(t.Context())
	require.NoError(t, err)
	v, err := snap.View(c.project, c.words[0])
	require.NoError(t, err)
	return v
}

func (r *runner) ingest(t *testing.T, c command) (string, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "rows.ndjson")
	require.NoError(t, os.WriteFile(file, []byte(parseTable(t, c.input).ndjson()), 0o600))
	sum, err := r.stack.ingester.Files(t.Context(), ingest.FileRequest{View: r.view(t, c), Inputs: []string{file}})
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d accepted", sum.Accepted)
	for _, rej := range sum.Rejections {
		fmt.Fprintf(&out, "\nrejected row %d: %s: %s", rej.Row, rej.Field, rej.Reason)
	}
	return out.String() + "\n", nil
}

// permute pushes the rows, which have k=1, in every order, each order under a
// key of its own and once as one batch; all must be served alike.
func (r *runner) permute(t *testing.T, c command) (string, error) {
	t.Helper()
	rows := parseTable(t, c.input)
	answers := map[string]bool{}
	orders := 0
	for order := range permutations(len(rows.rows)) {
		orders++
		r.permuted++
		batch := table{names: rows.names}
		for _, i := range order {
			row := append([]string{strconv.FormatInt(r.permuted, 10)}, rows.rows[i][1:]...)
			batch.rows = append(batch.rows, row)
		}
		c.input = batch.String()
		if _, err := r.push(t, c); err != nil {
			return "", err
		}
		lookup := command{name: "lookup", project: c.project, words: []string{c.words[0] + ":v"}, input: fmt.Sprintf("k\n%d\n", r.permuted)}
		answer, err := r.lookup(t, lookup)
		if err != nil {
			return "", err
		}
		answers[strings.Replace(answer, fmt.Sprintf("\n%d ", r.permuted), "\n1 ", 1)] = true
	}
	require.Len(t, answers, 1)
	for answer := range answers {
		return fmt.Sprintf("%d orders, one answer\n%s", orders, answer), nil
	}
	return "", nil
}

// permutations yields every order of n things.
func permutations(n int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		var walk func(order []int) bool
		walk = func(order []int) bool {
			if len(order) == n {
				return yield(order)
			}
			for i := range n {
				if !slices.Contains(order, i) && !walk(append(slices.Clip(order), i)) {
					return false
				}
			}
			return true
		}
		walk(nil)
	}
}

func (r *runner) materialize(t *testing.T, c command) (string, error) {
	t.Helper()
	req := wire.MaterializeRequest{Full: c.has("full"), Views: c.words}
	if c.has("end") {
		end := parseTime(t, c.options["end"])
		req.End = &end
	}
	job, err := r.surface.Materialize(t.Context(), c.project, req)
	if err == nil {
		job, err = r.surface.Wait(t.Context(), c.project, job.ID, nil)
	}
	if err != nil {
		return "", err
	}
	if job.Error != nil {
		return "", job.Error.Err()
	}
	var b strings.Builder
	for _, v := range job.Views {
		fmt.Fprintf(&b, "%s: %d written", v.View, v.Written)
		if v.Superseded > 0 {
			fmt.Fprintf(&b, ", %d superseded", v.Superseded)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

func (r *runner) lookup(t *testing.T, c command) (string, error) {
	t.Helper()
	req := wire.OnlineRequest{Features: c.words, Service: c.options["service"]}
	if !c.has("values") {
		req.Include = []string{wire.IncludeStatus, wire.IncludeEventTimestamp, wire.IncludeAge}
	}
	if c.has("raw") {
		return r.lookupRaw(t.Context(), c)
	}
	tab := parseTable(t, c.input)
	req.Entities = tab.columns()
	res, err := r.surface.Online(t.Context(), c.project, req)
	if err != nil {
		return "", err
	}
	return printLookup(res, tab.names), nil
}

// lookupRaw sends entities as they stand in the script, valid JSON or not.
func (r *runner) lookupRaw(ctx context.Context, c command) (string, error) {
	refs, err := json.Marshal(c.words)
	if err != nil {
		return "", err
	}
	body := fmt.Sprintf(`{"features": %s, "entities": %s}`, refs, c.input)
	out, err := r.stack.service.AppendOnline(ctx, nil, c.project, []byte(body))
	return string(out), err
}

// printLookup prints an answer as a table: the keys in the order of the
// script, then each feature with what was included.
func printLookup(res *wire.OnlineResponse, keys []string) string {
	columns := map[string]*wire.Column{}
	var order []string
	for i := range res.Columns {
		columns[res.Columns[i].Name] = &res.Columns[i]
		if !slices.Contains(keys, res.Columns[i].Name) {
			order = append(order, res.Columns[i].Name)
		}
	}
	var tab table
	rows := len(res.Columns[0].Values)
	tab.rows = make([][]string, rows)
	for _, name := range slices.Concat(keys, order) {
		addColumn(&tab, columns[name])
	}
	return tab.String()
}

func addColumn(tab *table, col *wire.Column) {
	add := func(name string, cell func(i int) string) {
		tab.names = append(tab.names, name)
		for i := range tab.rows {
			tab.rows[i] = append(tab.rows[i], cell(i))
		}
	}
	add(col.Name, func(i int) string { return shown(string(col.Values[i])) })
	if col.Status != nil {
		add("status", func(i int) string { return col.Status[i] })
	}
	if col.EventTimestamp != nil {
		add("event_timestamp", func(i int) string {
			if col.EventTimestamp[i] == nil {
				return "null"
			}
			return shown(`"` + col.EventTimestamp[i].String() + `"`)
		})
	}
	if col.AgeSeconds != nil {
		add("age", func(i int) string {
			if col.AgeSeconds[i] == nil {
				return "null"
			}
			return string(feature.AppendFloatJSON(nil, *col.AgeSeconds[i], 64))
		})
	}
}

func (r *runner) join(t *testing.T, c command) (string, error) {
	t.Helper()
	o := wire.HistoricalOptions{Features: c.words, Service: c.options["service"], FullNames: c.has("full-names"), KnownAt: c.has("known-at")}
	body := strings.NewReader(parseTable(t, c.input).ndjson())
	spine, err := r.stack.service.ReadSpine(t.Context(), c.project, o, feature.FormatNDJSON, body)
	if err != nil {
		return "", err
	}
	res, err := r.surface.Historical(t.Context(), c.project, o, spine)
	if err != nil {
		return "", err
	}
	tab, err := readAll(t, res)
	return tab.String(), err
}
