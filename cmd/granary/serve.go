package main

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api"
	"github.com/granary-ml/granary/internal/wiring"
)

func newServe(a *app) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the stores over HTTP",
		Long: `Serve lookups, pushes, training sets, exports, definitions and materializations
over HTTP, until it is interrupted; then the requests in flight are finished.
The API is described at /openapi.json.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if a.config.Server != "" {
				return usagef("serve serves the local stores, and a server is configured")
			}
			if listen != "" {
				a.config.Serve.Listen = listen
			}
			return a.serve(cmd.Context())
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address to listen on, host:port; port 0 takes a free one (default 127.0.0.1:7787)")
	return cmd
}

func (a *app) serve(ctx context.Context) error {
	system, err := wiring.Open(ctx, a.config, wiring.Options{Clock: a.clock, Log: a.log})
	if err != nil {
		return err
	}
	err = a.serveSystem(ctx, system)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(a.config.Serve.ShutdownTimeout))
	defer cancel()
	return errors.Join(err, system.Close(closing))
}

// serveSystem serves until ctx ends.
func (a *app) serveSystem(ctx context.Context, system *wiring.System) error {
	if err := system.Service.Ready(ctx); err != nil {
		return err
	}
	s := a.config.Serve
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return err
	}
	server := api.New(api.Deps{Service: system.Service}, api.Options{
		MaxBodyBytes: int64(s.MaxBody), MaxStreamBytes: int64(s.MaxStream),
		RequestTimeout: time.Duration(s.RequestTimeout), StreamTimeout: time.Duration(s.StreamTimeout),
		IdleTimeout: time.Duration(s.IdleTimeout), ShutdownTimeout: time.Duration(s.ShutdownTimeout),
		Version: versionInfo(), Log: a.log, Clock: a.clock,
	})
	a.notef("granary: serving on http://%s\n", listener.Addr())
	following, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { system.Service.Follow(following) })
	err = server.Serve(ctx, listener)
	stop()
	wg.Wait()
	return err
}
