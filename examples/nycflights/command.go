package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// command is the granary binary with arguments, in the folder of the demo.
func (d *demo) command(ctx context.Context, args ...string) (*exec.Cmd, error) {
	binary, err := filepath.Abs(d.binary)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // it drives the binary that it was given
	cmd.Dir = d.dir
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = 30 * time.Second
	return cmd, nil
}

// granary runs one command line in front of the user.
func (d *demo) granary(ctx context.Context, args ...string) error {
	fmt.Println("$ granary " + strings.Join(args, " "))
	cmd, err := d.command(ctx, args...)
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("granary %s: %w", args[0], err)
	}
	return nil
}

// serve starts a server on a free port and returns its URL, and what stops it.
func (d *demo) serve(ctx context.Context) (url string, stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd, err := d.command(ctx, "serve", "--now", present, "--listen", "127.0.0.1:0")
	if err != nil {
		cancel()
		return "", nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		cancel()
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		cancel()
		return "", nil, err
	}
	lines := bufio.NewReader(stderr)
	stop = func() error {
		cancel()
		_, _ = io.Copy(os.Stderr, lines)
		err := cmd.Wait()
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	line, err := lines.ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "serving on ")
	if err != nil || !ok {
		return "", nil, errors.Join(fmt.Errorf("the server said %q", line), err, stop())
	}
	return url, stop, nil
}
