package ingest

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/strictjson"
)

// span is the text of one value in a chunk: an offset and a length, with flags
// in the bits that a length does not need.
type span struct {
	off uint32
	n   uint32
}

const (
	spanNull    = 1 << 31 // no value
	spanQuoted  = 1 << 30 // stood in quotes, which are not in the span
	spanEscaped = 1 << 29 // has escapes, which are to be undone
	spanFlags   = spanNull | spanQuoted | spanEscaped
	maxChunk    = spanEscaped - 1
)

// null is the span of no value.
var null = span{n: spanNull}

// syntax is what the two kinds of text differ in once they are cut into spans.
type syntax struct {
	// A span whose flags under numberMask are numberWant may be read by the
	// fast parsers of numbers; likewise text, copied as it is, and times.
	numberMask, numberWant uint32
	textMask, textWant     uint32
	// value reads any span, by the rules.
	value func(c *cells, s span, t feature.Type) (feature.Value, error)
	// unquote appends the text of a span with escapes to dst; false if the
	// span is no text.
	unquote func(dst []byte, c *cells, s span) ([]byte, bool)
}

// cells is a chunk of text cut into the values of some columns. It is used
// again for chunk after chunk, by one goroutine.
type cells struct {
	syntax *syntax
	buf    []byte
	utf8   bool // all of buf is UTF-8
	cols   [][]span
	starts []uint32 // where each row begins
	ends   []uint32 // and ends, without its line ending
	faults []fault
	quote  byte // of CSV
	tmp    []byte
}

func newCells(columns int) *cells { return &cells{cols: make([][]span, columns)} }

// fault is why a row of a chunk cannot be accepted.
type fault struct {
	row        int
	column     int    // of the view's table; -1 is the whole row, or
	field      string // a column that the view does not have
	reason     string
	incomplete bool // there is no key or no event timestamp
}

// reset makes c ready for a chunk of at most rows rows.
func (c *cells) reset(buf []byte, rows int) {
	c.buf, c.utf8 = buf, utf8.Valid(buf)
	for k := range c.cols {
		c.cols[k] = resize(c.cols[k], rows)
	}
	c.starts, c.ends, c.faults = c.starts[:0], c.ends[:0], c.faults[:0]
}

// cut says that the chunk has turned out to have rows rows.
func (c *cells) cut(rows int) {
	for k := range c.cols {
		c.cols[k] = c.cols[k][:rows]
	}
}

func resize(s []span, n int) []span {
	if cap(s) < n {
		return make([]span, n)
	}
	return s[:n]
}

// rows returns the number of rows.
func (c *cells) rows() int { return len(c.starts) }

// text returns what stands in a span, escapes and all.
func (c *cells) text(s span) []byte { return c.buf[s.off : s.off+s.n&^spanFlags] }

// locate returns the line that a row begins in, from 0, and the row as it
// stands in the source.
func (c *cells) locate(row int) (line int64, record []byte) {
	return int64(bytes.Count(c.buf[:c.starts[row]], newline)), c.buf[c.starts[row]:c.ends[row]]
}

var newline = []byte{'\n'}

// fault records a fault of a row as a whole and makes its values null.
func (c *cells) fault(row int, reason string) {
	c.faults = append(c.faults, fault{row: row, column: -1, reason: reason})
	c.clear(row)
}

func (c *cells) clear(row int) {
	for k := range c.cols {
		c.cols[k][row] = null
	}
}

// csvSyntax: a quoted cell is as good as an unquoted one.
var csvSyntax = syntax{
	numberMask: spanEscaped,
	textMask:   spanEscaped,
	value:      csvValue,
	unquote: func(dst []byte, c *cells, s span) ([]byte, bool) {
		return c.undouble(dst, s), true
	},
}

var errUTF8 = errors.New("text is not valid UTF-8")

func csvValue(c *cells, s span, t feature.Type) (feature.Value, error) {
	text := c.text(s)
	if s.n&spanEscaped != 0 {
		c.tmp = c.undouble(c.tmp[:0], s)
		text = c.tmp
	}
	if t.IsScalar() {
		return feature.ParseText(t, string(text))
	}
	raw := jsontext.Value(text)
	if !utf8.Valid(text) {
		return feature.Value{}, errUTF8
	}
	if !raw.IsValid() || raw.Kind() != '[' {
		return feature.Value{}, errors.New("not a JSON array where " + t.String() + " is expected")
	}
	return strictjson.Value(t, bytes.TrimSpace(raw))
}

// undouble appends a quoted cell with each doubled quote as one.
func (c *cells) undouble(dst []byte, s span) []byte {
	text := c.text(s)
	for {
		i := bytes.IndexByte(text, c.quote)
		if i < 0 {
			return append(dst, text...)
		}
		dst = append(dst, text[:i+1]...)
		text = text[min(i+2, len(text)):]
	}
}

// jsonSyntax: what stands in quotes is text, what does not is none.
var jsonSyntax = syntax{
	numberMask: spanQuoted | spanEscaped,
	textMask:   spanQuoted | spanEscaped,
	textWant:   spanQuoted,
	value:      jsonValue,
	unquote: func(dst []byte, c *cells, s span) ([]byte, bool) {
		if s.n&spanQuoted == 0 {
			return dst, false
		}
		out, err := jsontext.AppendUnquote(dst, c.raw(s))
		return out, err == nil
	},
}

// raw returns a span of JSON with its quotes.
func (c *cells) raw(s span) []byte {
	if s.n&spanQuoted != 0 {
		return c.buf[s.off-1 : s.off+s.n&^spanFlags+1]
	}
	return c.text(s)
}

func jsonValue(c *cells, s span, t feature.Type) (feature.Value, error) {
	return strictjson.Value(t, c.raw(s))
}
