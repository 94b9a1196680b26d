package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// textSpine reads a spine of text twice: once to learn its columns and their
// types, once to decode them.
type textSpine struct {
	ctx    func() error
	in     *input
	o      SpineOptions
	names  []string
	types  []feature.Type
	nulls  []bool // the column has a null
	schema *arrow.Schema
}

// chunks are a text cut into cells, chunk by chunk; each is good until the next.
type chunks = iter.Seq2[*cells, error]

func (t *textSpine) open(ctx context.Context, c *content) (*arrow.Schema, iter.Seq2[arrow.Record, error], error) {
	if t.in.format == feature.FormatJSON {
		return t.document(c)
	}
	cut, err := t.learnNames(ctx, c)
	if err != nil {
		return nil, nil, err
	}
	if err := t.learnTypes(cut(ctx)); err != nil {
		return nil, nil, err
	}
	return t.schema, t.records(cut(ctx)), nil
}

// again opens the input anew.
func (t *textSpine) again(ctx context.Context, cut func(c *content) chunks) chunks {
	return func(yield func(*cells, error) bool) {
		c, err := openContent(ctx, t.in, new(atomic.Int64))
		if err != nil {
			yield(nil, err)
			return
		}
		defer func() { _ = c.Close() }() // it was only read
		cut(c)(yield)
	}
}

// learnNames reads the names of the columns, and returns how the text is cut.
func (t *textSpine) learnNames(ctx context.Context, c *content) (func(ctx context.Context) chunks, error) {
	if t.in.format == feature.FormatCSV {
		d := newDialect(t.o.CSV)
		var err error
		if t.names, err = t.header(c, d); err != nil {
			return nil, err
		}
		return func(ctx context.Context) chunks {
			return t.again(ctx, func(c *content) chunks { return t.csv(c, d) })
		}, nil
	}
	if err := t.memberNames(ctx, c); err != nil {
		return nil, err
	}
	return func(ctx context.Context) chunks {
		return t.again(ctx, func(c *content) chunks { return t.ndjson(c) })
	}, nil
}

func (t *textSpine) chunker(c *content, cut func([]byte) (int, bool)) (*chunker, error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	return &chunker{r: contextReader{ctx: t.ctx, r: text}, cut: cut, size: defaultChunkBytes, max: defaultMaxRecordBytes}, nil
}

func (t *textSpine) header(c *content, d *dialect) ([]string, error) {
	text, err := t.chunker(c, d.recordsEnd)
	if err != nil {
		return nil, err
	}
	names, _, err := text.header(d)
	if err != nil {
		return nil, err
	}
	var faults []feature.Fault
	for _, name := range twice(names) {
		faults = append(faults, feature.Fault{Field: name, Detail: "the column occurs twice"})
	}
	return names, feature.Invalid("ingest", t.in.name, faults)
}

func (t *textSpine) csv(c *content, d *dialect) chunks {
	return func(yield func(*cells, error) bool) {
		text, err := t.chunker(c, d.recordsEnd)
		if err != nil {
			yield(nil, err)
			return
		}
		slots := identity(len(t.names))
		out := newCells(len(t.names))
		_, chunk, err := text.header(d)
		for ; !errors.Is(err, io.EOF); chunk, err = text.next() {
			if err == nil {
				d.split(chunk, slots, out)
			}
			if !yield(out, err) || err != nil {
				return
			}
			text.put(chunk)
		}
	}
}

func (t *textSpine) ndjson(c *content) chunks {
	return func(yield func(*cells, error) bool) {
		text, err := t.chunker(c, linesEnd)
		if err != nil {
			yield(nil, err)
			return
		}
		members := make(map[string]int, len(t.names))
		for i, name := range t.names {
			members[name] = i
		}
		splitter, out := newJSONSplitter(members, true), newCells(len(t.names))
		for {
			chunk, err := text.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if err == nil {
				splitter.split(chunk, out)
			}
			if !yield(out, err) || err != nil {
				return
			}
			text.put(chunk)
		}
	}
}

// memberNames reads the names of all members, in order of first sight. What is
// no object is told by the pass that reads the values.
func (t *textSpine) memberNames(_ context.Context, c *content) error {
	text, err := t.chunker(c, linesEnd)
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for {
		chunk, err := text.next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		for line := range bytes.Lines(chunk) {
			t.namesOf(line, seen)
		}
		text.put(chunk)
	}
}

func (t *textSpine) namesOf(line []byte, seen map[string]bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(slices.Clip(line)))
	if dec.PeekKind() != '{' {
		return
	}
	if _, err := dec.ReadToken(); err != nil {
		return
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return
		}
		if name := token.String(); !seen[name] {
			seen[name] = true
			t.names = append(t.names, name)
		}
		if dec.SkipValue() != nil {
			return
		}
	}
}

// document reads a spine that is one JSON document of columns.
func (t *textSpine) document(c *content) (*arrow.Schema, iter.Seq2[arrow.Record, error], error) {
	text, err := c.text()
	if err != nil {
		return nil, nil, err
	}
	doc, err := io.ReadAll(io.LimitReader(contextReader{ctx: t.ctx, r: text}, maxChunk+1))
	switch {
	case err != nil:
		return nil, nil, err
	case len(doc) > maxChunk:
		return nil, nil, feature.Errorf(feature.CodeTooLarge, "ingest", t.in.name, "a JSON document of more than %d bytes (send NDJSON, Arrow or Parquet)", maxChunk)
	}
	names, spans, err := readColumns(doc)
	if err != nil {
		return nil, nil, err
	}
	t.names = names
	out := newCells(len(names))
	setColumns(doc, out, identity(len(names)), spans)
	one := func(yield func(*cells, error) bool) { yield(out, nil) }
	if err := t.learnTypes(one); err != nil {
		return nil, nil, err
	}
	return t.schema, t.records(one), nil
}

func identity(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// learnTypes settles the type of each column: that of the join key of its name,
// a timestamp for the time column, else what holds all values.
func (t *textSpine) learnTypes(in chunks) error {
	guesses := make([]guess, len(t.names))
	t.nulls = make([]bool, len(t.names))
	for c, err := range in {
		if err != nil {
			return err
		}
		if len(c.faults) > 0 {
			return t.refuse(c, 0, c.faults)
		}
		for k := range t.names {
			t.nulls[k] = guesses[k].look(c, k) || t.nulls[k]
		}
	}
	fields := make([]arrow.Field, len(t.names))
	t.types = make([]feature.Type, len(t.names))
	var faults []feature.Fault
	for k, name := range t.names {
		t.types[k] = guesses[k].settle()
		if i := slices.IndexFunc(t.o.Keys, func(key feature.JoinKey) bool { return key.Name == name }); i >= 0 {
			t.types[k] = t.o.Keys[i].Type
		} else if name == t.o.TimeColumn {
			t.types[k] = feature.TimestampType
		}
		if t.types[k] == (feature.Type{}) {
			faults = append(faults, feature.Fault{Field: name, Detail: "values of several kinds, or arrays or objects (send Arrow or Parquet)"})
			continue
		}
		fields[k] = arrow.Field{Name: name, Type: columns.DataType(t.types[k]), Nullable: true}
	}
	if len(faults) > 0 {
		return feature.Invalid("ingest", t.in.name, faults)
	}
	t.schema = arrow.NewSchema(fields, nil)
	return nil
}

// records decodes the chunks. A value that its column cannot hold ends them.
func (t *textSpine) records(in chunks) iter.Seq2[arrow.Record, error] {
	return func(yield func(arrow.Record, error) bool) {
		rows := int64(0)
		for c, err := range in {
			var rec arrow.Record
			if err == nil {
				rec, err = t.record(c, rows)
				rows += int64(c.rows())
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

func (t *textSpine) record(c *cells, before int64) (arrow.Record, error) {
	arrays := make([]arrow.Array, len(t.names))
	for k := range arrays {
		arrays[k] = c.decode(k, t.types[k], k)
	}
	if len(c.faults) > 0 {
		return nil, t.refuse(c, before, c.faults)
	}
	return array.NewRecord(t.schema, arrays, int64(c.rows())), nil
}

// refuse tells what is wrong with the rows of a spine, which cannot be taken in
// part.
func (t *textSpine) refuse(_ *cells, before int64, faults []fault) error {
	out := make([]feature.Fault, 0, MaxRejections)
	for _, f := range faults[:min(len(faults), MaxRejections)] {
		field := fmt.Sprintf("row %d", before+int64(f.row)+1)
		switch {
		case f.column >= 0:
			field += " " + t.names[f.column]
		case f.field != "":
			field += " " + f.field
		}
		out = append(out, feature.Fault{Field: field, Detail: f.reason})
	}
	return &feature.Error{Code: feature.CodeInvalidArgument, Op: "ingest", Subject: t.in.name, Faults: out}
}

// guess is what the values of a column have been so far.
type guess struct {
	ints, floats, bools, texts, others bool
	inexact                            bool // an integer that no float64 is
}

// look looks at the values of a chunk and tells whether one is null.
func (g *guess) look(c *cells, k int) (nulls bool) {
	for _, s := range c.cols[k] {
		if s.n&spanNull != 0 {
			nulls = true
			continue
		}
		if g.texts {
			continue // nothing more to learn but nulls
		}
		text := c.text(s)
		quoted := s.n&spanQuoted != 0
		switch {
		case quoted && (c.syntax == &jsonSyntax || s.n&spanEscaped != 0):
			g.texts = true
		case string(text) == "true" || string(text) == "false":
			g.bools = true
		case wholeNumber(text):
			g.ints = true
			v, ok := fastInt(text)
			g.inexact = g.inexact || !ok || !feature.IntFitsFloat(v, 64)
			if !ok {
				g.others = c.syntax == &jsonSyntax
				g.texts = !g.others
			}
		case looksNumeric(text):
			g.floats = true
		case c.syntax == &jsonSyntax:
			g.others = true
		default:
			g.texts = true
		}
	}
	return nulls
}

// settle returns the type that holds all values; the zero Type if none does. A
// column without values is text.
func (g *guess) settle() feature.Type {
	kinds := 0
	for _, seen := range [...]bool{g.ints || g.floats, g.bools, g.texts, g.others} {
		if seen {
			kinds++
		}
	}
	switch {
	case g.others:
		return feature.Type{}
	case kinds > 1 && !g.texts:
		return feature.String
	case g.texts:
		return feature.String
	case g.bools:
		return feature.Bool
	case g.floats && !g.inexact:
		return feature.Float64
	case g.floats:
		return feature.String
	case g.ints:
		return feature.Int64
	}
	return feature.String
}

// wholeNumber tells whether text is an integer as it would be printed: no plus,
// no zeros in front, which would be lost.
func wholeNumber(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) == 0 || digits[0] == '0' && (len(digits) > 1 || len(text) > 1) {
		return false
	}
	for _, c := range digits {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// looksNumeric tells whether text is a number with a point or an exponent that
// float64 holds, and not with zeros in front.
func looksNumeric(text []byte) bool {
	digits := bytes.TrimPrefix(text, []byte("-"))
	if len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9' || !bytes.ContainsAny(text, ".eE") {
		return false
	}
	f, err := feature.ParseFloat(string(text), 64)
	return err == nil && !math.IsInf(f, 0)
}
