package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/ingest"
)

func newIngest(a *app) *cobra.Command {
	var req ingestRequest
	var format string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "ingest VIEW [FILE…]",
		Short: "Bring files into the table of a view",
		Long: `Bring files (CSV, NDJSON, Parquet, Arrow; gzip and zstd) into the table of a
view, by one commit: all of their rows appear at once, or none. Without files,
the source of the view is read. A FILE may be a glob.

A row that cannot be accepted is told, with its source, position, field and
reason, in the dead letters; the others land. Through a server, whose clock it
is, a row dated more than its max_future ahead is not accepted either; local
files may hold such rows.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if req.format, err = checkFormat(format); err != nil {
				return err
			}
			req.view, req.inputs, req.baseDir = args[0], args[1:], a.definitionsDir()
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				sum, err := a.ingest(ctx, b, req)
				if err != nil {
					return err
				}
				return a.printIngest(sum, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&format, "format", "", "csv, ndjson, json, parquet or arrow (default by the name of each file)")
	flags.BoolVar(&req.strict, "strict", false, "refuse everything if one row is rejected (default false)")
	flags.StringVar(&req.key, "idempotency-key", "", "make a repeated ingest with this key land once (default none)")
	flags.StringVar(&req.deadLetters, "dead-letters", "", "file for the rejected rows as NDJSON, made if there are any (default none)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// ingest runs an ingest with its progress shown.
func (a *app) ingest(ctx context.Context, b backend, req ingestRequest) (ingest.Summary, error) {
	p := a.newProgress("ingest " + req.view)
	defer p.End()
	req.progress = func(at ingest.Progress) { p.Update(at.Rows, at.Bytes, at.TotalBytes) }
	return b.Ingest(ctx, req)
}

func (a *app) printIngest(sum ingest.Summary, asJSON bool) error {
	if asJSON {
		return a.printJSON(sum)
	}
	if sum.Repeated {
		a.printf("%s: had landed before, as version %d\n", sum.View, sum.Version)
		return nil
	}
	took := time.Duration(sum.Seconds * float64(time.Second))
	a.printf("%s: %s accepted, %s rejected, %s skipped, version %d, in %s\n",
		sum.View, rowsText(sum.Accepted), count(sum.Rejected), count(sum.Skipped), sum.Version, seconds(took))
	told := int64(0) // rows, of which one may have several faults
	for i, r := range sum.Rejections {
		a.notef("  rejected %s\n", place(r))
		if i == 0 || sum.Rejections[i-1].Row != r.Row || sum.Rejections[i-1].Source != r.Source {
			told++
		}
	}
	if sum.Rejected > told {
		a.notef("  rejected %s more\n", rowsText(sum.Rejected-told))
	}
	if sum.DeadLetters != "" {
		a.notef("  rejected rows are in %s\n", sum.DeadLetters)
	}
	return nil
}

// place tells where a rejected row stands, and why it was rejected.
func place(r ingest.Rejection) string {
	at := fmt.Sprintf("%s row %d", r.Source, r.Row)
	if r.Field != "" {
		return at + " " + r.Field + ": " + r.Reason
	}
	return at + ": " + r.Reason
}
