package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/feature"
)

// The exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// run executes one command line and returns its exit code.
func run(ctx context.Context, a *app, args []string) int {
	out := &sticky{w: a.stdout}
	a.stdout = out
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		err = out.err
	}
	if err == nil {
		return exitOK
	}
	var usage *usageError
	if !a.started || errors.As(err, &usage) {
		a.notef("granary: %v\nRun '%s --help' for what it takes.\n", err, cmd.CommandPath())
		return exitUsage
	}
	a.notef("granary: %s\n", describe(err))
	return exitError
}

// usageError is a command line that cannot be right.
type usageError struct{ error }

func (u *usageError) Unwrap() error { return u.error }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// describe returns an error as a person reads it: what it was about, why, and
// each fault on a line. It leaves out the operation, so that it reads the same
// whether the error came over HTTP or not.
func describe(err error) string {
	if many, ok := err.(interface{ Unwrap() []error }); ok && feature.CodeOf(err) != feature.CodeCanceled {
		texts := make([]string, 0, 2)
		for _, one := range many.Unwrap() {
			texts = append(texts, describe(one))
		}
		return strings.Join(texts, "\n")
	}
	e, ok := errors.AsType[*feature.Error](err)
	switch {
	case feature.CodeOf(err) == feature.CodeCanceled:
		return "interrupted"
	case !ok:
		return err.Error()
	}
	why := make([]string, 0, len(e.Faults)+1)
	if e.Err != nil {
		why = append(why, e.Err.Error())
	}
	for _, f := range e.Faults {
		why = append(why, f.String())
	}
	if len(why) == 0 {
		why = append(why, e.Code.String())
	}
	head := e.Subject
	if head == "" {
		head = e.Code.String()
	}
	switch {
	case len(why) > 1:
		return head + ":\n  " + strings.Join(why, "\n  ")
	case e.Subject == "":
		return why[0]
	}
	return head + ": " + why[0]
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "granary",
		Short: "A feature store in one binary",
		Long: `Granary keeps the features of machine-learning models: their history for
training, and their latest values for serving, both from one definition.

Commands work on the stores that granary.yaml names, or with --server on those
of a running server, with the same answers.`,
		Version:       version + " " + runtime.Version(),
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			a.started = true
			return a.configure(cmd)
		},
	}
	root.SetVersionTemplate("granary {{.Version}}\n")
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.Flags().BoolP("version", "v", false, "print the version and end (default false)") // cobra acts on it
	flags := root.PersistentFlags()
	flags.StringVar(&a.flags.config, "config", "", "configuration file (default granary.yaml, if it is there)")
	flags.StringVar(&a.flags.project, "project", "", "project to work on (default that of the configuration)")
	flags.StringVar(&a.flags.server, "server", "", "URL of a server to ask instead of the local stores (default none)")
	flags.StringVar(&a.flags.now, "now", "", "take this time for the present, RFC 3339 (default the clock's)")
	flags.BoolVarP(&a.flags.quiet, "quiet", "q", false, "show no progress (default false)")
	for _, add := range []func(*app) *cobra.Command{
		newInit, newPlan, newApply, newIngest, newMaterialize, newGet, newTrain, newExport,
		newServe, newRegistry, newRows, newConfig, newVersion,
	} {
		root.AddCommand(add(a))
	}
	return root
}
