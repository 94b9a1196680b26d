package feature

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

var errUTF8 = errors.New("text is not valid UTF-8")

// ParseText reads a scalar from plain text, such as a CSV cell or a command
// line argument. Text is taken as it is, never trimmed; bytes are base64.
func ParseText(t Type, text string) (Value, error) {
	if !t.IsScalar() {
		return Value{}, fmt.Errorf("%s cannot be read from plain text (expected a JSON array)", t)
	}
	switch t.Kind {
	case KindBool:
		return parseBool(text)
	case KindInt32, KindInt64:
		return parseIntValue(t, text)
	case KindFloat32, KindFloat64:
		return parseFloatValue(t, floatWord(text))
	case KindString:
		if !ValidText(text) {
			return Value{}, errUTF8
		}
		return StringValue(text), nil
	case KindBytes:
		raw, err := base64.StdEncoding.Strict().DecodeString(text)
		if err != nil {
			return Value{}, fmt.Errorf("%q is not base64", clip(text))
		}
		return BytesValue(raw), nil
	case KindTimestamp:
		ts, err := ParseTimestamp(text)
		return TimestampValue(ts), err
	case KindInvalid:
	}
	return Value{}, fmt.Errorf("no such type: %s", t)
}

// floatWord returns the word that the rules know for one that other programs
// write into plain text: nan, inf, -inf, in any case. Other text is returned as
// it is.
func floatWord(text string) string {
	word, sign := text, ""
	if len(word) > 0 && (word[0] == '-' || word[0] == '+') {
		word, sign = word[1:], strings.TrimPrefix(word[:1], "+")
	}
	switch {
	case strings.EqualFold(word, "nan") && sign == "":
		return "NaN"
	case strings.EqualFold(word, "inf"), strings.EqualFold(word, "infinity"):
		return sign + "Infinity"
	}
	return text
}

func parseBool(text string) (Value, error) {
	switch text {
	case "true", "True", "TRUE":
		return BoolValue(true), nil
	case "false", "False", "FALSE":
		return BoolValue(false), nil
	}
	return Value{}, fmt.Errorf("%q is not a bool (expected true or false)", clip(text))
}

func parseIntValue(t Type, text string) (Value, error) {
	if t.Kind == KindInt32 {
		v, err := ParseInt(text, 32)
		return Int32Value(int32(v)), err //nolint:gosec // read as 32 bits
	}
	v, err := ParseInt(text, 64)
	return Int64Value(v), err
}

func parseFloatValue(t Type, text string) (Value, error) {
	if t.Kind == KindFloat32 {
		v, err := ParseFloat(text, 32)
		return Float32Value(float32(v)), err
	}
	v, err := ParseFloat(text, 64)
	return Float64Value(v), err
}

// ParseNumber reads a JSON number into a numeric type.
func ParseNumber(t Type, text string) (Value, error) {
	switch {
	case !t.IsScalar():
	case t.Kind == KindInt32, t.Kind == KindInt64:
		return parseIntValue(t, text)
	case t.Kind == KindFloat32, t.Kind == KindFloat64:
		return parseFloatValue(t, text)
	}
	return Value{}, fmt.Errorf("number %s where %s is expected", clip(text), t)
}

// ParseString reads a JSON string into a type whose values are JSON strings:
// string, bytes (base64), timestamp (RFC 3339), and the words for the floats
// that are not finite. A number in quotes is not a number.
func ParseString(t Type, text string) (Value, error) {
	if t.IsScalar() {
		switch t.Kind {
		case KindString, KindBytes, KindTimestamp:
			return ParseText(t, text)
		case KindFloat32, KindFloat64:
			if text == "NaN" || text == "Infinity" || text == "-Infinity" {
				return parseFloatValue(t, text)
			}
		case KindInvalid, KindBool, KindInt32, KindInt64:
		}
	}
	return Value{}, fmt.Errorf("string %q where %s is expected", clip(text), t)
}
