package ingest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/granary-ml/granary/feature"
)

// dialect is how a CSV is spelled.
//
// The grammar is that of RFC 4180, read with these decisions. A quote opens a
// quoted cell only as the first character of a cell; anywhere else in an
// unquoted cell it is a character. A doubled quote in a quoted cell is one
// quote. Anything between a closing quote and the next delimiter makes the row
// a fault. A record ends with LF or CRLF outside of quotes; empty lines are no
// records.
type dialect struct {
	delimiter []byte // one character
	quote     byte
	quoting   bool
	nulls     [][]byte
	delimiter8,
	newline8 uint64 // the first byte of each, eight times
}

func newDialect(o feature.CSVOptions) *dialect {
	d := &dialect{delimiter: []byte(","), quote: '"', quoting: true}
	if o.Delimiter != "" {
		d.delimiter = []byte(o.Delimiter)
	}
	switch o.Quote {
	case "":
	case "none":
		d.quoting = false
	default:
		d.quote = o.Quote[0]
	}
	for _, word := range o.Nulls {
		d.nulls = append(d.nulls, []byte(word))
	}
	d.delimiter8, d.newline8 = uint64(d.delimiter[0])*lowBits, uint64('\n')*lowBits
	return d
}

// recordsEnd returns where the last record that is whole ends in buf, which
// begins with a record; 0 if none is whole. open tells that a quoted cell is
// not closed in buf.
func (d *dialect) recordsEnd(buf []byte) (end int, open bool) {
	from := 0 // where the search outside of quotes stands
	for {
		q := -1
		if d.quoting {
			q = bytes.IndexByte(buf[from:], d.quote)
		}
		if q < 0 {
			if i := bytes.LastIndexByte(buf[from:], '\n'); i >= 0 {
				return from + i + 1, false
			}
			return end, false
		}
		q += from
		if i := bytes.LastIndexByte(buf[from:q], '\n'); i >= 0 {
			end = from + i + 1
		}
		from = q + 1
		if q == 0 || buf[q-1] == '\n' || bytes.HasSuffix(buf[:q], d.delimiter) {
			closing, _ := d.closingQuote(buf, from)
			if closing < 0 {
				return end, true
			}
			from = closing + 1
		}
	}
}

// closingQuote returns where the quoted cell that begins at from is closed, -1
// if it is not, and whether it holds doubled quotes.
func (d *dialect) closingQuote(buf []byte, from int) (at int, doubled bool) {
	for {
		q := bytes.IndexByte(buf[from:], d.quote)
		if q < 0 {
			return -1, doubled
		}
		from += q + 1
		if from >= len(buf) || buf[from] != d.quote {
			return from - 1, doubled
		}
		doubled = true
		from++
	}
}

// cell reads the cell at pos. It returns where the text after it goes on, and
// whether that is a new record; ok is false for what follows a closing quote.
func (d *dialect) cell(buf []byte, pos int) (s span, next int, last, ok bool) {
	if d.quoting && pos < len(buf) && buf[pos] == d.quote {
		closing, doubled := d.closingQuote(buf, pos+1)
		if closing < 0 {
			closing = len(buf) // the reader of chunks has told it
		}
		s = makeSpan(pos+1, closing, spanQuoted)
		if doubled {
			s.n |= spanEscaped
		}
		pos = min(closing+1, len(buf))
		end, next, last := d.unquoted(buf, pos)
		return s, next, last, end == pos
	}
	end, next, last := d.unquoted(buf, pos)
	if end == pos {
		return null, next, last, true
	}
	return makeSpan(pos, end, 0), next, last, true
}

func makeSpan(start, end int, flags uint32) span {
	return span{off: uint32(start), n: uint32(end-start) | flags} //nolint:gosec // a chunk has at most maxChunk bytes
}

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// unquoted finds the end of the unquoted cell at pos, eight bytes at a time: a
// byte of x is zero where the text has the byte looked for, and the lowest bit
// that the formula leaves belongs to the first such byte.
func (d *dialect) unquoted(buf []byte, pos int) (end, next int, last bool) {
	for i := pos; ; {
		for i+8 <= len(buf) {
			word := binary.LittleEndian.Uint64(buf[i:])
			x, y := word^d.delimiter8, word^d.newline8
			if hit := ((x-lowBits)&^x | (y-lowBits)&^y) & highBits; hit != 0 {
				i += bits.TrailingZeros64(hit) >> 3
				break
			}
			i += 8
		}
		for i < len(buf) && buf[i] != d.delimiter[0] && buf[i] != '\n' {
			i++
		}
		switch {
		case i >= len(buf):
			return trimCR(buf, pos, i), i, true
		case buf[i] == '\n':
			return trimCR(buf, pos, i), i + 1, true
		case len(d.delimiter) == 1 || bytes.HasPrefix(buf[i:], d.delimiter):
			return i, i + len(d.delimiter), false
		}
		i++
	}
}

// trimCR returns end without the CR of a CRLF.
func trimCR(buf []byte, pos, end int) int {
	if end > pos && buf[end-1] == '\r' {
		return end - 1
	}
	return end
}

// header reads the first record of buf and returns the names in it and what
// follows it. Without any record names is nil.
func (d *dialect) header(buf []byte) (names []string, rest []byte, err error) {
	pos := skipBlank(buf, 0)
	if pos == len(buf) {
		return nil, nil, nil
	}
	c := cells{buf: buf, quote: d.quote}
	for last := false; !last; {
		var s span
		var ok bool
		if s, pos, last, ok = d.cell(buf, pos); !ok {
			return nil, nil, fmt.Errorf("the header has a character after a closing quote, in column %d", len(names)+1)
		}
		name := c.undouble(nil, s)
		if s.n&spanEscaped == 0 {
			name = c.text(s)
		}
		if !utf8.Valid(name) {
			return nil, nil, fmt.Errorf("the name of column %d is not valid UTF-8", len(names)+1)
		}
		names = append(names, string(name))
	}
	return names, buf[pos:], nil
}

// skipBlank returns where the first line that is not empty begins.
func skipBlank(buf []byte, pos int) int {
	for pos < len(buf) {
		switch {
		case buf[pos] == '\n':
			pos++
		case buf[pos] == '\r' && (pos+1 == len(buf) || buf[pos+1] == '\n'):
			pos++
		default:
			return pos
		}
	}
	return pos
}

// split cuts a chunk of records into the columns of c. slots says for each
// column of the file which column of c it is, -1 for none.
func (d *dialect) split(buf []byte, slots []int, c *cells) {
	c.syntax, c.quote = &csvSyntax, d.quote
	c.reset(buf, bytes.Count(buf, newline)+1)
	row := 0
	for pos := skipBlank(buf, 0); pos < len(buf); pos = skipBlank(buf, pos) {
		start, column, clean := pos, 0, true
		for last := false; !last; column++ {
			var s span
			var ok bool
			s, pos, last, ok = d.cell(buf, pos)
			clean = clean && ok
			if column < len(slots) && slots[column] >= 0 {
				c.cols[slots[column]][row] = s
			}
		}
		c.starts = append(c.starts, uint32(start))                              //nolint:gosec // within a chunk
		c.ends = append(c.ends, uint32(trimCR(buf, start, beforeLF(buf, pos)))) //nolint:gosec // within a chunk
		switch {
		case !clean:
			c.fault(row, "a character follows a closing quote")
		case column != len(slots):
			c.fault(row, fmt.Sprintf("%d cells where the header has %d", column, len(slots)))
		}
		row++
	}
	c.cut(row)
	if len(d.nulls) > 0 {
		d.markNulls(c)
	}
}

func beforeLF(buf []byte, pos int) int {
	if pos > 0 && buf[pos-1] == '\n' {
		return pos - 1
	}
	return pos
}

// markNulls makes the null words of the source null, where they are not quoted.
func (d *dialect) markNulls(c *cells) {
	for _, spans := range c.cols {
		for i, s := range spans {
			if s.n&(spanNull|spanQuoted) != 0 {
				continue
			}
			text := c.text(s)
			for _, word := range d.nulls {
				if bytes.Equal(text, word) {
					spans[i] = null
				}
			}
		}
	}
}
