// Command quickstart defines features by a struct, pushes rows, looks them up
// and joins them to a spine, all through a running server.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/sdk"
)

// driverStats is a row of the view driver_stats. What may be missing is a
// pointer.
type driverStats struct {
	DriverID int64     `granary:"key"`
	At       time.Time `granary:"event,name=event_timestamp"`
	Trips    *int64    `granary:"feature"`
	Rating   *float64  `granary:"feature"`
}

func main() {
	server := flag.String("server", "http://127.0.0.1:7787", "URL of the server")
	project := flag.String("project", "quickstart", "project to work in")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *server, *project); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, server, project string) error {
	client, err := sdk.Dial(server, sdk.WithProject(project))
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	for _, step := range []func(context.Context, io.Writer, *sdk.Client) error{define, push, lookUp, train} {
		if err := step(ctx, out, client); err != nil {
			return err
		}
	}
	return nil
}

// define makes the entity and the view of driverStats.
func define(ctx context.Context, out io.Writer, client *sdk.Client) error {
	driver, err := sdk.EntityOf[driverStats]("driver")
	if err != nil {
		return err
	}
	view, err := sdk.ViewOf[driverStats](feature.View{Name: "driver_stats", Entities: []string{"driver"}})
	if err != nil {
		return err
	}
	plan, err := client.Apply(ctx, wire.ApplyRequest{
		Definitions: feature.Definitions{Entities: []feature.Entity{driver}, Views: []feature.View{view}},
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d changes\n%s", len(plan.Changes), plan.Patch)
	return err
}

// push sends rows, which are durable and served when it returns.
func push(ctx context.Context, out io.Writer, client *sdk.Client) error {
	morning := time.Date(2024, 1, 1, 8, 0, 0, 0, time.UTC)
	result, err := sdk.PushRows(ctx, client, "driver_stats", []driverStats{
		{DriverID: 1001, At: morning, Trips: new(int64(12)), Rating: new(4.9)},
		{DriverID: 1001, At: morning.Add(4 * time.Hour), Trips: new(int64(15)), Rating: new(4.8)},
		{DriverID: 1002, At: morning, Trips: new(int64(7))},
	}, wire.PushOptions{})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d rows pushed, %d rejected\n", result.Accepted, len(result.Rejected))
	return err
}

// lookUp asks for the latest values.
func lookUp(ctx context.Context, out io.Writer, client *sdk.Client) error {
	answer, err := client.OnlineFeatures(ctx, wire.OnlineRequest{
		Features: []string{"driver_stats:trips", "driver_stats:rating"},
		Entities: map[string][]wire.RawValue{"driver_id": sdk.Values(1001, 1002, 1003)},
		Include:  []string{wire.IncludeStatus},
	})
	if err != nil {
		return err
	}
	for i, id := range answer.Columns[0].Values {
		trips, rating := answer.Columns[1], answer.Columns[2]
		_, err := fmt.Fprintf(out, "driver %s: trips %s (%s), rating %s (%s)\n",
			id, trips.Values[i], trips.Status[i], rating.Values[i], rating.Status[i])
		if err != nil {
			return err
		}
	}
	return nil
}

// train joins the features to a spine: each row gets what was true at its time.
func train(ctx context.Context, out io.Writer, client *sdk.Client) error {
	spine := `driver_id,event_timestamp,label
1001,2024-01-01T09:00:00Z,yes
1001,2024-01-01T13:00:00Z,no
1002,2024-01-01T07:00:00Z,no
`
	records, err := client.HistoricalFrom(ctx, feature.FormatCSV, strings.NewReader(spine), wire.HistoricalOptions{
		Features: []string{"driver_stats:trips"},
	})
	if err != nil {
		return err
	}
	defer records.Release()
	for records.Next() {
		if _, err := fmt.Fprintln(out, records.Record()); err != nil {
			return err
		}
	}
	return records.Err()
}
