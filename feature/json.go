package feature

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the value as native JSON writes it: integers exact; floats
// the shortest text that reads back equal, always with a point or an exponent;
// NaN and infinities the strings "NaN", "Infinity", "-Infinity"; bytes base64;
// timestamps RFC 3339 UTC; null null.
func (v Value) AppendJSON(dst []byte) []byte {
	if !v.set {
		return append(dst, "null"...)
	}
	if !v.typ.IsScalar() {
		dst = append(dst, '[')
		for i, e := range v.elems {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = e.AppendJSON(dst)
		}
		return append(dst, ']')
	}
	switch v.typ.Kind {
	case KindBool:
		return strconv.AppendBool(dst, v.Bool())
	case KindInt32, KindInt64:
		return strconv.AppendInt(dst, v.Int(), 10)
	case KindFloat32:
		return AppendFloatJSON(dst, v.Float(), 32)
	case KindFloat64:
		return AppendFloatJSON(dst, v.Float(), 64)
	case KindString:
		return AppendStringJSON(dst, v.text)
	case KindBytes:
		dst = append(dst, '"')
		dst = base64.StdEncoding.AppendEncode(dst, []byte(v.text))
		return append(dst, '"')
	case KindTimestamp:
		return append(v.Timestamp().AppendText(append(dst, '"')), '"')
	case KindInvalid:
	}
	return append(dst, "null"...)
}

// MarshalJSON implements json.Marshaler by AppendJSON.
func (v Value) MarshalJSON() ([]byte, error) { return v.AppendJSON(nil), nil }

// AppendFloatJSON appends f, a float of that many bits, as AppendJSON does.
func AppendFloatJSON(dst []byte, f float64, bits int) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(dst, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(dst, `"-Infinity"`...)
	}
	format := byte('f')
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	start := len(dst)
	dst = strconv.AppendFloat(dst, f, format, -1, bits)
	for _, c := range dst[start:] {
		if c == '.' || c == 'e' {
			return dst
		}
	}
	return append(dst, '.', '0')
}

const hexDigits = "0123456789abcdef"

// AppendStringJSON appends s, which is UTF-8, as a JSON string with no escapes
// beyond what JSON needs.
func AppendStringJSON[T ~string | ~[]byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		dst = append(dst, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(dst, s[start:]...), '"')
}

// ValidText tells whether s may be the value of a string: valid UTF-8.
func ValidText(s string) bool { return utf8.ValidString(s) }
