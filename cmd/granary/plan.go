package main

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/registry"
)

// definitionFlags are the flags of plan and apply.
type definitionFlags struct {
	files  []string
	prune  bool
	expect revisionFlag
	asJSON bool
}

func (f *definitionFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVarP(&f.files, "file", "f", nil,
		"file or folder of definitions in YAML or JSON; may be given more than once (default those of the configuration)")
	cmd.Flags().BoolVar(&f.prune, "prune", false, "delete what the definitions do not hold (default false)")
	f.expect.add(cmd)
	jsonFlag(cmd, &f.asJSON)
}

// revisionFlag is the revision that a change is made against, or none.
type revisionFlag struct{ revision *int64 }

func (f *revisionFlag) add(cmd *cobra.Command) {
	cmd.Flags().Var(f, "expect", "refuse unless this is the current revision (default whatever is)")
}

// String implements pflag.Value.
func (f *revisionFlag) String() string {
	if f.revision == nil {
		return ""
	}
	return strconv.FormatInt(*f.revision, 10)
}

// Set implements pflag.Value.
func (f *revisionFlag) Set(text string) error {
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 {
		return errors.New("expected a revision, which is a whole number")
	}
	f.revision = &v
	return nil
}

// Type implements pflag.Value.
func (f *revisionFlag) Type() string { return "revision" }

// request reads the definitions.
func (f *definitionFlags) request(a *app) (wire.ApplyRequest, error) {
	paths := f.files
	if len(paths) == 0 {
		paths = a.config.DefinitionPaths()
	}
	project, d, err := registry.LoadProject(paths...)
	if err != nil {
		return wire.ApplyRequest{}, err
	}
	if project != "" && project != a.config.Project {
		return wire.ApplyRequest{}, feature.Errorf(feature.CodeInvalidArgument, "", strings.Join(paths, ", "),
			"the definitions are those of project %s, and the project is %s (give --project, or set it in the configuration)", project, a.config.Project)
	}
	return wire.ApplyRequest{Definitions: d, Prune: f.prune, Expected: f.expect.revision}, nil
}

func newPlan(a *app) *cobra.Command {
	var flags definitionFlags
	cmd := &cobra.Command{
		Use:   "plan",
		Short: "Show what apply would change",
		Long: `Show the difference between the definitions and the registry as a patch, and
what would be refused, with the reason and the way out. Nothing is changed.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := flags.request(a)
			if err != nil {
				return err
			}
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				plan, err := b.Plan(ctx, req)
				if err != nil {
					return err
				}
				return a.printPlan(plan, flags.asJSON)
			})
		},
	}
	flags.add(cmd)
	return cmd
}

// printPlan prints a plan, or what was applied.
func (a *app) printPlan(p wire.Plan, asJSON bool) error {
	if asJSON {
		return a.printJSON(p)
	}
	if p.Patch != "" {
		a.printf("%s\n", strings.TrimRight(p.Patch, "\n"))
	}
	switch {
	case len(p.Refusals) > 0:
		a.printf("project %s at revision %d: %d of these would be refused\n", p.Project, p.From, len(p.Refusals))
	case len(p.Changes) == 0:
		a.printf("project %s at revision %d: nothing to change\n", p.Project, p.From)
	case p.To == p.From:
		a.printf("project %s at revision %d: %d to change\n", p.Project, p.From, len(p.Changes))
	default:
		a.printf("project %s: %d changed, revision %d\n", p.Project, len(p.Changes), p.To)
	}
	return nil
}
