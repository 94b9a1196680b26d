package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/bench/peers"
	"github.com/granary-ml/granary/bench/report"
)

// dense is P5: a large spine.
func (b *bench) dense(ctx context.Context) ([]report.Line, error) {
	spines := []string{"100000", "1000000"}
	if b.full {
		spines = []string{"1000000", "10000000"}
	}
	var lines []report.Line
	for _, spine := range spines {
		for _, sink := range []string{"arrow", "parquet"} {
			more, err := b.join(ctx, "P5", spine, sink, []string{"asof", "exact"})
			if err != nil {
				return nil, err
			}
			lines = append(lines, more...)
		}
	}
	return lines, nil
}

// sparse is P6: ten thousand spine rows.
func (b *bench) sparse(ctx context.Context) ([]report.Line, error) {
	return b.join(ctx, "P6", "10000", "arrow", []string{"asof", "exact_late"})
}

// join compares one retrieval with every form of the peers.
func (b *bench) join(ctx context.Context, id, spine, sink string, forms []string) ([]report.Line, error) {
	want, err := b.env.Answer(ctx, b.data, spine, 1)
	if err != nil {
		return nil, err
	}
	store, err := b.load(ctx)
	if err != nil {
		return nil, err
	}
	ours, others, user := &harness.Side{Name: "granary"}, harness.Sides{}, harness.Sides{}
	for range b.runs {
		out, err := run(ctx, job{Mode: "join", Data: b.data, Store: store, Spine: spine, Sink: sink, Warmups: 1})
		if err != nil {
			return nil, err
		}
		ours.Add(out.Seconds, out.PeakMB, out.Hash == want)
		lines, err := b.peersJoin(ctx, spine, sink, forms)
		if err != nil {
			return nil, err
		}
		for i := range lines {
			m := &lines[i]
			if m.Failed != "" {
				continue // a peer that runs out of memory has lost
			}
			others.Of(m.Case+" "+m.Version).Add(m.Seconds, m.PeakMB, m.HasHash(want))
			if isUsers(m) {
				user.Of(m.Case+" "+m.Version).Add(m.Seconds, m.PeakMB, true)
			}
		}
	}
	best, asof := others.Best(), user.Best()
	if best == nil || asof == nil {
		return nil, fmt.Errorf("no peer gave the right answer for spine %s", spine)
	}
	name := fmt.Sprintf("%s x %s x 10 float64, to %s", spine, filepath.Base(b.data), sink)
	return []report.Line{harness.Line(id, name, ours, best), harness.Line(id+"u", name, ours, asof)}, nil
}

func (b *bench) peersJoin(ctx context.Context, spine, sink string, forms []string) ([]peers.Measured, error) {
	args := append([]string{b.data, "--spine", spine, "--sink", sink, "--runs", "1", "--form"}, forms...)
	duck, err := b.env.Run(ctx, "pit_duckdb.py", append(args, "--layout", "parquet", "native", "native_last")...)
	if err != nil {
		return nil, err
	}
	polars, err := b.env.Run(ctx, "pit_polars.py", b.data, "--spine", spine, "--sink", sink, "--runs", "1", "--form", "presorted")
	return append(duck, polars...), err
}

// load ingests the history once, off the clock, and returns its store.
func (b *bench) load(ctx context.Context) (string, error) {
	store := filepath.Join(b.data, "granary")
	done := filepath.Join(store, "loaded")
	if _, err := os.Stat(done); err == nil {
		return store, nil
	}
	if err := os.RemoveAll(store); err != nil {
		return "", err
	}
	if _, err := run(ctx, job{Mode: "ingest", Data: b.data, Store: store, Source: "parquet"}); err != nil {
		return "", err
	}
	return store, os.WriteFile(done, nil, 0o600)
}
