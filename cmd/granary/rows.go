package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
)

func newRows(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rows",
		Short: "Work on the rows of a view",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newRowsDelete(a))
	return cmd
}

func newRowsDelete(a *app) *cobra.Command {
	var entities entityFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "delete VIEW",
		Short: "Erase entities, online and offline",
		Long: `Erase all rows of entities from a view: from the online store, and from the
newest version of its table. Older versions keep them until they are removed.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !entities.given() {
				return usagef("the entities are missing: --entity or --entities")
			}
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				named, err := entities.read(ctx, a, b)
				if err != nil {
					return err
				}
				result, err := b.Erase(ctx, args[0], wire.EraseRequest{Entities: named})
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(result)
				}
				a.printf("%s: %s online and %s offline erased, version %d\n",
					args[0], rowsText(result.OnlineRows), rowsText(result.OfflineRows), result.Version)
				return nil
			})
		},
	}
	entities.add(cmd, "entities to erase")
	jsonFlag(cmd, &asJSON)
	return cmd
}
