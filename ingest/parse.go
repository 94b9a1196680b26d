package ingest

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unsafe"

	"github.com/granary-ml/granary/feature"
)

// The parsers of this file are the fast half of a pair: each accepts a part of
// what the rule in package feature accepts, and gives the same value. Whatever
// they turn down goes to the rule, which decides and words the reason.

// str views bytes as a string that must not outlive them.
func str(b []byte) string {
	return unsafe.String(unsafe.SliceData(b), len(b)) //nolint:gosec // it is read and forgotten within one call
}

// fastInt reads [-]digits of at most 18 digits.
func fastInt(b []byte) (int64, bool) {
	digits := b
	if len(b) > 0 && b[0] == '-' {
		digits = b[1:]
	}
	if len(digits) == 0 || len(digits) > 18 {
		return 0, false
	}
	var v int64
	for _, c := range digits {
		if c -= '0'; c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	if len(digits) != len(b) {
		v = -v
	}
	return v, true
}

// decimal is a number of plain digits: ±mantissa / 10^frac.
type decimal struct {
	neg      bool
	mantissa uint64 // wrong where digits > 19
	digits   int    // of the mantissa, or a few more where zeros lead
	frac     int    // digits after the point
	point    bool
	exponent bool // an exponent follows, which is not in the mantissa
}

// splitDecimal reads the grammar of a number: [-]digits[.digits][e[±]digits].
func splitDecimal(b []byte) (d decimal, ok bool) {
	i := 0
	if i < len(b) && b[i] == '-' {
		d.neg, i = true, 1
	}
	whole := i
	i = d.take(b, i)
	if i == whole {
		return d, false
	}
	if i < len(b) && b[i] == '.' {
		d.point = true
		start := i + 1
		i = d.take(b, start)
		if d.frac = i - start; d.frac == 0 {
			return d, false
		}
	}
	if i == len(b) {
		return d, true
	}
	d.exponent = true
	return d, exponentAt(b, i)
}

// take adds the digits at b[i:] to the mantissa and returns where they end.
func (d *decimal) take(b []byte, i int) int {
	for i+8 <= len(b) {
		v, ok := eightDigits(binary.LittleEndian.Uint64(b[i:]))
		if !ok {
			break
		}
		if d.mantissa = d.mantissa*1e8 + v; d.mantissa != 0 || d.digits != 0 {
			d.digits += 8
		}
		i += 8
	}
	for ; i < len(b); i++ {
		c := b[i] - '0'
		if c > 9 {
			break
		}
		d.mantissa = d.mantissa*10 + uint64(c)
		if d.mantissa != 0 || d.digits != 0 { // too many may add up to 0 in 64 bits
			d.digits++
		}
	}
	return i
}

// eightDigits reads eight characters at once, the first in the lowest byte. All
// are digits if the upper half of each byte is 3, and still is with 6 added to
// it. Then neighbours are joined to numbers of two digits, of four, of eight,
// each by one multiplication, whose upper part is 10 (100, 10,000) times the one
// plus the other.
func eightDigits(word uint64) (v uint64, ok bool) {
	const upper, six, threes = 0xf0f0f0f0f0f0f0f0, 0x0606060606060606, 0x3333333333333333
	if word&upper|(word+six)&upper>>4 != threes {
		return 0, false
	}
	word = word & 0x0f0f0f0f0f0f0f0f * (10<<8 + 1) >> 8
	word = word & 0x00ff00ff00ff00ff * (100<<16 + 1) >> 16
	word = word & 0x0000ffff0000ffff * (10000<<32 + 1) >> 32
	return word, true
}

// exponentAt tells whether b[i:] is an exponent.
func exponentAt(b []byte, i int) bool {
	if b[i] != 'e' && b[i] != 'E' {
		return false
	}
	i++
	if i < len(b) && (b[i] == '+' || b[i] == '-') {
		i++
	}
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		i++
	}
	return i == len(b) && i > start
}

// pow10 are the powers of ten that a float64 holds exactly.
var pow10 = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// fastFloat64 reads numbers. A mantissa and a power of ten that are both exact
// make a quotient that is rounded once, so it is the nearest.
func fastFloat64(b []byte) (float64, bool) {
	d, ok := splitDecimal(b)
	switch {
	case !ok:
		return 0, false
	case d.digits <= maxDigits && d.mantissa < 1<<bits64 && !d.exponent && d.frac < len(pow10):
		f := float64(d.mantissa)
		if d.frac > 0 {
			f /= pow10[d.frac]
		}
		return d.signed(f), true
	case d.digits <= maxDigits && d.frac > 0 && !d.exponent && d.frac < len(intPow10):
		return d.signed(nearest(d.mantissa, intPow10[d.frac], bits64)), true
	case !d.point && !d.exponent:
		return 0, false // an integer, which must be exact
	}
	f, err := strconv.ParseFloat(str(b), 64)
	return f, err == nil
}

// maxExactPow10In32 is the largest power of ten that a float32 holds exactly.
const maxExactPow10In32 = 10

// fastFloat32 is fastFloat64 for float32.
func fastFloat32(b []byte) (float32, bool) {
	d, ok := splitDecimal(b)
	switch {
	case !ok:
		return 0, false
	case d.digits <= maxDigits && d.mantissa < 1<<bits32 && !d.exponent && d.frac <= maxExactPow10In32:
		f := float32(d.mantissa)
		if d.frac > 0 {
			f /= float32(pow10[d.frac])
		}
		return float32(d.signed(float64(f))), true
	case d.digits <= maxDigits && d.frac > 0 && !d.exponent && d.frac < len(intPow10):
		return float32(d.signed(nearest(d.mantissa, intPow10[d.frac], bits32))), true
	case !d.point && !d.exponent:
		return 0, false
	}
	f, err := strconv.ParseFloat(str(b), 32)
	return float32(f), err == nil
}

func (d *decimal) signed(f float64) float64 {
	if d.neg {
		return -f
	}
	return f
}

const (
	maxDigits = 19 // that every mantissa of 64 bits has room for
	bits64    = 53 // of the mantissa of a float64
	bits32    = 24 // and of a float32
)

// intPow10 are the powers of ten that 64 bits hold.
var intPow10 = [maxDigits + 1]uint64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
}

// nearest returns n/d rounded to a mantissa of so many bits, half to even; d is
// not 0. Both are shifted until their highest bit is set, so that the quotient
// of 128 by 64 bits has 64 bits of which the first is set; whether it is exact
// is known by the remainder, so it is rounded once. Numbers of 64 bits make no
// quotient that is too small or too large for a float32.
func nearest(n, d uint64, width int) float64 {
	if n == 0 {
		return 0
	}
	shift := bits.LeadingZeros64(d) - bits.LeadingZeros64(n)
	hi, lo := n<<bits.LeadingZeros64(n), uint64(0)
	d <<= bits.LeadingZeros64(d)
	if hi >= d {
		hi, lo, shift = hi>>1, hi<<63, shift+1
	}
	q, rest := bits.Div64(hi, lo, d)
	cut := 64 - width
	mantissa, tail, half := q>>cut, q&(1<<cut-1), uint64(1)<<(cut-1)
	if tail > half || tail == half && (rest != 0 || mantissa&1 == 1) {
		mantissa++
	}
	// q times 2^(shift-64) is the quotient; a mantissa that has become one bit
	// longer is exact all the same.
	return math.Ldexp(float64(mantissa), shift-64+cut)
}

// fastTimestamp reads YYYY-MM-DD(T| )HH:MM:SS[.digits](Z|±HH:MM|nothing); more
// than six digits are floored.
func fastTimestamp(b []byte) (feature.Timestamp, bool) {
	const seconds = len("2006-01-02T15:04:05")
	if len(b) < seconds || b[4] != '-' || b[7] != '-' || b[13] != ':' || b[16] != ':' || (b[10] != 'T' && b[10] != ' ') {
		return 0, false
	}
	year := two(b, 0)*100 + two(b, 2)
	month, day := two(b, 5), two(b, 8)
	hour, minute, second := two(b, 11), two(b, 14), two(b, 17)
	// A pair that is not digits is far above everything.
	if year > 9999 || year == 0 || month-1 > 11 || day-1 >= daysIn(year, month) || hour > 23 || minute > 59 || second > 59 {
		return 0, false
	}
	micros, rest, ok := fraction(b[seconds:])
	if !ok {
		return 0, false
	}
	offset, ok := zone(rest)
	if !ok {
		return 0, false
	}
	clock := int64(hour)*3600 + int64(minute)*60 + int64(second) - offset
	t := feature.Timestamp((daysFromEpoch(year, month, day)*86400+clock)*1e6 + micros)
	return t, t.Valid()
}

// notDigits is what two returns where there are no two digits.
const notDigits = 1 << 20

// two reads two digits at b[i:].
func two(b []byte, i int) uint {
	hi, lo := b[i]-'0', b[i+1]-'0'
	if hi > 9 || lo > 9 {
		return notDigits
	}
	return uint(hi)*10 + uint(lo)
}

// fraction reads .digits as microseconds, floored.
func fraction(b []byte) (micros int64, rest []byte, ok bool) {
	if len(b) == 0 || b[0] != '.' {
		return 0, b, true
	}
	scale := int64(100_000)
	i := 1
	for ; i < len(b) && b[i]-'0' <= 9; i++ {
		micros += int64(b[i]-'0') * scale
		scale /= 10
	}
	const most = 9 // digits, as many as time.Parse counts
	return micros, b[i:], i > 1 && i <= 1+most
}

// zone reads Z, nothing, or ±HH:MM as seconds east.
func zone(b []byte) (offset int64, ok bool) {
	switch {
	case len(b) == 0, len(b) == 1 && b[0] == 'Z':
		return 0, true
	case len(b) == 6 && b[3] == ':' && (b[0] == '+' || b[0] == '-'):
		hour, minute := two(b, 1), two(b, 4)
		if hour > 23 || minute > 59 {
			return 0, false
		}
		offset = int64(hour)*3600 + int64(minute)*60
		if b[0] == '-' {
			offset = -offset
		}
		return offset, true
	}
	return 0, false
}

func daysIn(year, month uint) uint {
	switch month {
	case 4, 6, 9, 11:
		return 30
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	}
	return 31
}

// daysFromEpoch counts days of the Gregorian calendar since 1970-01-01, over
// years that begin in March, so that a leap day is the last of its year.
func daysFromEpoch(year, month, day uint) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	const daysTo1970 = 719468 // from 0000-03-01
	dayOfYear := (153*(month-3)+2)/5 + day - 1
	days := 365*year + year/4 - year/100 + year/400 + dayOfYear
	return int64(days) - daysTo1970 //nolint:gosec // of year 9999 at most
}
