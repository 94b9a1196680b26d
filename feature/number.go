package feature

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
)

// The rules of coercion are in docs/concepts.md: nothing that the text says is
// lost. They stand here once and serve every path that reads numbers as text.

var (
	errNotNumber   = errors.New("not a number")
	errNotIntegral = errors.New("not a whole number")
	errRange       = errors.New("out of range")
	errInexact     = errors.New("an integer that the float type cannot hold exactly")
)

// ParseInt reads a decimal number that is integral and fits into that many
// bits, by value: "7", "7.0", "1e3", "9007199254740993.0". A huge exponent
// costs nothing.
func ParseInt(text string, size int) (int64, error) {
	if v, err := strconv.ParseInt(text, 10, size); err == nil && text[0] != '+' {
		return v, nil
	}
	num, err := splitNumber(text)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", clip(text), err)
	}
	v, err := num.integer(size)
	if err != nil {
		return 0, fmt.Errorf("%q: %w (expected int%d)", clip(text), err, size)
	}
	return v, nil
}

// ParseFloat reads a decimal number into a float of that many bits. Digits
// without point or exponent are an integer and must be exact; others round to
// nearest, and what would become infinite is refused. The words NaN, Infinity
// and -Infinity are accepted.
func ParseFloat(text string, size int) (float64, error) {
	switch text {
	case "NaN":
		return math.NaN(), nil
	case "Infinity":
		return math.Inf(1), nil
	case "-Infinity":
		return math.Inf(-1), nil
	}
	num, err := splitNumber(text)
	if err != nil {
		return 0, fmt.Errorf("%q: %w", clip(text), err)
	}
	f, err := strconv.ParseFloat(text, size)
	if err != nil || math.IsInf(f, 0) {
		return 0, fmt.Errorf("%q: %w (expected float%d)", clip(text), errRange, size)
	}
	if num.plain && !num.exactIn(size) {
		return 0, fmt.Errorf("%q: %w", clip(text), errInexact)
	}
	return f, nil
}

// number is a decimal number taken apart: ±digits × 10^exp, without leading or
// trailing zeros in digits.
type number struct {
	neg    bool
	digits string
	exp    int
	plain  bool // written without point or exponent
}

// splitNumber reads [-]digits[.digits][e[±]digits]; a leading plus, a bare
// point or a word is refused.
func splitNumber(text string) (number, error) {
	var n number
	rest, neg := strings.CutPrefix(text, "-")
	n.neg = neg
	whole, rest := leadingDigits(rest)
	if whole == "" {
		return n, errNotNumber
	}
	n.plain = rest == ""
	frac := ""
	if after, ok := strings.CutPrefix(rest, "."); ok {
		if frac, rest = leadingDigits(after); frac == "" {
			return n, errNotNumber
		}
	}
	if rest != "" {
		exp, err := exponent(rest)
		if err != nil {
			return n, err
		}
		n.exp = exp
	}
	all := whole + frac
	n.exp -= len(frac)
	n.digits = strings.TrimRight(all, "0")
	n.exp += len(all) - len(n.digits)
	n.digits = strings.TrimLeft(n.digits, "0")
	return n, nil
}

func leadingDigits(s string) (digits, rest string) {
	i := 0
	for i < len(s) && s[i] >= '0' && s[i] <= '9' {
		i++
	}
	return s[:i], s[i:]
}

// maxExponent bounds what an exponent is worth: beyond it every number is out
// of range or zero.
const maxExponent = 1 << 20

func exponent(s string) (int, error) {
	if s[0] != 'e' && s[0] != 'E' {
		return 0, errNotNumber
	}
	s = s[1:]
	neg := strings.HasPrefix(s, "-")
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	digits, rest := leadingDigits(s)
	if digits == "" || rest != "" {
		return 0, errNotNumber
	}
	v, err := strconv.Atoi(digits)
	if err != nil || v > maxExponent {
		v = maxExponent
	}
	if neg {
		v = -v
	}
	return v, nil
}

// integer returns n as an integer of that many bits.
func (n number) integer(size int) (int64, error) {
	if n.digits == "" {
		return 0, nil
	}
	if n.exp < 0 {
		return 0, errNotIntegral
	}
	const mostDigits = 19 // of an int64
	if len(n.digits)+n.exp > mostDigits {
		return 0, errRange
	}
	text := n.digits + strings.Repeat("0", n.exp)
	if n.neg {
		text = "-" + text
	}
	v, err := strconv.ParseInt(text, 10, size)
	if err != nil {
		return 0, errRange
	}
	return v, nil
}

// exactIn tells whether the integer n is a float of that many bits exactly.
// An integer of more than 53 significant bits (24 for float32) is not.
func (n number) exactIn(size int) bool {
	if n.digits == "" {
		return true
	}
	if len(n.digits)+n.exp > 19 {
		return n.exactBig(size)
	}
	v, err := strconv.ParseUint(n.digits+strings.Repeat("0", n.exp), 10, 64)
	if err != nil {
		return n.exactBig(size)
	}
	return significantBits(v) <= mantissaBits(size)
}

func mantissaBits(size int) int {
	if size == 32 {
		return 24
	}
	return 53
}

func significantBits(v uint64) int {
	if v == 0 {
		return 0
	}
	return bits.Len64(v) - bits.TrailingZeros64(v)
}

// exactBig is exactIn for integers beyond uint64: the float's own exact decimal
// expansion must be the text.
func (n number) exactBig(size int) bool {
	text := n.digits + strings.Repeat("0", n.exp)
	f, err := strconv.ParseFloat(text, size)
	return err == nil && strconv.FormatFloat(f, 'f', 0, 64) == text
}

// IntFitsFloat tells whether v is a float of that many bits exactly.
func IntFitsFloat(v int64, size int) bool {
	u := bitsOf(v)
	if v < 0 {
		u = -u
	}
	return significantBits(u) <= mantissaBits(size)
}
