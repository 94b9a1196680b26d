package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/sdk"
)

// remote is the backend of a server. What it does not define itself is the
// client's.
type remote struct {
	client *sdk.Client
	clock  clock.Clock
}

// Plan implements definer.
func (r *remote) Plan(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	return r.client.Plan(ctx, req)
}

// Apply implements definer.
func (r *remote) Apply(ctx context.Context, req wire.ApplyRequest) (wire.Plan, error) {
	return r.client.Apply(ctx, req)
}

// Rollback implements definer.
func (r *remote) Rollback(ctx context.Context, req wire.RollbackRequest) (wire.Plan, error) {
	return r.client.Rollback(ctx, req)
}

// Delete implements definer.
func (r *remote) Delete(ctx context.Context, kind, name string, expected *int64) (wire.Plan, error) {
	return r.client.Delete(ctx, kind, name, expected)
}

// Definitions implements definer.
func (r *remote) Definitions(ctx context.Context) (feature.Definitions, int64, error) {
	return r.client.Definitions(ctx)
}

// View implements definer.
func (r *remote) View(ctx context.Context, name string) (wire.ViewInfo, error) {
	return r.client.View(ctx, name)
}

// History implements definer.
func (r *remote) History(ctx context.Context) ([]wire.Revision, error) { return r.client.History(ctx) }

// Projects implements definer.
func (r *remote) Projects(ctx context.Context) (wire.ProjectList, error) {
	return r.client.Projects(ctx)
}

// Historical implements historian.
func (r *remote) Historical(ctx context.Context, format feature.Format, spine io.Reader, o wire.HistoricalOptions) (array.RecordReader, error) {
	return r.client.HistoricalFrom(ctx, format, spine, o)
}

// Export implements historian.
func (r *remote) Export(ctx context.Context, view string, o wire.ExportOptions) (array.RecordReader, error) {
	return r.client.Export(ctx, view, o)
}

// OnlineFeatures implements server.
func (r *remote) OnlineFeatures(ctx context.Context, req wire.OnlineRequest) (*wire.OnlineResponse, error) {
	return r.client.OnlineFeatures(ctx, req)
}

// Erase implements server.
func (r *remote) Erase(ctx context.Context, view string, req wire.EraseRequest) (wire.EraseResult, error) {
	return r.client.Erase(ctx, view, req)
}

// Materialize implements loader.
func (r *remote) Materialize(ctx context.Context, req wire.MaterializeRequest, progress func(wire.Job)) (wire.Job, error) {
	job, err := r.client.Materialize(ctx, req)
	if err != nil {
		return job, err
	}
	last, err := r.client.Wait(ctx, job.ID, progress)
	if ctx.Err() == nil {
		return outcome(last, err)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
	defer cancel()
	_, cancelErr := r.client.CancelJob(ctx, job.ID)
	return last, errors.Join(err, cancelErr)
}

// Close implements backend.
func (r *remote) Close(context.Context) error { return r.client.Close() }

// Ingest implements loader: each file is one push into the table of the view.
func (r *remote) Ingest(ctx context.Context, req ingestRequest) (ingest.Summary, error) {
	sum := ingest.Summary{View: req.view, Version: -1}
	start := r.clock.Now()
	files, err := r.files(ctx, req)
	if err != nil {
		return sum, err
	}
	var total int64
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return sum, feature.Errorf(feature.CodeNotFound, "", file, "%w", err)
		}
		total += info.Size()
	}
	letters := deadLetters{path: req.deadLetters}
	for i, file := range files {
		before := sum
		result, err := r.pushFile(ctx, req, i, file, func(bytes int64) {
			sum.Bytes = before.Bytes + bytes
			req.progress(ingest.Progress{Rows: before.Read, Bytes: sum.Bytes, TotalBytes: total, File: file})
		})
		if err == nil {
			addPush(&sum, result)
			err = letters.add(file, result.Rejected)
		}
		if err != nil {
			return sum, errors.Join(err, letters.close())
		}
	}
	sum.Seconds = r.clock.Now().Sub(start).Seconds()
	sum.DeadLetters = letters.written()
	return sum, letters.close()
}

// files returns the files that a request names, or those of the view's source.
func (r *remote) files(ctx context.Context, req ingestRequest) ([]string, error) {
	patterns := req.inputs
	if len(patterns) == 0 {
		source, err := r.source(ctx, req.view)
		if err != nil {
			return nil, err
		}
		pattern := source.Path
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(req.baseDir, pattern)
		}
		patterns = []string{pattern}
	}
	var files []string
	for _, pattern := range patterns {
		matches, err := filepath.Glob(pattern)
		if err != nil || len(matches) == 0 {
			return nil, feature.Errorf(feature.CodeNotFound, "", pattern, "there is no such file")
		}
		files = append(files, matches...)
	}
	return files, nil
}

// source returns the source of a view.
func (r *remote) source(ctx context.Context, view string) (feature.Source, error) {
	info, err := r.client.View(ctx, view)
	if err != nil {
		return feature.Source{}, err
	}
	d, _, err := r.client.Definitions(ctx)
	if err != nil {
		return feature.Source{}, err
	}
	for i := range d.Sources {
		if s := &d.Sources[i]; s.Name == info.Source && s.Path != "" {
			return *s, nil
		}
	}
	return feature.Source{}, feature.Errorf(feature.CodeInvalidArgument, "", "view "+view, "it has no source with a path: name the files")
}

// pushFile sends one file; read is told how much of it was read.
func (r *remote) pushFile(ctx context.Context, req ingestRequest, n int, path string, read func(int64)) (wire.PushResult, error) {
	format := req.format
	if format == feature.FormatByName {
		var err error
		if format, err = formatOf(path); err != nil {
			return wire.PushResult{}, err
		}
	}
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return wire.PushResult{}, err
	}
	defer func() { _ = f.Close() }()
	o := wire.PushOptions{Offline: true, Strict: req.strict}
	if req.key != "" {
		o.IdempotencyKey = fmt.Sprintf("%s/%d", req.key, n)
	}
	return r.client.Push(ctx, req.view, format, &countingReader{ReadSeeker: f, count: read}, o)
}

// addPush counts one push into a summary.
func addPush(sum *ingest.Summary, result wire.PushResult) {
	sum.Files++
	sum.Accepted += result.Accepted
	sum.Rejected += int64(len(result.Rejected))
	sum.Read = sum.Accepted + sum.Rejected
	sum.Version = result.Version
	sum.Repeated = result.Repeated
}

// countingReader tells how much of a file was read.
type countingReader struct {
	io.ReadSeeker
	bytes int64
	count func(int64)
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.ReadSeeker.Read(p)
	c.bytes += int64(n)
	c.count(c.bytes)
	return n, err
}

// Seek implements io.Seeker; a file that is sent again is counted again.
func (c *countingReader) Seek(offset int64, whence int) (int64, error) {
	at, err := c.ReadSeeker.Seek(offset, whence)
	c.bytes = at
	return at, err
}

// deadLetters writes the rows that a server rejected, as a local ingest does.
type deadLetters struct {
	path string
	file *os.File
}

func (d *deadLetters) add(source string, rejected []wire.Rejected) error {
	if d.path == "" || len(rejected) == 0 {
		return nil
	}
	if d.file == nil {
		f, err := os.Create(filepath.Clean(d.path))
		if err != nil {
			return err
		}
		d.file = f
	}
	enc := json.NewEncoder(d.file)
	for _, row := range rejected {
		if err := enc.Encode(ingest.Rejection{Source: source, Row: row.Row, Field: row.Field, Reason: row.Reason}); err != nil {
			return err
		}
	}
	return nil
}

// written returns the path if there is a file.
func (d *deadLetters) written() string {
	if d.file == nil {
		return ""
	}
	return d.path
}

func (d *deadLetters) close() error {
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}
