package ingest

import (
	"context"
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
)

// PushRequest asks to take rows that a client sends.
type PushRequest struct {
	View *feature.BoundView
	// Format is how Body is written; it is needed.
	Format  feature.Format
	Body    io.Reader
	Options wire.PushOptions
}

// Push takes the rows of a body. They go offline first and are durable there
// before they go online; an error tells which side has landed. A push that is
// repeated with its idempotency key adds nothing offline, and finishes what was
// missing online from the table.
func (i *Ingester) Push(ctx context.Context, req PushRequest) (wire.PushResult, error) {
	if !req.Options.Online && !req.Options.Offline {
		req.Options.Online, req.Options.Offline = i.o.Online != nil, true
	}
	if req.Options.Online && i.o.Online == nil {
		return wire.PushResult{}, feature.Errorf(feature.CodeFailedPrecondition, "ingest.Push", req.View.Subject(), "there is no online store")
	}
	p := &push{i: i, req: req, out: wire.PushResult{Version: -1, Rejected: []wire.Rejected{}}}
	if req.Options.Offline {
		version, landed, err := i.o.Offline.Landed(ctx, req.View, req.Options.IdempotencyKey)
		if err != nil {
			return p.out, err
		}
		if landed {
			err := p.repeat(ctx, version)
			return p.out, err
		}
	}
	err := p.do(ctx)
	return p.out, err
}

// push is one PushRequest that is being done.
type push struct {
	i   *Ingester
	req PushRequest
	out wire.PushResult
	// kept are the accepted rows, as long as they are few enough to wait in
	// memory for their turn online.
	kept      []arrow.Record
	keptBytes int64
	overflow  bool
}

// maxKeptBytes is how much of a push waits in memory once it is decoded; the
// rows of a larger one are decoded twice.
const maxKeptBytes = 16 << 20

func (p *push) do(ctx context.Context) error {
	body, size, err := p.spool(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // it has no name, and goes
	in := &input{name: "body", format: p.req.Format, size: size, open: func(context.Context) (blob, error) {
		_, err := body.Seek(0, io.SeekStart)
		return unclosed{body}, err
	}}
	now := p.i.now()
	bound := bindPush(p.req.View, now, now.Add(p.i.o.MaxFuture))
	var app *offline.Appender
	if p.req.Options.Offline {
		app, err = p.i.o.Offline.Append(ctx, p.req.View, offline.AppendOptions{IdempotencyKey: p.req.Options.IdempotencyKey, Operation: "PUSH"})
		if err != nil {
			return err
		}
	}
	if err := p.read(ctx, bound, in, app); err != nil {
		return abort(ctx, app, err)
	}
	if p.req.Options.Strict && len(p.out.Rejected) > 0 {
		return abort(ctx, app, p.refused())
	}
	return p.land(ctx, bound, in, app)
}

func abort(ctx context.Context, app *offline.Appender, err error) error {
	if app == nil {
		return err
	}
	return errors.Join(err, app.Abort(ctx))
}

// spoolFile is where a body lies while it is read.
type spoolFile interface {
	blob
	io.Seeker
}

// unclosed lends a body to a reader, which closes what it is given.
type unclosed struct{ spoolFile }

// Close implements blob.
func (unclosed) Close() error { return nil }

// memoryBody is the largest body that is kept in memory.
const memoryBody = 8 << 20

// spool takes the whole body: what is read twice, and formats that are read
// from their end, need it; and a body that breaks off has then done nothing.
func (p *push) spool(ctx context.Context) (spoolFile, int64, error) {
	body := contextReader{ctx: ctx.Err, r: p.req.Body}
	head, err := io.ReadAll(io.LimitReader(body, memoryBody))
	if err != nil {
		return nil, 0, inputError("body", err)
	}
	if len(head) < memoryBody {
		return newMemory(head), int64(len(head)), nil
	}
	f, size, err := spool(ctx, io.MultiReader(newMemory(head), body), p.i.o.TempDir)
	if err != nil {
		return nil, 0, inputError("body", err)
	}
	return f, size, nil
}

func (p *push) read(ctx context.Context, bound *binding, in *input, app *offline.Appender) error {
	for b, err := range p.i.reader(bound).batches(ctx, in) {
		if err != nil {
			return err
		}
		p.out.Accepted += b.record.NumRows()
		for j := range b.rejections {
			r := &b.rejections[j]
			p.out.Rejected = append(p.out.Rejected, wire.Rejected{Row: r.Row - 1, Field: r.Field, Reason: r.Reason})
		}
		p.keep(b.record)
		if app != nil && b.record.NumRows() > 0 {
			if err := app.Write(ctx, b.record); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *push) keep(rec arrow.Record) {
	if !p.req.Options.Online || p.overflow {
		return
	}
	for _, col := range rec.Columns() {
		p.keptBytes += arrayBytes(col.Data())
	}
	if p.keptBytes > maxKeptBytes {
		p.overflow, p.kept = true, nil
		return
	}
	p.kept = append(p.kept, rec)
}

// arrayBytes returns how much memory an array holds on to.
func arrayBytes(data arrow.ArrayData) int64 {
	n := int64(0)
	for _, b := range data.Buffers() {
		if b != nil {
			n += int64(b.Cap())
		}
	}
	for _, child := range data.Children() {
		n += arrayBytes(child)
	}
	return n
}

// land commits offline and then writes online.
func (p *push) land(ctx context.Context, bound *binding, in *input, app *offline.Appender) error {
	if app != nil {
		res, err := app.Commit(ctx)
		if err != nil {
			return err
		}
		p.out.Version = res.Version
		if res.Repeated {
			return p.repeat(ctx, res.Version)
		}
	}
	if !p.req.Options.Online {
		return nil
	}
	w := p.i.onlineWriter(p.req.View)
	err := p.writeOnline(ctx, w, bound, in)
	p.out.Superseded = w.stats.Superseded
	return p.half(err)
}

func (p *push) writeOnline(ctx context.Context, w *onlineWriter, bound *binding, in *input) error {
	for _, rec := range p.kept {
		if err := w.add(ctx, rec); err != nil {
			return err
		}
	}
	if p.overflow {
		for b, err := range p.i.reader(bound).batches(ctx, in) {
			if err != nil {
				return err
			}
			if err := w.add(ctx, b.record); err != nil {
				return err
			}
		}
	}
	return w.flush(ctx)
}

// half says of an error of the online side that the other has landed.
func (p *push) half(err error) error {
	if err == nil || !p.req.Options.Offline {
		return err
	}
	return feature.Errorf(feature.CodeOf(err), "ingest.Push", p.req.View.Subject(),
		"the rows are in the table (version %d) and not, or not all, online: push again with the same idempotency key, or materialize: %w", p.out.Version, err)
}

// repeat finishes a push that had landed in the table: its rows are written
// online from there, as they were created then.
func (p *push) repeat(ctx context.Context, version int64) error {
	p.out = wire.PushResult{Version: version, Repeated: true, Rejected: []wire.Rejected{}}
	if !p.req.Options.Online {
		return nil
	}
	rows, err := p.i.o.Offline.Newest(ctx, p.req.View, offline.NewestRequest{
		Only: version, Before: p.i.now().Add(p.i.o.MaxFuture) + 1,
	})
	if err != nil {
		return p.half(err)
	}
	defer rows.Release()
	w := p.i.onlineWriter(p.req.View)
	for rows.Next() {
		if err := w.add(ctx, rows.Record()); err != nil {
			return p.half(err)
		}
	}
	return p.half(errors.Join(rows.Err(), w.flush(ctx)))
}

// refused is the error of a strict push.
func (p *push) refused() error {
	first := make([]Rejection, 0, MaxRejections)
	rows := map[int64]bool{}
	for _, r := range p.out.Rejected {
		rows[r.Row] = true
		if len(first) < MaxRejections {
			first = append(first, Rejection{Source: "body", Row: r.Row, Field: r.Field, Reason: r.Reason})
		}
	}
	rejected := int64(len(rows))
	err := refused(p.req.View, p.out.Accepted+rejected, rejected, first)
	p.out.Accepted = 0
	return err
}
