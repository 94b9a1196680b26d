package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

func newMaterialize(a *app) *cobra.Command {
	var req wire.MaterializeRequest
	var start, end string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "materialize [VIEW…]",
		Short: "Load the latest rows into the online store",
		Long: `Load the newest row of each entity from the tables into the online store: what
has arrived since the last run, or with --full everything. Rows dated after the
end of a run stay for the run after their time. Without views, every view that
is served is loaded. Running it twice changes nothing.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Views = args
			for _, t := range []struct {
				flag, text string
				dst        **feature.Timestamp
			}{{"--start", start, &req.Start}, {"--end", end, &req.End}} {
				at, err := optionalTime(t.flag, t.text)
				if err != nil {
					return err
				}
				*t.dst = at
			}
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				job, err := a.materialize(ctx, b, req)
				if err != nil {
					return err
				}
				return a.printJob(job, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&req.Full, "full", false, "load from the whole tables (default what is new)")
	flags.StringVar(&start, "start", "", "load only rows at or after this event time, RFC 3339 (default all)")
	flags.StringVar(&end, "end", "", "load only rows before this event time, RFC 3339 (default now)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// optionalTime reads a time that may be missing.
func optionalTime(flag, text string) (*feature.Timestamp, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no time is a value here
	}
	t, err := feature.ParseTimestamp(text)
	if err != nil {
		return nil, usagef("%s: %w", flag, err)
	}
	return &t, nil
}

// materialize runs a materialization with its progress shown.
func (a *app) materialize(ctx context.Context, b backend, req wire.MaterializeRequest) (wire.Job, error) {
	p := a.newProgress("materialize")
	defer p.End()
	return b.Materialize(ctx, req, func(job wire.Job) {
		// RowsTotal counts all rows of the table, of which only the newest of
		// each entity are read: no measure of how long it takes.
		read := int64(0)
		for _, v := range job.Views {
			read += v.RowsRead
		}
		p.Update(read, read, 0)
	})
}

func (a *app) printJob(job wire.Job, asJSON bool) error {
	if asJSON {
		return a.printJSON(job)
	}
	for _, v := range job.Views {
		took := time.Duration(v.Seconds * float64(time.Second))
		a.printf("%s: %s read, %s written, %s superseded, version %d through %s, in %s\n",
			v.View, rowsText(v.RowsRead), count(v.Written), count(v.Superseded), v.Version, v.Through, seconds(took))
	}
	return nil
}
