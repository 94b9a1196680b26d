package serving

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// span walks the elements of an array or the members of an object that is
// known to be valid JSON, without reading them. On anything else it stops
// early; it never reads beyond its bytes.
type span struct {
	rest []byte
}

// arrayOf walks the elements of a JSON array.
func arrayOf(raw jsontext.Value) span { return span{rest: raw[1:]} }

// objectOf walks the members of a JSON object.
func objectOf(raw jsontext.Value) span { return span{rest: raw[1:]} }

// next returns the next element of an array.
func (s *span) next() (jsontext.Value, bool) {
	rest := skipFiller(s.rest)
	end := valueEnd(rest)
	if end == 0 {
		s.rest = nil
		return nil, false
	}
	s.rest = rest[end:]
	return jsontext.Value(rest[:end:end]), true
}

// member returns the next member of an object: its name, still quoted, and its
// value.
func (s *span) member() (name, value jsontext.Value, ok bool) {
	if name, ok = s.next(); !ok {
		return nil, nil, false
	}
	value, ok = s.next()
	return name, value, ok
}

// skipFiller skips blanks, commas and colons: between the values of valid JSON
// there is nothing else.
func skipFiller(b []byte) []byte {
	for i, c := range b {
		switch c {
		case ' ', '\t', '\n', '\r', ',', ':':
		default:
			return b[i:]
		}
	}
	return nil
}

// valueEnd returns the length of the value that b starts with; 0 where an
// array, an object or b ends.
func valueEnd(b []byte) int {
	if len(b) == 0 {
		return 0
	}
	switch b[0] {
	case ']', '}':
		return 0
	case '"':
		return stringEnd(b)
	case '[', '{':
		return nestedEnd(b)
	}
	for i, c := range b {
		switch c {
		case ' ', '\t', '\n', '\r', ',', ']', '}':
			return i
		}
	}
	return len(b)
}

func stringEnd(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}

func nestedEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			end := stringEnd(b[i:])
			if end == 0 {
				return 0
			}
			i += end - 1
		}
	}
	return 0
}

// unquote returns the text of a JSON string; false if raw is another value.
func unquote(raw jsontext.Value) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if inner := raw[1 : len(raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), true
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return string(text), err == nil
}

// isString tells whether raw is the JSON string of text, without allocation
// where it is spelled without escapes.
func isString(raw jsontext.Value, text string) bool {
	if len(raw) >= 2 && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1:len(raw)-1]) == text
	}
	got, ok := unquote(raw)
	return ok && got == text
}
