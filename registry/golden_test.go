package registry_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/registry"
	"github.com/granary-ml/granary/registry/registrytest"
)

// TestGolden runs the scripts of testdata/scripts. Each file has a registry of
// its own, whose clock starts at 2024-01-01 and moves one second per command.
//
//	plan|apply project=P [expected=N] [prune] [message=M]   definitions in YAML
//	delete project=P kind=K name=N [expected=N]
//	delete-project project=P
//	rollback project=P revision=N
//	history [project=P]
//	show project=P [revision=N]        the definitions in YAML
//	views project=P [revision=N]       ids, keys and slots
//	select project=P [service=S]       references, one a line
//	parse                              YAML, then what was read, or the faults
func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		t.Helper()
		g := newGolden(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			t.Helper()
			g.clock.Advance(time.Second)
			out, err := g.run(t, d)
			return out + errorText(err)
		})
	})
}

type golden struct {
	clock    *clock.Manual
	registry *registry.Registry
}

func newGolden(t *testing.T) *golden {
	t.Helper()
	c := clock.NewManual(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	r, err := registry.Open(t.Context(), registrytest.NewMemory(), registry.Options{Clock: c})
	require.NoError(t, err)
	return &golden{clock: c, registry: r}
}

func (g *golden) run(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	var project, kind, name string
	d.MaybeScanArgs(t, "project", &project)
	d.MaybeScanArgs(t, "kind", &kind)
	d.MaybeScanArgs(t, "name", &name)
	ctx, r := t.Context(), g.registry
	switch d.Cmd {
	case "plan", "apply":
		req, err := applyRequest(t, d)
		if err != nil {
			return "", err
		}
		if d.Cmd == "plan" {
			return planText(r.Plan(ctx, project, req))
		}
		return planText(r.Apply(ctx, project, req))
	case "delete":
		return planText(r.Delete(ctx, project, kind, name, optional(t, d, "expected")))
	case "delete-project":
		return planText(r.DeleteProject(ctx, project, optional(t, d, "expected")))
	case "rollback":
		return planText(r.Rollback(ctx, project, *optional(t, d, "revision"), optional(t, d, "expected")))
	case "history":
		return historyText(r.History(ctx, project))
	case "parse":
		return yamlText(registry.ParseYAML("defs.yaml", []byte(d.Input)))
	}
	return g.read(t, d, project)
}

// read runs the commands that look at a snapshot.
func (g *golden) read(t *testing.T, d *datadriven.TestData, project string) (string, error) {
	t.Helper()
	s := g.registry.Snapshot()
	if revision := optional(t, d, "revision"); revision != nil {
		var err error
		if s, err = g.registry.At(t.Context(), *revision); err != nil {
			return "", err
		}
	}
	switch d.Cmd {
	case "show":
		definitions, err := s.Definitions(project)
		return yamlText(definitions, err)
	case "views":
		return viewsText(s.Views(project))
	case "select":
		var service string
		d.MaybeScanArgs(t, "service", &service)
		var refs []string
		if d.Input != "" {
			refs = strings.Split(strings.TrimSuffix(d.Input, "\n"), "\n")
		}
		return selectionText(s.Select(project, service, refs))
	}
	d.Fatalf(t, "no such command: %s", d.Cmd)
	return "", nil
}

func applyRequest(t *testing.T, d *datadriven.TestData) (wire.ApplyRequest, error) {
	t.Helper()
	req := wire.ApplyRequest{Prune: d.HasArg("prune"), Expected: optional(t, d, "expected")}
	d.MaybeScanArgs(t, "message", &req.Message)
	var err error
	req.Definitions, err = registry.ParseYAML("defs.yaml", []byte(d.Input))
	return req, err
}

func optional(t *testing.T, d *datadriven.TestData, name string) *int64 {
	t.Helper()
	var text string
	if !d.MaybeScanArgs(t, name, &text) {
		return nil
	}
	v, err := strconv.ParseInt(text, 10, 64)
	require.NoError(t, err)
	return &v
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	var out strings.Builder
	fmt.Fprintf(&out, "error: %s", feature.CodeOf(err))
	if faults := feature.FaultsOf(err); len(faults) > 0 {
		out.WriteByte('\n')
		for _, f := range faults {
			fmt.Fprintf(&out, "  %s\n", f)
		}
		return out.String()
	}
	fmt.Fprintf(&out, ": %v\n", err)
	return out.String()
}

func planText(p wire.Plan, err error) (string, error) {
	if err != nil {
		return p.Patch, err
	}
	if len(p.Changes) == 0 {
		return fmt.Sprintf("%sno changes at revision %d\n", p.Patch, p.To), nil
	}
	return fmt.Sprintf("%srevision %d → %d, %d changes\n", p.Patch, p.From, p.To, len(p.Changes)), nil
}

func historyText(entries []wire.Revision, err error) (string, error) {
	var out strings.Builder
	for i := range entries {
		e := &entries[i]
		fmt.Fprintf(&out, "%d %s %s %q\n", e.Revision, e.Time, e.Project, e.Message)
		for j := range e.Changes {
			c := &e.Changes[j]
			fmt.Fprintln(&out, strings.TrimRight(fmt.Sprintf("    %s %s %s %s", c.Action, c.Kind, c.Name, c.Field), " "))
		}
	}
	return out.String(), err
}

func yamlText(d feature.Definitions, err error) (string, error) {
	if err != nil {
		return "", err
	}
	out, err := registry.MarshalYAML(d)
	return string(out), err
}

func viewsText(views []*feature.BoundView, err error) (string, error) {
	var out strings.Builder
	for _, v := range views {
		fmt.Fprintf(&out, "%s id=%d keys=%v features=[", v.Name, v.ID, v.Keys)
		for i, f := range v.Features {
			if i > 0 {
				out.WriteByte(' ')
			}
			fmt.Fprintf(&out, "%s@%d", f.Name, v.Slots[i])
		}
		fmt.Fprintf(&out, "] slots=%v source=%q\n", v.SlotTypes, v.SourceDef.Path)
	}
	return out.String(), err
}

func selectionText(s feature.Selection, err error) (string, error) {
	var out strings.Builder
	for _, f := range s.Features {
		fmt.Fprintf(&out, "%s %s slot=%d view=%d name=%s\n", f.Ref(), f.Type(), f.Slot(), f.View.ID, f.Name(false))
	}
	return out.String(), err
}
