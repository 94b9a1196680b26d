package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/granary-ml/granary/bench/harness"
	"github.com/granary-ml/granary/bench/report"
)

// ingest is P11: unsorted rows to sorted, committed Parquet.
func (b *bench) ingest(ctx context.Context) ([]report.Line, error) {
	want, err := b.historyHash()
	if err != nil {
		return nil, err
	}
	var lines []report.Line
	for _, source := range []string{"parquet", "csv"} {
		l, err := b.ingestFrom(ctx, source, want)
		if err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	return lines, nil
}

func (b *bench) ingestFrom(ctx context.Context, source, want string) (report.Line, error) {
	ours, others := &harness.Side{Name: "granary"}, harness.Sides{}
	store := filepath.Join(b.data, "granary-ingest")
	for range b.runs {
		if err := os.RemoveAll(store); err != nil {
			return report.Line{}, err
		}
		out, err := run(ctx, job{Mode: "ingest", Data: b.data, Store: store, Source: source})
		if err != nil {
			return report.Line{}, err
		}
		ours.Add(out.Seconds, out.PeakMB, out.Hash == want)
		lines, err := b.env.Run(ctx, "sort_ingest.py", b.data, "--source", source, "--form", "stable", "--runs", "1", "--compression", "snappy")
		if err != nil {
			return report.Line{}, err
		}
		for i := range lines {
			if m := &lines[i]; m.Failed == "" {
				others.Of(m.Peer+" "+m.Version+" stable").Add(m.Seconds, m.PeakMB, m.HasHash(want))
			}
		}
	}
	best := others.Best()
	if best == nil {
		return report.Line{}, fmt.Errorf("no peer wrote the right rows from %s", source)
	}
	return harness.Line("P11", fmt.Sprintf("%s rows x 13 from %s", filepath.Base(b.data), source), ours, best), os.RemoveAll(store)
}

// historyHash is the hash of the rows in their order, as the generator made
// them.
func (b *bench) historyHash() (string, error) {
	data, err := os.ReadFile(filepath.Join(b.data, "manifest.json"))
	if err != nil {
		return "", err
	}
	var manifest struct {
		History map[string]struct {
			Hash string `json:"hash"`
		} `json:"history"`
	}
	err = json.Unmarshal(data, &manifest)
	return manifest.History["v00"].Hash, err
}
