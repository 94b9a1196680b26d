package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
)

func versionInfo() wire.Version {
	return wire.Version{Version: version, Commit: commit, Go: runtime.Version()}
}

func newVersion(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := versionInfo()
			if asJSON {
				return a.printJSON(v)
			}
			a.printf("granary %s %s\n", v.Version, v.Go)
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
