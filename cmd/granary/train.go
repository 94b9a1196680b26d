package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// trainRequest is what train does.
type trainRequest struct {
	wire.HistoricalOptions
	spine  string
	format feature.Format
	out    string
}

func newTrain(a *app) *cobra.Command {
	var req trainRequest
	var format, asOf string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "train [FEATURE…]",
		Short: "Build a training set, correct at each row's time",
		Long: `Join features (view:feature), or those of a feature service, to a spine: rows of
join keys and a time, with any other columns such as a label. Each row gets the
values that were true at its time, never later ones. The output has the columns
of the spine, untouched and in order, then the features.`,
		Example: `  granary train --service delay --spine flights.csv.zst --time-column scheduled_at \
      --full-names --out training.parquet`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Features = args
			err := checkSelection(args, req.Service)
			if err == nil && req.spine == "" {
				err = usagef("--spine is missing: a file, or - for standard input")
			}
			if err == nil {
				err = checkOutput(req.out)
			}
			if err == nil {
				req.format, err = checkFormat(format)
			}
			if err == nil {
				req.AsOf, err = parseAsOf(asOf)
			}
			if err != nil {
				return err
			}
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				return a.train(ctx, b, req, asJSON)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&req.spine, "spine", "", "file of the spine: CSV, NDJSON, JSON, Parquet or Arrow; - is standard input (no default)")
	flags.StringVar(&format, "format", "", "format of the spine: csv, ndjson, json, parquet or arrow (default by its name)")
	flags.StringVar(&req.out, "out", "", "file to write, .parquet or .arrow; - is an Arrow stream on standard output (no default)")
	flags.StringVar(&req.Service, "service", "", "feature service to join instead of features (default none)")
	flags.StringVar(&req.TimeColumn, "time-column", "", "time column of the spine (default event_timestamp)")
	flags.BoolVar(&req.FullNames, "full-names", false, "name feature columns view__feature (default false)")
	flags.BoolVar(&req.KnownAt, "known-at", false, "leave out rows that were created after the row's time (default false)")
	flags.StringVar(&asOf, "as-of", "", "read tables as of a version or a time, RFC 3339 (default the newest)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func parseAsOf(text string) (wire.AsOf, error) {
	at, err := wire.ParseAsOf(text)
	if err != nil {
		return at, usagef("--as-of: %w", err)
	}
	return at, nil
}

// train builds one training set.
func (a *app) train(ctx context.Context, b backend, req trainRequest, asJSON bool) error {
	spine, format, err := a.openSpine(req.spine, req.format)
	if err != nil {
		return err
	}
	defer func() { _ = spine.Close() }()
	start := a.clock.Now()
	records, err := b.Historical(ctx, format, spine, req.HistoricalOptions)
	if err != nil {
		return err
	}
	defer records.Release()
	out, err := a.writeShown(ctx, "train", req.out, records)
	if err != nil {
		return err
	}
	if asJSON && out.Path != "-" {
		return a.printJSON(out)
	}
	a.tellWritten(out, "%s: %s, %d columns, %s, in %s\n",
		out.Path, rowsText(out.Rows), len(records.Schema().Fields()), size(out.Bytes), seconds(a.since(start)))
	return nil
}

// tellWritten tells what was written, on standard output unless that is where
// it was written to.
func (a *app) tellWritten(out written, format string, args ...any) {
	if out.Path == "-" {
		a.notef(format, args...)
		return
	}
	a.printf(format, args...)
}

// writeShown writes records with the progress shown.
func (a *app) writeShown(ctx context.Context, what, path string, records array.RecordReader) (written, error) {
	p := a.newProgress(what)
	defer p.End()
	return a.writeRecords(ctx, path, records, func(rows int64) { p.Update(rows, rows, 0) })
}

// openSpine opens a spine and tells its format.
func (a *app) openSpine(path string, format feature.Format) (io.ReadCloser, feature.Format, error) {
	if path == "-" {
		if format == feature.FormatByName {
			return nil, format, usagef("--format is missing for a spine on standard input")
		}
		return io.NopCloser(a.stdin), format, nil
	}
	if format == feature.FormatByName {
		var err error
		if format, err = formatOf(path); err != nil {
			return nil, format, err
		}
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, format, feature.Errorf(feature.CodeNotFound, "", "spine", "%w", err)
	}
	return f, format, nil
}
