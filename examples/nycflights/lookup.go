package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/sdk"
)

// lookUp serves the latest values and asks for some over HTTP.
func (d *demo) lookUp(ctx context.Context) error {
	fmt.Printf("\n# A server, whose clock shows %s, asked over HTTP for three airports and two aircraft.\n", present)
	url, stop, err := d.serve(ctx)
	if err != nil {
		return err
	}
	return errors.Join(ask(ctx, url), stop())
}

func ask(ctx context.Context, url string) error {
	client, err := sdk.Dial(url, sdk.WithProject("flights"))
	if err != nil {
		return err
	}
	for _, req := range []wire.OnlineRequest{
		{
			Features: []string{"weather:temp", "weather:wind_speed", "weather:wind_gust", "weather:visib"},
			Entities: map[string][]wire.RawValue{"origin": sdk.Values("EWR", "JFK", "LGA")},
		},
		{
			Features: []string{"planes:manufacturer", "planes:seats", "aircraft_legs:dest", "aircraft_legs:arr_delay"},
			Entities: map[string][]wire.RawValue{"tailnum": sdk.Values("N281JB", "N640JB")},
		},
	} {
		req.Include = []string{wire.IncludeStatus}
		answer, err := client.OnlineFeatures(ctx, req)
		if err != nil {
			return err
		}
		if err := show(answer); err != nil {
			return err
		}
	}
	return client.Close()
}

// show prints an answer, an entity a line; in place of a null stands its status.
func show(answer *wire.OnlineResponse) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for i := -1; i < len(answer.Columns[0].Values); i++ {
		cells := make([]string, 0, len(answer.Columns))
		for j := range answer.Columns {
			c := &answer.Columns[j]
			cell := c.Name
			if i >= 0 {
				cell = strings.Trim(string(c.Values[i]), `"`)
			}
			if cell == "null" {
				cell = c.Status[i]
			}
			cells = append(cells, cell)
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return w.Flush()
}
