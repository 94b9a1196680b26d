package feature

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Timestamp is an instant in microseconds since 1970-01-01T00:00:00Z.
type Timestamp int64

// The first and the last timestamp that is accepted anywhere:
// 0001-01-01T00:00:00Z and 9999-12-31T23:59:59.999999Z. Epoch is the event
// timestamp of every row of a static view.
const (
	MinTimestamp Timestamp = -62135596800000000
	MaxTimestamp Timestamp = 253402300799999999
	Epoch        Timestamp = 0
)

// FromTime returns t floored to the microsecond.
func FromTime(t time.Time) Timestamp {
	return Timestamp(t.Unix()*1e6 + int64(t.Nanosecond())/1000)
}

// FromNanos returns nanoseconds since the epoch floored to the microsecond:
// -1 ns is -1 us, never 0, so that no row is visible before its time.
func FromNanos(ns int64) Timestamp { return Timestamp(floorDiv(ns, 1000)) }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Valid tells whether t lies within MinTimestamp and MaxTimestamp.
func (t Timestamp) Valid() bool { return t >= MinTimestamp && t <= MaxTimestamp }

// Time returns t as a time in UTC.
func (t Timestamp) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// Add returns t+d, held within the range of int64.
func (t Timestamp) Add(d time.Duration) Timestamp {
	us := Timestamp(floorDiv(int64(d), 1000))
	sum := t + us
	if us > 0 && sum < t {
		return math.MaxInt64
	}
	if us < 0 && sum > t {
		return math.MinInt64
	}
	return sum
}

// String returns t in RFC 3339, UTC, with as many digits of the second as it
// needs: 0, 3 or 6.
func (t Timestamp) String() string { return string(t.AppendText(nil)) }

// AppendText appends String to dst.
func (t Timestamp) AppendText(dst []byte) []byte {
	layout := "2006-01-02T15:04:05.000000Z"
	switch {
	case floorMod(int64(t), 1e6) == 0:
		layout = "2006-01-02T15:04:05Z"
	case floorMod(int64(t), 1e3) == 0:
		layout = "2006-01-02T15:04:05.000Z"
	}
	return t.Time().AppendFormat(dst, layout)
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }

// MarshalText implements encoding.TextMarshaler.
func (t Timestamp) MarshalText() ([]byte, error) { return t.AppendText(nil), nil }

// UnmarshalText implements encoding.TextUnmarshaler by ParseTimestamp.
func (t *Timestamp) UnmarshalText(text []byte) error {
	v, err := ParseTimestamp(string(text))
	if err == nil {
		*t = v
	}
	return err
}

// timestampLayouts are what ParseTimestamp reads, tried in turn. A fraction is
// accepted after the seconds of each, as time.Parse does.
var timestampLayouts = [...]string{
	"2006-01-02T15:04:05Z07:00",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04:05Z0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02",
}

var errTimestampRange = errors.New("timestamp outside 0001-01-01 to 9999-12-31T23:59:59.999999Z")

// ParseTimestamp reads RFC 3339 and its relatives: a blank for the T, no
// seconds, no time of day. Text without a zone is UTC, whatever the zone of the
// process; digits beyond the microsecond are floored.
func ParseTimestamp(text string) (Timestamp, error) {
	norm := text
	if len(norm) > 10 && norm[10] == ' ' {
		norm = norm[:10] + "T" + norm[11:]
	}
	if local, ok := strings.CutSuffix(norm, " UTC"); ok {
		norm = local + "Z"
	}
	for _, layout := range timestampLayouts {
		t, err := time.ParseInLocation(layout, norm, time.UTC)
		if err != nil {
			continue
		}
		if us := FromTime(t); us.Valid() {
			return us, nil
		}
		return 0, errTimestampRange
	}
	return 0, fmt.Errorf("%q is not a timestamp (expected RFC 3339, such as 2024-01-01T10:00:00Z)", clip(text))
}

// clip shortens text for a message.
func clip(text string) string {
	const most = 80
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// Interval is the half-open span [Start, End) of timestamps.
type Interval struct {
	Start Timestamp `json:"start"`
	End   Timestamp `json:"end"`
}

// Always is the interval that holds every timestamp.
var Always = Interval{Start: math.MinInt64, End: math.MaxInt64}

// Contains tells whether t lies in the interval.
func (i Interval) Contains(t Timestamp) bool { return i.Start <= t && t < i.End }

// Empty tells whether the interval holds no timestamp.
func (i Interval) Empty() bool { return i.Start >= i.End }
