package main

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// exportFlags are the options of export as they were written.
type exportFlags struct {
	out, start, end, asOf, shard string
	entities                     entityFlags
	asJSON                       bool
}

func newExport(a *app) *cobra.Command {
	var o wire.ExportOptions
	var flags exportFlags
	cmd := &cobra.Command{
		Use:   "export VIEW",
		Short: "Write the rows of a view to a file",
		Long:  `Write the rows of a view's table, every version of every entity, to a file.`,
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := flags.parse(&o); err != nil {
				return err
			}
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				return a.export(ctx, b, args[0], o, &flags)
			})
		},
	}
	set := cmd.Flags()
	set.StringVar(&flags.out, "out", "", "file to write, .parquet or .arrow; - is an Arrow stream on standard output (no default)")
	set.StringSliceVar(&o.Columns, "columns", nil, "columns to write, in this order (default all)")
	set.StringVar(&flags.start, "start", "", "only rows at or after this event time, RFC 3339 (default all)")
	set.StringVar(&flags.end, "end", "", "only rows before this event time, RFC 3339 (default all)")
	set.StringVar(&flags.asOf, "as-of", "", "read the table as of a version or a time, RFC 3339 (default the newest)")
	set.StringVar(&flags.shard, "shard", "", "only part i of n, as i/n with i from 0 (default all)")
	flags.entities.add(cmd, "only these entities,")
	jsonFlag(cmd, &flags.asJSON)
	return cmd
}

// parse reads the options.
func (f *exportFlags) parse(o *wire.ExportOptions) error {
	if err := checkOutput(f.out); err != nil {
		return err
	}
	start, err := optionalTime("--start", f.start)
	if err != nil {
		return err
	}
	end, err := optionalTime("--end", f.end)
	if err != nil {
		return err
	}
	if start != nil || end != nil {
		o.Interval = feature.Interval{Start: math.MinInt64, End: math.MaxInt64}
		if start != nil {
			o.Interval.Start = *start
		}
		if end != nil {
			o.Interval.End = *end
		}
	}
	if f.shard != "" {
		var rest string
		n, _ := fmt.Sscanf(f.shard+" ", "%d/%d%s", &o.Shard, &o.Shards, &rest)
		if n != 2 || o.Shard < 0 || o.Shard >= o.Shards {
			return usagef("--shard: %q is not a shard (expected i/n with i from 0 to n-1)", f.shard)
		}
	}
	o.AsOf, err = parseAsOf(f.asOf)
	return err
}

func (a *app) export(ctx context.Context, b backend, view string, o wire.ExportOptions, f *exportFlags) error {
	if f.entities.given() {
		var err error
		if o.Entities, err = f.entities.read(ctx, a, b); err != nil {
			return err
		}
	}
	start := a.clock.Now()
	records, err := b.Export(ctx, view, o)
	if err != nil {
		return err
	}
	defer records.Release()
	out, err := a.writeShown(ctx, "export "+view, f.out, records)
	if err != nil {
		return err
	}
	if f.asJSON && out.Path != "-" {
		return a.printJSON(out)
	}
	a.tellWritten(out, "%s: %s, %s, in %s\n", out.Path, rowsText(out.Rows), size(out.Bytes), seconds(a.since(start)))
	return nil
}
