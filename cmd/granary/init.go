package main

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/feature"
)

//go:embed starter
var starter embed.FS

func newInit(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Start a project: a configuration, definitions, a little data",
		Long: `Write granary.yaml, features.yaml and a small CSV file into a folder, the working
directory if none is named. What is there already is never replaced.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if err := writeStarter(dir); err != nil {
				return err
			}
			a.printf("%s", nextSteps(dir))
			return nil
		},
	}
}

// writeStarter writes the files of a new project, or none of them.
func writeStarter(dir string) error {
	files, err := fs.ReadDir(starter, "starter")
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := os.Stat(filepath.Join(dir, f.Name())); !errors.Is(err, fs.ErrNotExist) {
			return feature.Errorf(feature.CodeAlreadyExists, "", filepath.Join(dir, f.Name()), "it is there already, and nothing was written")
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a project is as readable as its folder
		return err
	}
	for _, f := range files {
		data, err := fs.ReadFile(starter, "starter/"+f.Name())
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name()), data, 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}

func nextSteps(dir string) string {
	text := "Wrote granary.yaml, features.yaml and driver_stats.csv. Now:\n\n"
	if dir != "." {
		text += "  cd " + dir + "\n"
	}
	return text + `  granary apply
  granary ingest driver_stats
  granary materialize
  granary get driver_stats:trips driver_stats:rating -e driver_id=1001,1002
`
}
