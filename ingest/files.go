package ingest

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
)

// FileRequest asks to bring files into a view.
type FileRequest struct {
	View *feature.BoundView
	// Inputs are files, globs, folders or prefixes ending in "/", local or by
	// URL. Empty: the path of the view's source.
	Inputs []string
	// BaseDir is what relative local inputs are relative to; empty is the
	// working directory.
	BaseDir string
	// Format is how the inputs are written. Empty: that of the view's source,
	// else by the name of each input.
	Format feature.Format
	// Strict refuses all inputs if one row is rejected. The dead letters are
	// written all the same.
	Strict bool
	// IdempotencyKey makes the request land once.
	IdempotencyKey string
	// DeadLetters is the path of the file that gets the rejected rows, one JSON
	// object a line. It is written only if there is one, and replaces what lies
	// there. Empty: rejected rows are only counted.
	DeadLetters string
	// Progress, if given, is called from the calling goroutine after each batch.
	Progress func(Progress)
}

// Summary is what became of a FileRequest.
type Summary struct {
	View     string `json:"view"`
	Files    int    `json:"files"`
	Read     int64  `json:"rows_read"`
	Accepted int64  `json:"accepted"`
	Rejected int64  `json:"rejected"`
	// Skipped counts rows without a key or an event timestamp where the source
	// says that these are skipped.
	Skipped int64 `json:"skipped"`
	// Version is the version of the view's table that holds the rows, -1 if
	// there is no table.
	Version     int64   `json:"version"`
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"`
	DeadLetters string  `json:"dead_letters,omitempty"`
	// Repeated tells that the idempotency key had landed before, and nothing
	// was read.
	Repeated bool `json:"repeated,omitempty"`
	// Rejections are the first of the rejections, MaxRejections at most.
	Rejections []Rejection `json:"rejections,omitempty"`
}

// MaxRejections is the most rejections that a summary or an error tells; the
// dead letters have all.
const MaxRejections = 20

// Rejection tells why a row was not accepted. A row with several faults has one
// for each.
type Rejection struct {
	Source string `json:"source"`
	// Row counts the records of the source from 1; a header is not one.
	Row int64 `json:"row"`
	// Line is the line that the record begins in, from 1; 0 where the source
	// has no lines.
	Line int64 `json:"line,omitempty"`
	// Field is the column of the view, empty if it is the whole row.
	Field  string `json:"field,omitempty"`
	Reason string `json:"reason"`
	// Record is the row as it stood in the source, in its first rejection, where
	// the source is text; RecordBytes (base64) if it is not UTF-8.
	Record      string `json:"record,omitempty"`
	RecordBytes []byte `json:"record_bytes,omitempty"`
}

// Files brings files into the table of a view by one commit. On an error, or
// when ctx ends, nothing has landed.
func (i *Ingester) Files(ctx context.Context, req FileRequest) (Summary, error) {
	started := i.o.Clock.Now()
	sum := Summary{View: req.View.Name, Version: -1}
	version, landed, err := i.o.Offline.Landed(ctx, req.View, req.IdempotencyKey)
	if err != nil {
		return sum, err
	}
	if landed {
		sum.Version, sum.Repeated = version, true
		return sum, nil
	}
	run := &fileRun{i: i, req: req, sum: &sum, dead: deadLetters{path: req.DeadLetters}}
	defer run.dead.drop()
	err = run.do(ctx)
	sum.Seconds = i.o.Clock.Now().Sub(started).Seconds()
	return sum, err
}

// fileRun is one FileRequest that is being done.
type fileRun struct {
	i     *Ingester
	req   FileRequest
	sum   *Summary
	dead  deadLetters
	total int64 // bytes of all inputs
}

func (f *fileRun) do(ctx context.Context) error {
	find := &resolver{baseDir: f.req.BaseDir, format: f.format(), openBucket: f.i.o.OpenBucket}
	defer func() { _ = find.Close() }() // it was only read
	inputs, err := f.inputs(ctx, find)
	if err != nil {
		return err
	}
	for _, in := range inputs {
		f.total += in.size
	}
	app, err := f.i.o.Offline.Append(ctx, f.req.View, offline.AppendOptions{
		IdempotencyKey: f.req.IdempotencyKey, Operation: "INGEST", Info: map[string]string{"inputs": strconv.Itoa(len(inputs))},
	})
	if err != nil {
		return err
	}
	if err := f.read(ctx, inputs, app); err != nil {
		return errors.Join(err, app.Abort(ctx))
	}
	return f.land(ctx, app)
}

// format is how the inputs are written: as the request says, else as the source
// does if it is the source that is read, else by their names.
func (f *fileRun) format() feature.Format {
	if f.req.Format == feature.FormatByName && len(f.req.Inputs) == 0 {
		return f.req.View.SourceDef.Format
	}
	return f.req.Format
}

func (f *fileRun) inputs(ctx context.Context, find *resolver) ([]*input, error) {
	addresses := f.req.Inputs
	if len(addresses) == 0 {
		if f.req.View.SourceDef.Path == "" {
			return nil, feature.Errorf(feature.CodeFailedPrecondition, "ingest", f.req.View.Subject(),
				"there is nothing to read: the view's source has no path, and no files are given")
		}
		addresses = []string{f.req.View.SourceDef.Path}
	}
	return find.resolve(ctx, addresses)
}

// read reads all inputs into the append.
func (f *fileRun) read(ctx context.Context, inputs []*input, app *offline.Appender) error {
	r := f.i.reader(bindFiles(f.req.View, f.i.now()))
	for _, in := range inputs {
		f.sum.Files++
		for b, err := range r.batches(ctx, in) {
			if err != nil {
				return err
			}
			if err := f.take(ctx, b, app); err != nil {
				return err
			}
			f.sum.Bytes = r.bytes.Load()
			if f.req.Progress != nil {
				f.req.Progress(Progress{Rows: f.sum.Read, Bytes: f.sum.Bytes, TotalBytes: f.total, File: in.name})
			}
		}
	}
	return nil
}

// take counts a batch and appends what was accepted. A strict request that has
// failed is read on only to tell what else is wrong.
func (f *fileRun) take(ctx context.Context, b *batch, app *offline.Appender) error {
	f.sum.Read += b.read
	f.sum.Rejected += b.rejected
	f.sum.Skipped += b.skipped
	f.sum.Accepted += b.record.NumRows()
	if room := MaxRejections - len(f.sum.Rejections); room > 0 {
		f.sum.Rejections = append(f.sum.Rejections, b.rejections[:min(room, len(b.rejections))]...)
	}
	if err := f.dead.add(b.rejections); err != nil {
		return err
	}
	if f.req.Strict && f.sum.Rejected > 0 || b.record.NumRows() == 0 {
		return nil
	}
	return app.Write(ctx, b.record)
}

// land keeps the dead letters and then commits: a crash between the two leaves
// letters of rows that did not land, and the next run writes them again.
func (f *fileRun) land(ctx context.Context, app *offline.Appender) error {
	kept, err := f.dead.keep()
	if err != nil {
		return errors.Join(err, app.Abort(ctx))
	}
	f.sum.DeadLetters = kept
	if f.req.Strict && f.sum.Rejected > 0 {
		return errors.Join(refused(f.req.View, f.sum.Read, f.sum.Rejected, f.sum.Rejections), app.Abort(ctx))
	}
	res, err := app.Commit(ctx)
	if err != nil {
		return err
	}
	f.sum.Version, f.sum.Repeated = res.Version, res.Repeated
	return nil
}

// refused is the error of a strict request.
func refused(v *feature.BoundView, read, rejected int64, first []Rejection) error {
	faults := make([]feature.Fault, 0, len(first))
	for i := range first {
		r := &first[i]
		field := fmt.Sprintf("%s row %d", r.Source, r.Row)
		if r.Field != "" {
			field += " " + r.Field
		}
		faults = append(faults, feature.Fault{Field: field, Detail: r.Reason})
	}
	return &feature.Error{
		Code: feature.CodeInvalidArgument, Op: "ingest", Subject: v.Subject(), Faults: faults,
		Err: fmt.Errorf("%d of %d rows are rejected, and strict takes all or none", rejected, read),
	}
}
