package main

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/granary-ml/granary/api/wire"
)

func newGet(a *app) *cobra.Command {
	var req wire.OnlineRequest
	var entities entityFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "get [FEATURE…]",
		Short: "Look the latest values of features up",
		Long: `Look the latest values of features (view:feature), or of a feature service, up
for some entities. A value that is missing or too old is null, and its status
says why.`,
		Example: `  granary get weather:temp weather:humid -e origin=JFK,LGA
  granary get --service delay -e origin=JFK -e dest=LAX -e tailnum=N14228 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			req.Features = args
			if err := checkSelection(args, req.Service); err != nil {
				return err
			}
			if !entities.given() {
				return usagef("the entities are missing: --entity or --entities")
			}
			if !asJSON && !slices.Contains(req.Include, wire.IncludeStatus) {
				req.Include = append(req.Include, wire.IncludeStatus)
			}
			return a.withBackend(cmd.Context(), func(ctx context.Context, b backend) error {
				var err error
				if req.Entities, err = entities.read(ctx, a, b); err != nil {
					return err
				}
				answer, err := b.OnlineFeatures(ctx, req)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(answer)
				}
				return printTable(a.stdout, answerRows(answer))
			})
		},
	}
	entities.add(cmd, "entities")
	flags := cmd.Flags()
	flags.StringVar(&req.Service, "service", "", "feature service to look up instead of features (default none)")
	flags.StringSliceVar(&req.Include, "include", nil, "also tell status, event_timestamp, age (default status, and none with --json)")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// checkSelection wants either features or a service.
func checkSelection(features []string, service string) error {
	switch {
	case len(features) == 0 && service == "":
		return usagef("name the features (view:feature) or a --service")
	case len(features) > 0 && service != "":
		return usagef("name either features or a --service, not both")
	}
	return nil
}

// answerRows turns an answer by column into the rows of a table.
func answerRows(answer *wire.OnlineResponse) [][]string {
	var out [][]string
	add := func(name string, cell func(i int) string, n int) {
		for len(out) <= n {
			out = append(out, nil)
		}
		out[0] = append(out[0], name)
		for i := range n {
			out[i+1] = append(out[i+1], cell(i))
		}
	}
	for _, c := range answer.Columns {
		n := len(c.Values)
		add(c.Name, func(i int) string { return valueText(c, i) }, n)
		if c.EventTimestamp != nil {
			add("event_timestamp", func(i int) string { return jsonText(c.EventTimestamp[i]) }, n)
		}
		if c.AgeSeconds != nil {
			add("age_seconds", func(i int) string { return jsonText(c.AgeSeconds[i]) }, n)
		}
	}
	return out
}

// valueText writes one value; in place of a null stands why it is one.
func valueText(c wire.Column, i int) string {
	if string(c.Values[i]) == "null" && c.Status != nil {
		return "(" + c.Status[i] + ")"
	}
	var text string
	if json.Unmarshal(c.Values[i], &text) == nil && text != "" {
		return text
	}
	return string(c.Values[i])
}

func jsonText(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	var text string
	if json.Unmarshal(data, &text) == nil && text != "" {
		return text
	}
	return string(data)
}
