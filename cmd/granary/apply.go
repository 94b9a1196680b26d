package main

import (
	"context"

	"github.com/spf13/cobra"
)

func newApply(a *app) *cobra.Command {
	var flags definitionFlags
	var message string
	cmd := &cobra.Command{
		Use:   "apply",
		Short: "Make definitions current",
		Long: `Make the definitions current, as a new revision of the registry, all at once or
not at all. What they do not name stays, unless --prune is given. A change that
stored rows could not survive is refused with the reason and the way out.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			req, err := flags.request(a)
			if err != nil {
				return err
			}
			req.Message = message
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				plan, err := b.Apply(ctx, req)
				if err != nil {
					return err
				}
				return a.printPlan(plan, flags.asJSON)
			})
		},
	}
	flags.add(cmd)
	cmd.Flags().StringVarP(&message, "message", "m", "", "why, for the history (default none)")
	return cmd
}
