package ingest

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// linesEnd is the cut of NDJSON: no line feed stands within a JSON text but as
// blank space.
func linesEnd(text []byte) (end int, open bool) { return bytes.LastIndexByte(text, '\n') + 1, false }

// jsonSplitter cuts JSON objects, a row each, into cells. It belongs to one
// goroutine.
//
// Most rows are flat objects that name the same members in the same order, so
// an object is first tried by a scanner that knows only these: it guesses each
// name from the row before, and gives up at whatever is out of the ordinary
// (nested values, escapes in names, a fault of any kind). What it gives up is
// read by the strict decoder, which decides.
type jsonSplitter struct {
	members map[string]int // the column of each member
	exact   bool           // members that are not known are faults

	guess []member       // the members of the row before, in order
	ids   map[string]int // a number for each name seen
	seen  []uint64       // by number, the last row that had it
	row   uint64         // rows so far, to compare with seen
}

// member is a name and which column it is.
type member struct {
	name   string
	id     int
	column int // -1 for none
}

// unknownColumn is the column of a member that the view does not have.
const unknownColumn = -1

// maxNames bounds the names that are remembered; objects with others go to the
// strict decoder.
const maxNames = 1024

func newJSONSplitter(members map[string]int, exact bool) *jsonSplitter {
	return &jsonSplitter{members: members, exact: exact, ids: map[string]int{}}
}

// split cuts a chunk of lines. Lines of blanks are no rows.
func (j *jsonSplitter) split(buf []byte, c *cells) {
	c.syntax = &jsonSyntax
	c.reset(buf, bytes.Count(buf, newline)+1)
	row := 0
	for pos := 0; pos < len(buf); {
		end := len(buf)
		if i := bytes.IndexByte(buf[pos:], '\n'); i >= 0 {
			end = pos + i
		}
		if start := skipSpace(buf[:end], pos); start < end {
			j.object(c, row, start, end)
			row++
		}
		pos = end + 1
	}
	c.cut(row)
}

// object cuts the object at buf[start:end] as the next row.
func (j *jsonSplitter) object(c *cells, row, start, end int) {
	for end > start && isSpace(c.buf[end-1]) {
		end--
	}
	c.starts = append(c.starts, uint32(start)) //nolint:gosec // within a chunk
	c.ends = append(c.ends, uint32(end))       //nolint:gosec // within a chunk
	c.clear(row)
	j.row++
	if c.utf8 && j.fast(c, row, start, end) {
		return
	}
	c.clear(row)
	if reason := j.strict(c, row, start, end); reason != "" {
		c.fault(row, reason)
	}
}

// strict cuts an object by the strict decoder; the result is what is wrong with
// it, or empty.
func (j *jsonSplitter) strict(c *cells, row, start, end int) string {
	dec := jsontext.NewDecoder(bytes.NewBuffer(c.buf[start:end:end]))
	if dec.PeekKind() != '{' {
		if _, err := dec.ReadValue(); err != nil {
			return jsonReason(err)
		}
		return "not a JSON object"
	}
	if _, err := dec.ReadToken(); err != nil {
		return jsonReason(err)
	}
	var unknown []fault
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return jsonReason(err)
		}
		name := token.String()
		value, err := dec.ReadValue()
		if err != nil {
			return jsonReason(err)
		}
		if k, ok := j.members[name]; ok {
			c.cols[k][row] = jsonSpan(value, start+int(dec.InputOffset()))
		} else if j.exact {
			unknown = append(unknown, fault{row: row, column: unknownColumn, field: name, reason: "there is no such column"})
		}
	}
	if _, err := dec.ReadToken(); err != nil {
		return jsonReason(err)
	}
	if _, err := dec.ReadToken(); !errors.Is(err, io.EOF) {
		return "not valid JSON: something follows the object"
	}
	c.faults = append(c.faults, unknown...)
	return ""
}

// jsonReason words what the strict decoder says about a row.
func jsonReason(err error) string {
	var syntactic *jsontext.SyntacticError
	switch {
	case !errors.As(err, &syntactic) || errors.Is(err, io.ErrUnexpectedEOF):
	case strings.Contains(syntactic.Err.Error(), "surrogate"):
		return "not valid JSON: a string holds a lone surrogate"
	default:
		return "not valid JSON: " + syntactic.Err.Error()
	}
	return "not valid JSON: it ends too early"
}

// jsonSpan returns the span of a value that ends at end.
func jsonSpan(value jsontext.Value, end int) span {
	start := end - len(value)
	if value.Kind() == 'n' {
		return null
	}
	if value.Kind() != '"' {
		return makeSpan(start, end, 0)
	}
	s := makeSpan(start+1, end-1, spanQuoted)
	if bytes.IndexByte(value, '\\') >= 0 {
		s.n |= spanEscaped
	}
	return s
}

// fast cuts a flat object; false if it is out of the ordinary, and then cells
// of the row may have been written.
func (j *jsonSplitter) fast(c *cells, row, start, end int) bool {
	buf := c.buf[:end]
	i := skipSpace(buf, start+1)
	if buf[start] != '{' || i >= end {
		return false
	}
	if buf[i] == '}' {
		return i+1 == end
	}
	for at := 0; ; at++ {
		m, next := j.name(buf, i, at)
		if next < 0 {
			return false
		}
		i = skipSpace(buf, next)
		if i >= end || buf[i] != ':' {
			return false
		}
		s, next := scanValue(buf, skipSpace(buf, i+1))
		if next < 0 {
			return false
		}
		if m.column >= 0 {
			c.cols[m.column][row] = s
		} else if j.exact {
			return false
		}
		i = skipSpace(buf, next)
		switch {
		case i >= end:
			return false
		case buf[i] == '}':
			return i+1 == end
		case buf[i] != ',':
			return false
		}
		i = skipSpace(buf, i+1)
	}
}

// name reads the name of member number at of a row, and returns where it ends;
// -1 if it is out of the ordinary or stood in the row before.
func (j *jsonSplitter) name(buf []byte, i, at int) (m member, next int) {
	if i >= len(buf) || buf[i] != '"' {
		return m, -1
	}
	if at < len(j.guess) {
		m = j.guess[at]
		if next = i + len(m.name) + 2; next <= len(buf) && buf[next-1] == '"' && string(buf[i+1:next-1]) == m.name {
			return m, j.first(m, next)
		}
	}
	n := plainText(buf[i+1:])
	if n < 0 {
		return m, -1
	}
	if m = j.member(string(buf[i+1 : i+1+n])); m.id < 0 {
		return m, -1
	}
	j.guess = append(j.guess[:min(at, len(j.guess))], m)
	return m, j.first(m, i+n+2)
}

// first returns next if m has not been in this row, else -1.
func (j *jsonSplitter) first(m member, next int) int {
	if j.seen[m.id] == j.row {
		return -1
	}
	j.seen[m.id] = j.row
	return next
}

// member returns the member of a name; its id is -1 if there are too many.
func (j *jsonSplitter) member(name string) member {
	column, known := j.members[name]
	if !known {
		column = unknownColumn
	}
	id, ok := j.ids[name]
	if !ok {
		if len(j.ids) >= maxNames {
			return member{id: -1}
		}
		id = len(j.ids)
		j.ids[name] = id
		j.seen = append(j.seen, math.MaxUint64)
	}
	return member{name: name, id: id, column: column}
}

// scanValue reads a flat value, and returns where it ends; -1 if it is out of
// the ordinary.
func scanValue(buf []byte, i int) (s span, next int) {
	if i >= len(buf) {
		return null, -1
	}
	switch c := buf[i]; c {
	case '"':
		n := plainText(buf[i+1:])
		if n < 0 {
			return null, -1
		}
		return makeSpan(i+1, i+1+n, spanQuoted), i + n + 2
	case 't', 'f', 'n':
		return scanLiteral(buf, i)
	default:
		end := scanNumber(buf, i)
		if end < 0 {
			return null, -1
		}
		return makeSpan(i, end, 0), end
	}
}

func scanLiteral(buf []byte, i int) (s span, next int) {
	for _, word := range [...]string{"null", "true", "false"} {
		if end := i + len(word); end <= len(buf) && string(buf[i:end]) == word {
			if word == "null" {
				return null, end
			}
			return makeSpan(i, end, 0), end
		}
	}
	return null, -1
}

// scanNumber returns where the JSON number at i ends, -1 if it is none.
func scanNumber(buf []byte, i int) int {
	if i < len(buf) && buf[i] == '-' {
		i++
	}
	start := i
	for i < len(buf) && buf[i]-'0' <= 9 {
		i++
	}
	if i == start || (buf[start] == '0' && i > start+1) {
		return -1
	}
	if i < len(buf) && buf[i] == '.' {
		i++
		start = i
		for i < len(buf) && buf[i]-'0' <= 9 {
			i++
		}
		if i == start {
			return -1
		}
	}
	if i < len(buf) && (buf[i] == 'e' || buf[i] == 'E') {
		return -1 // rare
	}
	return i
}

// plainText returns how long the text before the next quote is, -1 if it has an
// escape or a control character, or there is no quote.
func plainText(buf []byte) int {
	for i, c := range buf {
		switch {
		case c == '"':
			return i
		case c == '\\' || c < ' ':
			return -1
		}
	}
	return -1
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// skipSpace returns where the blanks at i end.
func skipSpace(buf []byte, i int) int {
	for i < len(buf) && isSpace(buf[i]) {
		i++
	}
	return i
}
