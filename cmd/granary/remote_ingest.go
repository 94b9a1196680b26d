package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
)

// Ingest implements loader. To send the files as they are would be simple, but a
// push is not a file: it may have no other columns than the view's, and its
// faults name no line. So the files are read here, into a store that lives as
// long as the command, just as a local ingest reads them; then their rows are
// pushed as Arrow, all at once or not at all.
func (r *remote) Ingest(ctx context.Context, req ingestRequest) (ingest.Summary, error) {
	start := r.clock.Now()
	view, err := r.view(ctx, req.view)
	if err != nil {
		return ingest.Summary{}, err
	}
	dir, err := os.MkdirTemp(r.tempDir, "granary-ingest-")
	if err != nil {
		return ingest.Summary{}, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	sum, rows, err := r.stage(ctx, dir, view, req)
	if err != nil {
		return sum, err
	}
	result, err := r.pushFile(ctx, rows, req)
	if err != nil {
		return sum, err
	}
	if result.Repeated {
		return ingest.Summary{View: req.view, Version: result.Version, Repeated: true}, nil
	}
	sum.Accepted, sum.Version = result.Accepted, result.Version
	for i, rejected := range result.Rejected {
		if i == 0 || result.Rejected[i-1].Row != rejected.Row {
			sum.Rejected++
		}
		if len(sum.Rejections) < ingest.MaxRejections {
			sum.Rejections = append(sum.Rejections, ingest.Rejection{
				Source: "server", Row: rejected.Row + 1, Field: rejected.Field, Reason: rejected.Reason,
			})
		}
	}
	sum.Seconds = r.clock.Now().Sub(start).Seconds()
	return sum, nil
}

// view returns a view as the server knows it, bound as far as reading needs it.
func (r *remote) view(ctx context.Context, name string) (*feature.BoundView, error) {
	info, err := r.client.View(ctx, name)
	if err != nil {
		return nil, err
	}
	v := &feature.BoundView{View: info.View, Project: r.project, ID: info.ID, Keys: info.JoinKeys}
	for i, f := range info.Features {
		v.Slots, v.SlotTypes = append(v.Slots, i), append(v.SlotTypes, f.Type)
	}
	if info.Source == "" {
		return v, nil
	}
	d, _, err := r.client.Definitions(ctx)
	if err != nil {
		return nil, err
	}
	for i := range d.Sources {
		if d.Sources[i].Name == info.Source {
			v.SourceDef = d.Sources[i]
		}
	}
	return v, nil
}

// stage reads the files and returns what became of them, and the path of an
// Arrow stream of the rows that were accepted, in order.
func (r *remote) stage(ctx context.Context, dir string, view *feature.BoundView, req ingestRequest) (ingest.Summary, string, error) {
	b, err := bucket.Open(ctx, filepath.Join(dir, "store"), bucket.Options{})
	if err != nil {
		return ingest.Summary{}, "", err
	}
	defer func() { _ = b.Close() }()
	store, err := offline.Open(ctx, b, offline.Options{Clock: r.clock, TempDir: dir})
	if err != nil {
		return ingest.Summary{}, "", err
	}
	files := req.files(view)
	files.IdempotencyKey = "" // it is the server's to know
	sum, err := ingest.New(ingest.Options{Offline: store, Clock: r.clock, TempDir: dir}).Files(ctx, files)
	if err != nil {
		return sum, "", err
	}
	rows := filepath.Join(dir, "rows.arrow")
	return sum, rows, writeStaged(ctx, store, view, rows)
}

// writeStaged writes the rows of a staged table as an Arrow stream. When they
// were created is the server's to say, unless the view has a column for it.
func writeStaged(ctx context.Context, store *offline.Store, view *feature.BoundView, path string) (err error) {
	var columns []string
	for _, name := range view.Columns() {
		made := name == view.CreatedColumn() && view.CreatedTimestamp == "" || name == view.EventColumn() && view.Static
		if !made {
			columns = append(columns, name)
		}
	}
	records, err := store.Scan(ctx, view, offline.ScanRequest{Columns: columns})
	if err != nil {
		return err
	}
	defer records.Release()
	f, err := os.Create(filepath.Clean(path))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = copyRecords(ctx, ipc.NewWriter(f, ipc.WithSchema(records.Schema())), records, func(int64) {})
	return err
}

// pushFile pushes an Arrow stream into the table.
func (r *remote) pushFile(ctx context.Context, path string, req ingestRequest) (wire.PushResult, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return wire.PushResult{}, err
	}
	defer func() { _ = f.Close() }()
	return r.client.Push(ctx, req.view, feature.FormatArrow, f, wire.PushOptions{
		Offline: true, Strict: req.strict, IdempotencyKey: req.key,
	})
}
