package feature

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// TTL is how long a row stays good after its event timestamp; 0 is for ever.
// Its text is a duration, days included: "90m", "6h", "7d", "1d12h".
type TTL time.Duration

// Oldest returns the earliest event timestamp that a reader at the given time
// may still be given: at − TTL, both ends inclusive.
func (ttl TTL) Oldest(at Timestamp) Timestamp {
	if ttl <= 0 {
		return math.MinInt64
	}
	return at.Add(-time.Duration(ttl))
}

// Covers tells whether a row of that event timestamp is good at the given
// time as far as its age goes; whether it lies in the future is not asked.
func (ttl TTL) Covers(event, at Timestamp) bool { return event >= ttl.Oldest(at) }

const day = 24 * time.Hour

// String returns the shortest text: "7d", "6h", "1d12h", "1m30s"; "0" for none.
func (ttl TTL) String() string {
	d := time.Duration(ttl)
	if d == 0 {
		return "0"
	}
	var b strings.Builder
	if d < 0 {
		b.WriteByte('-')
		d = -d
	}
	for _, u := range [...]struct {
		name string
		unit time.Duration
	}{{"d", day}, {"h", time.Hour}, {"m", time.Minute}} {
		if n := int64(d / u.unit); n > 0 {
			fmt.Fprintf(&b, "%d%s", n, u.name)
			d %= u.unit
		}
	}
	if d > 0 {
		b.WriteString(d.String())
	}
	return b.String()
}

// MarshalText implements encoding.TextMarshaler.
func (ttl TTL) MarshalText() ([]byte, error) { return []byte(ttl.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler by ParseTTL.
func (ttl *TTL) UnmarshalText(text []byte) error {
	v, err := ParseTTL(string(text))
	if err == nil {
		*ttl = v
	}
	return err
}

// ParseTTL reads what String writes, and any Go duration. A TTL is not
// negative and is a whole number of microseconds.
func ParseTTL(text string) (TTL, error) {
	bad := func(why string) (TTL, error) {
		return 0, fmt.Errorf("%q is not a TTL: %s (expected a duration such as 90m, 6h or 7d, or 0 for none)", clip(text), why)
	}
	rest, total := text, time.Duration(0)
	switch {
	case text == "":
		return bad("it is empty")
	case strings.ContainsAny(text, "+-"):
		return bad("it has a sign")
	}
	if digits, after, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || n > int64(math.MaxInt64/day) {
			return bad("the number of days cannot be read")
		}
		rest, total = after, time.Duration(n*int64(day))
	}
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil {
			return bad("it cannot be read")
		}
		total += d // both are at most the largest duration: too much is negative
	}
	if total < 0 {
		return bad("it is too long")
	}
	if total%time.Microsecond != 0 {
		return bad("it is finer than a microsecond")
	}
	return TTL(total), nil
}
