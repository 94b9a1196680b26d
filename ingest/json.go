package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
)

// json reads one document: an array of rows, or an object of columns of one
// length. It is read as a whole, because only its end tells that it is valid.
func (r *reader) json(ctx context.Context, c *content) (iter.Seq2[*batch, error], error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	doc, err := io.ReadAll(io.LimitReader(contextReader{ctx: ctx.Err, r: text}, maxChunk+1))
	switch {
	case err != nil:
		return nil, err
	case len(doc) > maxChunk:
		return nil, feature.Errorf(feature.CodeTooLarge, "ingest", c.in.name, "a JSON document of more than %d bytes (send NDJSON, Arrow or Parquet)", maxChunk)
	}
	cells := newCells(len(r.columns))
	if err := r.document(doc, cells); err != nil {
		return nil, err
	}
	out, err := r.decode(cells, r.all())
	if err != nil {
		return nil, err
	}
	out.lines = 0 // rows of a document are counted, not its lines
	for i := range out.rejections {
		out.rejections[i].Line = 0
	}
	return func(yield func(*batch, error) bool) { yield(out, nil) }, nil
}

// document cuts a document into cells.
func (r *reader) document(doc []byte, c *cells) error {
	c.syntax = &jsonSyntax
	return wholeDocument(doc, func(dec *jsontext.Decoder) error {
		if dec.PeekKind() == '[' {
			return r.rowsOf(dec, doc, c)
		}
		if dec.PeekKind() == '{' {
			return r.columnsOf(dec, doc, c)
		}
		if _, err := dec.ReadValue(); err != nil {
			return err
		}
		return errors.New("neither an array of rows nor an object of columns")
	})
}

// wholeDocument reads a document and makes sure that nothing follows it.
func wholeDocument(doc []byte, read func(dec *jsontext.Decoder) error) error {
	dec := jsontext.NewDecoder(bytes.NewBuffer(slices.Clip(doc)))
	err := read(dec)
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return nil
		} else if err == nil {
			err = errors.New("something follows the document")
		}
	}
	if _, ok := errors.AsType[*feature.Error](err); ok {
		return err
	}
	return feature.Errorf(feature.CodeInvalidArgument, "", "", "not valid JSON rows: %w", plainJSON(err))
}

// plainJSON words an error of the decoder without its package's name.
func plainJSON(err error) error {
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.As(err, &syntactic):
		return fmt.Errorf("at byte %d: %w", syntactic.ByteOffset, syntactic.Err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("it ends too early")
	}
	return err
}

// rowsOf cuts an array of objects.
func (r *reader) rowsOf(dec *jsontext.Decoder, doc []byte, c *cells) error {
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	var ends [][2]int
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return err
		}
		end := int(dec.InputOffset())
		ends = append(ends, [2]int{end - len(value), end})
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	c.reset(doc, len(ends))
	splitter := newJSONSplitter(r.members(), r.exact)
	for row, at := range ends {
		splitter.object(c, row, at[0], at[1])
	}
	return nil
}

// columnsOf cuts an object of arrays.
func (r *reader) columnsOf(dec *jsontext.Decoder, doc []byte, c *cells) error {
	names, spans, err := columnSpans(dec)
	if err != nil {
		return err
	}
	slots, err := r.resolve("", names)
	if err != nil {
		return err
	}
	setColumns(doc, c, slots, spans)
	return nil
}

// readColumns reads a document that is an object of columns.
func readColumns(doc []byte) (names []string, spans [][]span, err error) {
	err = wholeDocument(doc, func(dec *jsontext.Decoder) (err error) {
		if dec.PeekKind() != '{' {
			if _, err = dec.ReadValue(); err == nil {
				err = errors.New("not an object of columns")
			}
			return err
		}
		names, spans, err = columnSpans(dec)
		return err
	})
	return names, spans, err
}

// columnSpans reads an object of arrays. Its faults are told all at once.
func columnSpans(dec *jsontext.Decoder) (names []string, columns [][]span, err error) {
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	var faults []feature.Fault
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, nil, err
		}
		name := token.String()
		spans, err := arraySpans(dec)
		if err != nil {
			return nil, nil, err
		}
		if spans == nil {
			faults = append(faults, feature.Fault{Field: name, Detail: "not an array (expected columns of one length, or an array of rows)"})
		}
		names, columns = append(names, name), append(columns, spans)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	for i := range columns {
		if columns[i] != nil && columns[0] != nil && len(columns[i]) != len(columns[0]) {
			faults = append(faults, feature.Fault{Field: names[i], Detail: fmt.Sprintf("%d values where column %s has %d", len(columns[i]), names[0], len(columns[0]))})
		}
	}
	return names, columns, feature.Invalid("ingest", "", faults)
}

// setColumns makes cells of whole columns.
func setColumns(doc []byte, c *cells, slots []int, columns [][]span) {
	rows := 0
	if len(columns) > 0 {
		rows = len(columns[0])
	}
	c.syntax = &jsonSyntax
	c.reset(doc, rows)
	for row := range rows {
		c.starts, c.ends = append(c.starts, 0), append(c.ends, 0) // a row stands nowhere as one
		c.clear(row)
	}
	for i, k := range slots {
		if k >= 0 {
			copy(c.cols[k], columns[i])
		}
	}
}

// arraySpans reads an array; nil if the value is none.
func arraySpans(dec *jsontext.Decoder) ([]span, error) {
	if dec.PeekKind() != '[' {
		_, err := dec.ReadValue()
		return nil, err
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	spans := []span{}
	for dec.PeekKind() != ']' {
		value, err := dec.ReadValue()
		if err != nil {
			return nil, err
		}
		spans = append(spans, jsonSpan(value, int(dec.InputOffset())))
	}
	_, err := dec.ReadToken()
	return spans, err
}
