package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/config"
	"github.com/granary-ml/granary/internal/wiring"
	"github.com/granary-ml/granary/sdk"
)

// app is one run of the program: what it has of the process, and what the
// command line and the configuration say.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	env            func(string) (string, bool)
	clock          clock.Clock

	flags struct {
		config, project, server, now string
		quiet                        bool
	}
	started bool // the command line was understood
	config  *config.Config
	log     *slog.Logger
}

// configure reads the configuration and lays the flags over it.
func (a *app) configure(cmd *cobra.Command) error {
	if a.flags.now != "" {
		at, err := feature.ParseTimestamp(a.flags.now)
		if err != nil {
			return usagef("--now: %w", err)
		}
		a.clock = shifted{by: at.Time().Sub(a.clock.Now()), clock: a.clock}
	}
	c, err := a.load(cmd)
	if err != nil {
		return err
	}
	if a.flags.project != "" {
		c.Project = a.flags.project
	}
	if a.flags.server != "" {
		c.Server = a.flags.server
	}
	if err := c.Validate(); err != nil {
		return err
	}
	if c.Server != "" && a.flags.now != "" {
		return usagef("--now has no meaning with a server, which has a clock of its own")
	}
	a.config, a.log = c, newLog(a.stderr, c.Log)
	return nil
}

// load reads the file that is named, else that of the working directory, else
// none.
func (a *app) load(cmd *cobra.Command) (*config.Config, error) {
	if a.flags.config != "" {
		return config.Load(a.flags.config, a.env)
	}
	c, err := config.Load(config.FileName, a.env)
	if feature.CodeOf(err) == feature.CodeNotFound {
		return config.Default("."), nil
	}
	if err != nil && cmd.Name() == "version" {
		return config.Default("."), nil
	}
	return c, err
}

func newLog(w io.Writer, o config.Log) *slog.Logger {
	var level slog.Level
	_ = level.UnmarshalText([]byte(o.Level)) // Config.Validate has seen it
	options := &slog.HandlerOptions{Level: level}
	if o.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, options))
	}
	return slog.New(slog.NewTextHandler(w, options))
}

// shifted is a clock that runs ahead of another, or behind.
type shifted struct {
	by    time.Duration
	clock clock.Clock
}

// Now returns the other clock's time, shifted.
func (s shifted) Now() time.Time { return s.clock.Now().Add(s.by) }

// since returns how long ago a time of the clock was.
func (a *app) since(start time.Time) time.Duration { return a.clock.Now().Sub(start) }

// closeTimeout bounds how long the end of a command waits for its stores.
const closeTimeout = 10 * time.Second

// withBackend runs a command on the local stores or on a server.
func (a *app) withBackend(ctx context.Context, do func(context.Context, backend) error) error {
	b, err := a.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(ctx, b), a.close(ctx, b))
}

func (a *app) open(ctx context.Context) (backend, error) {
	if a.config.Server != "" {
		client, err := sdk.Dial(a.config.Server, sdk.WithProject(a.config.Project), sdk.WithHeader("User-Agent", "granary/"+version))
		if err != nil {
			return nil, err
		}
		return &remote{
			client: client, project: a.config.Project, clock: a.clock, tempDir: a.config.Resolve(a.config.Offline.TempDir),
		}, nil
	}
	system, err := wiring.Open(ctx, a.config, wiring.Options{Clock: a.clock, Log: a.log})
	if err != nil {
		return nil, err
	}
	return &local{System: system, project: a.config.Project}, nil
}

// close ends a backend also when the command was interrupted.
func (a *app) close(ctx context.Context, b backend) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return b.Close(ctx)
}

// definitionsDir is the folder that the paths of sources are relative to: that
// of the first file or folder of definitions.
func (a *app) definitionsDir() string {
	paths := a.config.DefinitionPaths()
	if len(paths) == 0 {
		return a.config.Dir()
	}
	if info, err := os.Stat(paths[0]); err == nil && info.IsDir() {
		return paths[0]
	}
	return filepath.Dir(paths[0])
}
