package feature_test

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
)

// TestParseInt is H46, and T11 for the ends of the range.
func TestParseInt(t *testing.T) {
	for _, c := range []struct {
		text string
		size int
		want int64
		bad  string // a part of the message, if it is refused
	}{
		{text: "7", size: 64, want: 7},
		{text: "-0", size: 64, want: 0},
		{text: "7.0", size: 64, want: 7},
		{text: "1e3", size: 64, want: 1000},
		{text: "1E+3", size: 64, want: 1000},
		{text: "12.50e1", size: 64, want: 125},
		{text: "1000e-3", size: 64, want: 1},
		{text: "0e1000000000", size: 64, want: 0},
		{text: "0.000", size: 64, want: 0},
		{text: "007", size: 64, want: 7},
		{text: "9007199254740993", size: 64, want: 9007199254740993},
		{text: "9007199254740993.0", size: 64, want: 9007199254740993},
		{text: "9223372036854775807", size: 64, want: math.MaxInt64},
		{text: "-9223372036854775808", size: 64, want: math.MinInt64},
		{text: "-9223372036854775808.0", size: 64, want: math.MinInt64},
		{text: "9223372036854775808", size: 64, bad: "out of range"},
		{text: "-9223372036854775809", size: 64, bad: "out of range"},
		{text: "9.223372036854775808e18", size: 64, bad: "out of range"},
		{text: "1e1000000000", size: 64, bad: "out of range"},
		{text: "1e99999999999999999999", size: 64, bad: "out of range"},
		{text: "1e-1000000000", size: 64, bad: "not a whole number"},
		{text: "7.5", size: 64, bad: "not a whole number"},
		{text: "7.50", size: 64, bad: "not a whole number"},
		{text: "2147483647", size: 32, want: math.MaxInt32},
		{text: "-2147483648.0", size: 32, want: math.MinInt32},
		{text: "2147483648", size: 32, bad: "out of range"},
		{text: "2147483648.0", size: 32, bad: "out of range"},
		{text: "", size: 64, bad: "not a number"},
		{text: "-", size: 64, bad: "not a number"},
		{text: "+7", size: 64, bad: "not a number"},
		{text: " 7", size: 64, bad: "not a number"},
		{text: "7 ", size: 64, bad: "not a number"},
		{text: ".5", size: 64, bad: "not a number"},
		{text: "5.", size: 64, bad: "not a number"},
		{text: "1e", size: 64, bad: "not a number"},
		{text: "1e+", size: 64, bad: "not a number"},
		{text: "1e+-1", size: 64, bad: "not a number"},
		{text: "1_000", size: 64, bad: "not a number"},
		{text: "0x10", size: 64, bad: "not a number"},
		{text: "1,000", size: 64, bad: "not a number"},
		{text: "NaN", size: 64, bad: "not a number"},
		{text: "٣", size: 64, bad: "not a number"},
	} {
		t.Run(c.text+"/"+strconv.Itoa(c.size), func(t *testing.T) {
			got, err := feature.ParseInt(c.text, c.size)
			if c.bad != "" {
				require.ErrorContains(t, err, c.bad)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestParseFloat(t *testing.T) {
	negZero := math.Copysign(0, -1)
	for _, c := range []struct {
		text string
		size int
		want float64
		bad  string
	}{
		{text: "0.1", size: 64, want: 0.1},
		{text: "0.1", size: 32, want: float64(float32(0.1))},
		{text: "7", size: 64, want: 7},
		{text: "-0", size: 64, want: negZero},
		{text: "-0.0", size: 64, want: negZero},
		{text: "1e-400", size: 64, want: 0},
		{text: "9007199254740992", size: 64, want: 9007199254740992},
		{text: "9007199254740993", size: 64, bad: "cannot hold exactly"},
		{text: "9007199254740993.0", size: 64, want: 9007199254740992}, // a point: rounded
		{text: "9007199254740993e0", size: 64, want: 9007199254740992}, // an exponent: rounded
		{text: "9007199254740994", size: 64, want: 9007199254740994},
		{text: "18446744073709551616", size: 64, want: 1 << 64},
		{text: "18446744073709551617", size: 64, bad: "cannot hold exactly"},
		{text: "1000000000000000000000", size: 64, want: 1e21},
		{text: "10000000000000000000000000", size: 64, bad: "cannot hold exactly"}, // 1e25
		{text: "16777216", size: 32, want: 16777216},
		{text: "16777217", size: 32, bad: "cannot hold exactly"},
		{text: "16777217.0", size: 32, want: 16777216},
		{text: "1e400", size: 64, bad: "out of range"},
		{text: "-1e400", size: 64, bad: "out of range"},
		{text: "1e39", size: 32, bad: "out of range"},
		{text: "340282356779733661637539395458142568447", size: 32, bad: "cannot hold exactly"}, // rounds to the largest
		{text: "3.4028236e38", size: 32, bad: "out of range"},
		{text: "1" + strings.Repeat("0", 400), size: 64, bad: "out of range"},
		{text: "NaN", size: 64, want: math.NaN()},
		{text: "Infinity", size: 32, want: math.Inf(1)},
		{text: "-Infinity", size: 64, want: math.Inf(-1)},
		{text: "nan", size: 64, bad: "not a number"},
		{text: "inf", size: 64, bad: "not a number"},
		{text: "+Inf", size: 64, bad: "not a number"},
		{text: "0x1p-2", size: 64, bad: "not a number"},
		{text: "1_0.0", size: 64, bad: "not a number"},
		{text: "", size: 64, bad: "not a number"},
		{text: "1.0 ", size: 64, bad: "not a number"},
	} {
		t.Run(c.text+"/"+strconv.Itoa(c.size), func(t *testing.T) {
			got, err := feature.ParseFloat(c.text, c.size)
			if c.bad != "" {
				require.ErrorContains(t, err, c.bad)
				return
			}
			require.NoError(t, err)
			require.Equal(t, math.Float64bits(c.want), math.Float64bits(got))
		})
	}
}

// exact is the value of a number as a rational, the plain oracle of the rules;
// nil if it is none, or has an exponent that the oracle would take long for.
func exact(text string) *big.Rat {
	if i := strings.IndexAny(text, "eE"); i >= 0 && len(text)-i > 5 {
		return nil
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil
	}
	return r
}

var decimals = rapid.StringMatching(`-?[0-9]{1,21}(\.[0-9]{1,8})?([eE][+-]?[0-9]{1,2})?`)

// TestParseIntOracle: accepted if and only if the exact value is a whole number
// within the range, and then that value.
func TestParseIntOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := decimals.Draw(rt, "text")
		size := rapid.SampledFrom([]int{32, 64}).Draw(rt, "size")
		value := exact(text)
		got, err := feature.ParseInt(text, size)
		limit := new(big.Int).Lsh(big.NewInt(1), uint(size-1))
		num := value.Num()
		fits := value.IsInt() && num.Cmp(limit) < 0 && num.Cmp(new(big.Int).Neg(limit)) >= 0
		require.Equal(rt, fits, err == nil, "%s: %v", text, err)
		if fits {
			require.Equal(rt, num.Int64(), got)
		}
	})
}

// TestParseFloatOracle: digits alone are accepted if and only if the float has
// their exact value; everything else rounds to nearest.
func TestParseFloatOracle(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := decimals.Draw(rt, "text")
		size := rapid.SampledFrom([]int{32, 64}).Draw(rt, "size")
		got, err := feature.ParseFloat(text, size)
		nearest, rangeErr := strconv.ParseFloat(text, size)
		plain := !strings.ContainsAny(text, ".eE")
		want := rangeErr == nil && (!plain || new(big.Rat).SetFloat64(nearest).Cmp(exact(text)) == 0)
		require.Equal(rt, want, err == nil, "%s: %v", text, err)
		if want {
			require.Equal(rt, math.Float64bits(nearest), math.Float64bits(got))
		}
	})
}

func TestIntFitsFloat(t *testing.T) {
	for _, c := range []struct {
		v          int64
		in32, in64 bool
	}{
		{0, true, true},
		{1 << 24, true, true},
		{1<<24 + 1, false, true},
		{-(1<<24 + 1), false, true},
		{1 << 53, true, true},
		{1<<53 + 1, false, false},
		{math.MinInt64, true, true},
		{math.MaxInt64, false, false},
	} {
		require.Equal(t, c.in32, feature.IntFitsFloat(c.v, 32), "%d", c.v)
		require.Equal(t, c.in64, feature.IntFitsFloat(c.v, 64), "%d", c.v)
	}
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.Int64().Draw(rt, "v")
		back, accuracy := new(big.Float).SetFloat64(float64(v)).Int64()
		require.Equal(rt, accuracy == big.Exact && back == v, feature.IntFitsFloat(v, 64))
	})
}

// FuzzParseNumbers: what the one parser takes for an integer the other takes
// for the same number, and nothing panics or takes long.
func FuzzParseNumbers(f *testing.F) {
	for _, text := range []string{"7", "-0.0", "1e3", "9007199254740993.0", "1e-5", "NaN", ".5", "1e1000000000", "00012.3400E+002"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		i, err := feature.ParseInt(text, 64)
		if err == nil && len(text) < 1000 && exact(text) != nil {
			require.Zero(t, exact(text).Cmp(new(big.Rat).SetInt64(i)), "%q is %d", text, i)
		}
		v, err := feature.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return
		}
		json := feature.AppendFloatJSON(nil, v, 64)
		back, err := strconv.ParseFloat(string(json), 64)
		require.NoError(t, err)
		require.Equal(t, math.Float64bits(v), math.Float64bits(back))
	})
}
