package delta

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
)

type statsJSON struct {
	NumRecords  *int64                    `json:"numRecords,omitzero"`
	TightBounds *bool                     `json:"tightBounds,omitzero"`
	MinValues   map[string]jsontext.Value `json:"minValues,omitzero"`
	MaxValues   map[string]jsontext.Value `json:"maxValues,omitzero"`
	NullCount   map[string]jsontext.Value `json:"nullCount,omitzero"`
}

// encodeStats writes statistics as Delta does; nil if nothing is known. Bounds
// are left out where JSON or the protocol has no way to say them: bytes, bools,
// lists, floats that are not finite, and timestamps whose millisecond above lies
// beyond the year 9999.
func encodeStats(s *Stats) (*string, error) {
	out := statsJSON{
		MinValues: map[string]jsontext.Value{}, MaxValues: map[string]jsontext.Value{}, NullCount: map[string]jsontext.Value{},
	}
	if s.Rows < 0 && len(s.Columns) == 0 {
		return nil, nil //nolint:nilnil // no statistics are no member of the action
	}
	if s.Rows >= 0 {
		out.NumRecords = &s.Rows
	}
	for name := range s.Columns {
		c := s.Columns[name]
		if v := lowerBound(c.Min); v != nil {
			out.MinValues[name] = v
		}
		if v := upperBound(c.Max); v != nil {
			out.MaxValues[name] = v
		}
		if c.Nulls >= 0 {
			out.NullCount[name] = feature.Int64Value(c.Nulls).AppendJSON(nil)
		}
	}
	data, err := marshal(out)
	text := string(data)
	return &text, err
}

// maxBoundText is how many bytes of a text stand in a bound.
const maxBoundText = 64

func lowerBound(v feature.Value) jsontext.Value {
	switch {
	case v.IsNull() || !v.Type().IsScalar():
	case v.Type().Kind == feature.KindString:
		return textValue(clip(v.Text()))
	case v.Type().Kind == feature.KindTimestamp:
		return timestampText(floorMillis(v.Timestamp()))
	default:
		return numberText(v)
	}
	return nil
}

// upperBound raises what it cannot say exactly: a timestamp to the millisecond
// above, a long text to its beginning followed by the largest character.
func upperBound(v feature.Value) jsontext.Value {
	switch {
	case v.IsNull() || !v.Type().IsScalar():
	case v.Type().Kind == feature.KindString:
		text := v.Text()
		head := clip(text)
		// A beginning that goes on with the largest character is not below
		// itself and that character: take those in, too.
		for strings.HasPrefix(text[len(head):], maxRune) {
			head = text[:len(head)+len(maxRune)]
		}
		if len(head) < len(text) {
			head += maxRune
		}
		return textValue(head)
	case v.Type().Kind == feature.KindTimestamp:
		return timestampText(-floorMillis(-v.Timestamp()))
	default:
		return numberText(v)
	}
	return nil
}

const maxRune = string(utf8.MaxRune)

func clip(text string) string {
	if len(text) <= maxBoundText {
		return text
	}
	end := maxBoundText
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

func timestampText(ms int64) jsontext.Value {
	t := fromMillis(ms)
	if !t.Valid() {
		return nil
	}
	return textValue(t.Time().Format("2006-01-02T15:04:05.000Z"))
}

func numberText(v feature.Value) jsontext.Value {
	switch v.Type().Kind {
	case feature.KindInt32, feature.KindInt64:
		return v.AppendJSON(nil)
	case feature.KindFloat32, feature.KindFloat64:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return v.AppendJSON(nil)
		}
	case feature.KindInvalid, feature.KindBool, feature.KindString, feature.KindBytes, feature.KindTimestamp:
	}
	return nil
}

// decodeStats reads statistics for the columns that are known. They only ever
// help, so what does not parse is unknown, and never an error.
func decodeStats(text *string, fields map[string]feature.Type) Stats {
	unknown := Stats{Rows: -1}
	if text == nil || *text == "" {
		return unknown
	}
	var raw statsJSON
	if err := json.Unmarshal([]byte(*text), &raw); err != nil {
		return unknown
	}
	out := Stats{Rows: -1, Columns: map[string]ColumnStats{}}
	if raw.NumRecords != nil {
		out.Rows = *raw.NumRecords
	}
	exactNulls := raw.TightBounds == nil || *raw.TightBounds
	for name, t := range fields {
		low, hasLow := raw.MinValues[name]
		high, hasHigh := raw.MaxValues[name]
		nulls, hasNulls := raw.NullCount[name]
		if !hasLow && !hasHigh && !hasNulls {
			continue
		}
		c := ColumnStats{Min: readBound(t, low, -1), Max: readBound(t, high, 1), Nulls: -1}
		if n, err := feature.ParseInt(string(nulls), 64); err == nil && n >= 0 && exactNulls {
			c.Nulls = n
		}
		out.Columns[name] = c
	}
	return out
}

// readBound reads a bound; side is -1 for a lower and 1 for an upper one.
func readBound(t feature.Type, raw jsontext.Value, side int) feature.Value {
	null := feature.Null(t)
	if len(raw) == 0 || !t.IsScalar() {
		return null
	}
	var v feature.Value
	var err error
	switch t.Kind {
	case feature.KindInt32, feature.KindInt64, feature.KindFloat32, feature.KindFloat64:
		if raw.Kind() != '0' {
			return null
		}
		v, err = feature.ParseNumber(t, string(raw))
	case feature.KindString:
		if raw.Kind() != '"' {
			return null
		}
		v, err = feature.ParseString(t, textOf(raw))
	case feature.KindTimestamp:
		return readTimestampBound(textOf(raw), side)
	case feature.KindInvalid, feature.KindBool, feature.KindBytes:
		return null
	}
	if err != nil {
		return null
	}
	return v
}

// What writers lose of a timestamp on its way into the statistics. Most cut it
// to the millisecond, so that a maximum lies up to a millisecond below a value.
// Some write it in a local zone, whose offset of older days had seconds, and
// leave the seconds out, so that both bounds are up to 59 s off.
const (
	cutMillisecond = time.Millisecond
	cutOffset      = 59 * time.Second
)

// readTimestampBound widens a bound by what its writer may have cut. A text
// without a zone is none: it could mean any.
func readTimestampBound(text string, side int) feature.Value {
	null := feature.Null(feature.TimestampType)
	utc := strings.HasSuffix(text, "Z") || strings.HasSuffix(text, "+00:00")
	if !utc && !hasOffset(text) {
		return null
	}
	t, err := feature.ParseTimestamp(text)
	if err != nil {
		return null
	}
	var slack time.Duration
	if !utc {
		slack = cutOffset
	}
	if side > 0 {
		slack += cutMillisecond
	}
	return feature.TimestampValue(t.Add(time.Duration(side) * slack))
}

// hasOffset tells whether text ends in an offset such as +05:53 or -0330.
func hasOffset(text string) bool {
	sign := strings.LastIndexAny(text, "+-")
	return sign > len("2006-01-02")
}
