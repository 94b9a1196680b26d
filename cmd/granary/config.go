package main

import "github.com/spf13/cobra"

func newConfig(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "config",
		Short: "Print the effective configuration",
		Long: `Print the effective configuration as YAML: the file, over the defaults, under the
flags. What came from the environment is printed as ${NAME}, and no password is.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			text, err := a.config.YAML()
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
}
