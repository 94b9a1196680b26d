// Command nycflights shows the whole path on a year of flights, in front of the
// user: `make demo` runs it. It drives the granary binary as a person would, and
// holds the training set that comes out to expected.json.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"
)

func main() {
	binary := flag.String("granary", "./granary", "the granary binary")
	dir := flag.String("dir", ".demo", "folder that is made anew and left there")
	example := flag.String("example", "examples/nycflights", "folder of this example")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *binary, *dir, *example)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// present is the time that the demo takes for now: the last evening with weather.
const present = "2013-12-30T23:30:00Z"

// run does the demo.
func run(ctx context.Context, binary, dir, example string) error {
	start := time.Now()
	d, err := newDemo(binary, dir, example)
	if err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{
		d.define, d.load, d.lookUp, d.train, d.check,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	fmt.Printf("\nAll of it took %.1f s.\n", time.Since(start).Seconds())
	return d.goOn()
}

// demo is one run.
type demo struct {
	binary  string
	dir     string
	example string
}

// newDemo makes the folder anew. It removes nothing that a demo did not make.
func newDemo(binary, dir, example string) (*demo, error) {
	d := &demo{binary: binary, dir: dir, example: example}
	if _, err := os.Stat(d.path("granary.yaml")); err == nil {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, err
	}
	definitions, err := d.seen(filepath.Join(example, "features.yaml"))
	if err != nil {
		return nil, err
	}
	return d, os.WriteFile(d.path("granary.yaml"), fmt.Appendf(nil, `project: flights
definitions: [%s]
storage: store
online: {path: online}
`, definitions), 0o600)
}

func (d *demo) path(name string) string { return filepath.Join(d.dir, name) }

// seen returns a path as it is seen from the folder of the demo, where the
// commands run.
func (d *demo) seen(path string) (string, error) {
	from, err := filepath.Abs(d.dir)
	if err != nil {
		return "", err
	}
	to, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.Rel(from, to)
}

// define applies the definitions.
func (d *demo) define(ctx context.Context) error {
	fmt.Println("# The definitions: three entities, four views, one service for the model.")
	return d.granary(ctx, "apply", "--message", "the first definitions")
}

// load brings the files in, and their latest rows up.
func (d *demo) load(ctx context.Context) error {
	fmt.Println("\n# The history, from CSV under zstd into Delta tables of sorted Parquet.")
	for _, view := range []string{"weather", "planes", "aircraft_legs", "route_legs"} {
		if err := d.granary(ctx, "ingest", view); err != nil {
			return err
		}
	}
	fmt.Printf("\n# The latest values, as they were on %s.\n", present)
	return d.granary(ctx, "--now", present, "materialize")
}

// train builds the training set of all flights.
func (d *demo) train(ctx context.Context) error {
	fmt.Println("\n# The training set: every flight of the year, with what was known at its scheduled time.")
	spine, err := d.seen(filepath.Join(d.example, "data", "flights.csv.zst"))
	if err != nil {
		return err
	}
	return d.granary(ctx, "train", "--service", "delay", "--spine", spine,
		"--time-column", "scheduled_at", "--full-names", "--out", "training.parquet")
}

// goOn tells what to try next.
func (d *demo) goOn() error {
	binary, err := d.seen(d.binary)
	if err != nil {
		return err
	}
	fmt.Printf(`
It is all in %s. Serve it again:

  cd %s && %s serve --now %s

and ask, from a shell:

  curl -s http://127.0.0.1:7787/v1/projects/flights/features/online -H 'Content-Type: application/json' -d '{
    "features": ["weather:temp", "weather:wind_gust"],
    "entities": {"origin": ["EWR", "JFK", "LGA"]}, "include": ["status", "age"]}'

from Go:

  client, err := sdk.Dial("http://127.0.0.1:7787", sdk.WithProject("flights"))
  answer, err := client.OnlineFeatures(ctx, wire.OnlineRequest{
      Features: []string{"weather:temp"},
      Entities: map[string][]wire.RawValue{"origin": sdk.Values("EWR", "JFK", "LGA")}})

and read the training set, from Python:

  import pyarrow.parquet as pq
  flights = pq.read_table("training.parquet").to_pandas()
`, d.dir, d.dir, binary, present)
	return nil
}
