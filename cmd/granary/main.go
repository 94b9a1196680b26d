// Command granary is the feature store: it applies definitions, ingests files,
// materializes, looks features up, builds training sets and serves all of it
// over HTTP. Every command works on the stores of granary.yaml, or with
// --server on those of a server, with the same answers.
//
// Start reading at run; each command has a file of its name.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/granary-ml/granary/internal/clock"
)

// Set by the linker; see the Makefile.
var (
	version = "dev"
	commit  = ""
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, &app{
		stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, env: os.LookupEnv, clock: clock.Real{},
	}, os.Args[1:]))
}
