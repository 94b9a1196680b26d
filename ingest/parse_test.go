package ingest

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
)

// texts are what numbers and timestamps are near: the fast parsers may turn any
// of them down, and must never read one differently from the rule.
var texts = []string{
	"", "-", "0", "-0", "7", "-7", "007", "+7", "7.0", "7.", ".5", "1e3", "1E+3", "1e", "1e-", "1e1000000000",
	"9007199254740991", "9007199254740992", "9007199254740993", "9007199254740993.0", "16777216", "16777217",
	"999999999999999999", "1000000000000000000", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "0.1", "-0.0", "1e400", "3.5e38", "3.4028235e38", "1e-400",
	"0.30000000000000004", "123456789012345678901234567890", "0.00000000000000000000001", "12.658579999999999",
	"18446744073709551616", "-18446744073709551616", "1844674407370955.1616", "0.18446744073709551616", "36893488147419103232.0",
	"4503599627370496.5", "4503599627370497.5", "9007199254740991.5", "9007199254740992.5", "9007199254740994.999", "9999999999.999999999", "1844674407370955161.5",
	"16777215.5", "8388608.5", "8388609.5", "16777216.99999999999", "0.0000000000000000001", "0.9999999999999999999", "1.9999999999999999999",
	"12345678", "123456789", "1234567a", "1234567/", "1234567:", "12345678.12345678", "00000000.00000000", "12345678901234567890.5", "0000000000000000000000000.5", "NaN", "Infinity", "-Infinity", "nan", "inf", "0x10", "1_000", " 7", "7 ",
	"2024-01-01T10:00:00Z", "2024-01-01 10:00:00", "2024-01-01T10:00:00.123456Z", "2024-01-01T10:00:00.1234567Z",
	"2024-01-01T10:00:00.123456789Z", "2024-01-01T10:00:00.1234567891Z", "2024-01-01T10:00:00.Z", "2024-01-01T10:00:00,5Z",
	"2024-02-29T00:00:00Z", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z", "2024-13-01T00:00:00Z",
	"2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z", "2024-04-31T00:00:00Z", "2024-01-01T24:00:00Z",
	"2024-01-01T23:60:00Z", "2024-01-01T23:59:60Z", "2024-01-01T10:00:00+05:30", "2024-01-01T10:00:00-00:01",
	"2024-01-01T10:00:00+24:00", "2024-01-01T10:00:00+00:60", "2024-01-01T10:00:00z", "0000-01-01T00:00:00Z",
	"0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.9999999Z",
	"9999-12-31T23:59:59-00:01", "1969-12-31T23:59:59.9999999Z", "2024-01-01T10:00Z", "2024-01-01", "20x4-01-01T10:00:00Z",
}

// sameAsRule tells whether the fast parsers agree with the rules on a text.
func sameAsRule(t require.TestingT, text string) {
	b := []byte(text)
	if v, ok := fastInt(b); ok {
		want, err := feature.ParseInt(text, 64)
		require.NoError(t, err, text)
		require.Equal(t, want, v, text)
	}
	if v, ok := narrowInt(b); ok {
		want, err := feature.ParseInt(text, 32)
		require.NoError(t, err, text)
		require.Equal(t, want, int64(v), text)
	}
	if v, ok := fastFloat64(b); ok {
		want, err := feature.ParseFloat(text, 64)
		require.NoError(t, err, text)
		require.Equal(t, math.Float64bits(want), math.Float64bits(v), text)
	}
	if v, ok := fastFloat32(b); ok {
		want, err := feature.ParseFloat(text, 32)
		require.NoError(t, err, text)
		require.Equal(t, math.Float32bits(float32(want)), math.Float32bits(v), text)
	}
	if v, ok := fastTimestamp(b); ok {
		want, err := feature.ParseTimestamp(text)
		require.NoError(t, err, text)
		require.Equal(t, want, v, text)
	}
}

func TestFastParsersAgreeWithTheRules(t *testing.T) {
	for _, text := range texts {
		sameAsRule(t, text)
	}
}

// TestFastParsersTakeWhatIsCommon keeps the fast paths fast: what files are full
// of does not go to the rules.
func TestFastParsersTakeWhatIsCommon(t *testing.T) {
	for _, text := range []string{"0", "-17", "999999999999999999"} {
		_, ok := fastInt([]byte(text))
		require.True(t, ok, text)
	}
	for _, text := range []string{"0", "-0.0", "12.5", "12.658579999999999", "0.30000000000000004", "1e-7", "-1.5E+10"} {
		_, ok := fastFloat64([]byte(text))
		require.True(t, ok, text)
		_, ok = fastFloat32([]byte(text))
		require.True(t, ok, text)
	}
	for _, text := range []string{"2024-01-01T10:00:00Z", "2024-01-01 10:00:00.123456Z", "1969-12-31T23:59:59.999999999+05:30", "2024-02-29T10:00:00"} {
		_, ok := fastTimestamp([]byte(text))
		require.True(t, ok, text)
	}
}

func TestFastParsersProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sameAsRule(t, strconv.FormatInt(rapid.Int64().Draw(t, "int"), 10))
		f := rapid.Float64().Draw(t, "float")
		for _, format := range []byte("feg") {
			sameAsRule(t, strconv.FormatFloat(f, format, rapid.IntRange(-1, 20).Draw(t, "digits"), 64))
		}
		sameAsRule(t, strconv.FormatUint(rapid.Uint64().Draw(t, "cents"), 10)+"."+strconv.Itoa(rapid.IntRange(0, 1<<30).Draw(t, "fraction")))
		// Halfway between two floats, and next to it.
		odd := 1<<53 + 2*rapid.Uint64Range(0, 1<<52-1).Draw(t, "odd") + 1
		scaled := strconv.FormatUint(odd/8, 10) + strconv.FormatFloat(float64(odd%8)/8, 'f', 3, 64)[1:]
		sameAsRule(t, scaled)
		sameAsRule(t, scaled+"1")
		digits := rapid.StringMatching(`[0-9]{1,19}`).Draw(t, "digits")
		point := rapid.IntRange(1, len(digits)).Draw(t, "point")
		sameAsRule(t, digits[:point]+"."+digits[point:])
		at := time.Unix(0, rapid.Int64().Draw(t, "nanos")).UTC()
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.000000Z", "2006-01-02T15:04:05", time.DateTime} {
			sameAsRule(t, at.Format(layout))
		}
		sameAsRule(t, rapid.StringMatching(`[-+]?[0-9]{0,4}[.eE]?[0-9]{0,4}[eE+-]{0,2}[0-9]{0,3}`).Draw(t, "number"))
		sameAsRule(t, rapid.StringMatching(`[0-2]\d{3}-[01]\d-[0-3]\d[T ][0-2]\d:[0-6]\d:[0-6]\d(\.\d{0,10})?(Z|[+-][0-2]\d:[0-6]\d)?`).Draw(t, "timestamp"))
	})
}

func FuzzParse(f *testing.F) {
	for _, text := range texts {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { sameAsRule(t, text) })
}

// TestFastParsersRoundOnce: of many numbers of 17 to 19 digits some lie just
// above the middle of two floats, where only the remainder tells them from it.
func TestFastParsersRoundOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 3))
	for range 50_000 {
		digits := strconv.FormatUint(1e16+rng.Uint64N(9e18), 10)
		point := 1 + rng.IntN(len(digits)-1)
		sameAsRule(t, digits[:point]+"."+digits[point:])
	}
}
