package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/registry"
)

func newRegistry(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "registry",
		Short: "Read the definitions and their history",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRegistryList(a), newRegistryShow(a), newRegistryHistory(a), newRegistryRollback(a), newRegistryDelete(a))
	return cmd
}

// definitionKinds are the kinds of definitions.
const definitionKinds = "entity, source, view or service"

func newRegistryList(a *app) *cobra.Command {
	var asJSON, projects bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List what a project defines",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				if projects {
					return a.listProjects(ctx, b, asJSON)
				}
				d, revision, err := b.Definitions(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(wire.ProjectInfo{Project: a.config.Project, Revision: revision, Definitions: d})
				}
				return printTable(a.stdout, definitionRows(d))
			})
		},
	}
	cmd.Flags().BoolVar(&projects, "projects", false, "list the projects instead (default false)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) listProjects(ctx context.Context, b backend, asJSON bool) error {
	list, err := b.Projects(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(list)
	}
	for _, p := range list.Projects {
		a.printf("%s\n", p)
	}
	return nil
}

// definitionRows is a table of definitions.
func definitionRows(d feature.Definitions) [][]string {
	out := make([][]string, 0, 1+len(d.Entities)+len(d.Sources)+len(d.Views)+len(d.Services))
	out = append(out, []string{"KIND", "NAME", "ABOUT"})
	for _, e := range d.Entities {
		keys := make([]string, len(e.JoinKeys))
		for i, k := range e.JoinKeys {
			keys[i] = k.Name + " " + k.Type.String()
		}
		out = append(out, []string{"entity", e.Name, strings.Join(keys, ", ")})
	}
	for i := range d.Sources {
		out = append(out, []string{"source", d.Sources[i].Name, d.Sources[i].Path})
	}
	for i := range d.Views {
		v := &d.Views[i]
		ttl := "no TTL"
		if v.TTL > 0 {
			ttl = "TTL " + v.TTL.String()
		}
		if v.Static {
			ttl = "static"
		}
		out = append(out, []string{"view", v.Name, fmt.Sprintf("%s; %d features; %s", strings.Join(v.Entities, ", "), len(v.Features), ttl)})
	}
	for _, s := range d.Services {
		items := make([]string, len(s.Features))
		for i, item := range s.Features {
			items[i] = item.String()
		}
		out = append(out, []string{"service", s.Name, strings.Join(items, ", ")})
	}
	return out
}

func newRegistryShow(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show [KIND NAME]",
		Short: "Show definitions as YAML",
		Long:  `Show all definitions of a project, or one of them; KIND is ` + definitionKinds + `.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 0 && len(args) != 2 {
				return fmt.Errorf("either nothing or a kind (%s) and a name are expected", definitionKinds)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				d, _, err := b.Definitions(ctx)
				if err == nil && len(args) == 2 {
					d, err = only(d, args[0], args[1])
				}
				switch {
				case err != nil:
					return err
				case asJSON:
					return a.printJSON(d)
				}
				text, err := registry.MarshalYAML(d)
				if err != nil {
					return err
				}
				_, err = a.stdout.Write(text)
				return err
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// only returns the one definition of a kind and name.
func only(d feature.Definitions, kind, name string) (feature.Definitions, error) {
	var one feature.Definitions
	switch kind {
	case "entity":
		one.Entities = named(d.Entities, name, func(e feature.Entity) string { return e.Name })
	case "source":
		one.Sources = named(d.Sources, name, func(s feature.Source) string { return s.Name })
	case "view":
		one.Views = named(d.Views, name, func(v feature.View) string { return v.Name })
	case "service":
		one.Services = named(d.Services, name, func(s feature.Service) string { return s.Name })
	default:
		return one, usagef("%q is not a kind (expected %s)", kind, definitionKinds)
	}
	if len(one.Entities)+len(one.Sources)+len(one.Views)+len(one.Services) == 0 {
		return one, feature.Errorf(feature.CodeNotFound, "", kind+" "+name, "there is no such %s", kind)
	}
	return one, nil
}

func named[T any](list []T, name string, of func(T) string) []T {
	for i := range list {
		if of(list[i]) == name {
			return list[i : i+1]
		}
	}
	return nil
}

func newRegistryHistory(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "history",
		Short: "List the revisions of a project, newest first",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				revisions, err := b.History(ctx)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(wire.RevisionList{Revisions: revisions})
				}
				out := [][]string{{"REVISION", "TIME", "CHANGES", "MESSAGE"}}
				for _, r := range revisions {
					out = append(out, []string{strconv.FormatInt(r.Revision, 10), r.Time.String(), changesText(r.Changes), r.Message})
				}
				return printTable(a.stdout, out)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// changesText names what a revision changed, each thing once.
func changesText(changes []wire.Change) string {
	sign := map[string]string{"create": "+", "update": "~", "delete": "-"}
	var parts []string
	last := ""
	for i := range changes {
		c := &changes[i]
		part := sign[c.Action] + c.Kind + " " + c.Name
		if part != last {
			parts = append(parts, part)
		}
		last = part
	}
	return strings.Join(parts, ", ")
}

func newRegistryRollback(a *app) *cobra.Command {
	var expect revisionFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "rollback REVISION",
		Short: "Make the definitions of an older revision current again",
		Long:  `Make the definitions of an older revision current again, as a new revision.`,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			revision, err := strconv.ParseInt(args[0], 10, 64)
			if err != nil || revision < 0 {
				return usagef("%q is not a revision (expected a whole number)", args[0])
			}
			req := wire.RollbackRequest{Revision: revision, Expected: expect.revision}
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				plan, err := b.Rollback(ctx, req)
				if err != nil {
					return err
				}
				return a.printPlan(plan, asJSON)
			})
		},
	}
	expect.add(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func newRegistryDelete(a *app) *cobra.Command {
	var expect revisionFlag
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "delete KIND NAME",
		Short: "Delete one definition",
		Long: `Delete one definition; KIND is ` + definitionKinds + `. It is refused while
something refers to it. With a view its online rows go at once; its table stays
in the storage, and a view that is made again under the name starts empty.`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				plan, err := b.Delete(ctx, args[0], args[1], expect.revision)
				if err != nil {
					return err
				}
				return a.printPlan(plan, asJSON)
			})
		},
	}
	expect.add(cmd)
	jsonFlag(cmd, &asJSON)
	return cmd
}
