package keyenc

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestEncodings holds the bytes of docs/format/entity-key.md, which never
// change.
func TestEncodings(t *testing.T) {
	for want, got := range map[string][]byte{
		"00":                       AppendBool(nil, false),
		"01":                       AppendBool(nil, true),
		"00000000":                 AppendInt32(nil, math.MinInt32),
		"80000007":                 AppendInt32(nil, 7),
		"0000000000000000":         AppendInt64(nil, math.MinInt64),
		"7fffffffffffffff":         AppendInt64(nil, -1),
		"8000000000000000":         AppendInt64(nil, 0),
		"80000000000003e9":         AppendInt64(nil, 1001),
		"0001":                     AppendBytes(nil, ""),
		"00ff0001":                 AppendBytes(nil, "\x00"),
		"610001":                   AppendBytes(nil, "a"),
		"6100ff0001":               AppendBytes(nil, "a\x00"),
		"61620001":                 AppendBytes(nil, "ab"),
		"3100013233" + "0001":      AppendBytes(AppendBytes(nil, "1"), "23"),
		"31320001" + "33" + "0001": AppendBytes(AppendBytes(nil, "12"), "3"),
	} {
		require.Equal(t, want, hex.EncodeToString(got))
	}
}

// TestOrder: the order of the bytes is the order of the values, of one and of
// two behind each other, and every value comes back with the rest.
func TestOrder(t *testing.T) {
	type pair struct {
		text   []byte
		number int64
	}
	draw := func(rt *rapid.T) pair {
		return pair{rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 2, 'a', 0xff}), 0, 5).Draw(rt, "text"), rapid.Int64().Draw(rt, "number")}
	}
	encode := func(p pair) []byte { return AppendInt64(AppendBytes(nil, p.text), p.number) }
	rapid.Check(t, func(rt *rapid.T) {
		a, b := draw(rt), draw(rt)
		want := cmp.Or(bytes.Compare(a.text, b.text), cmp.Compare(a.number, b.number))
		require.Equal(rt, want, bytes.Compare(encode(a), encode(b)))
		text, rest, err := Bytes(encode(a))
		require.NoError(rt, err)
		require.True(rt, bytes.Equal(a.text, text))
		number, rest, err := Int64(rest)
		require.NoError(rt, err)
		require.Equal(rt, a.number, number)
		require.Empty(rt, rest)
		x, y := int32(a.number>>32), int32(b.number>>32)
		require.Equal(rt, cmp.Compare(x, y), bytes.Compare(AppendInt32(nil, x), AppendInt32(nil, y)))
		back, _, err := Int32(AppendInt32(nil, x))
		require.NoError(rt, err)
		require.Equal(rt, x, back)
	})
}

// FuzzDecode: any bytes are either refused or the encoding of what comes out.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x00\xff\x00\x01"))
	f.Add([]byte{0, 2})
	f.Add([]byte{2})
	f.Fuzz(func(t *testing.T, src []byte) {
		if v, rest, err := Bytes(src); err == nil {
			require.Equal(t, src, append(AppendBytes(nil, v), rest...))
		}
		if v, rest, err := Bool(src); err == nil {
			require.Equal(t, src, append(AppendBool(nil, v), rest...))
		}
		if v, rest, err := Int32(src); err == nil {
			require.Equal(t, src, append(AppendInt32(nil, v), rest...))
		}
		if v, rest, err := Int64(src); err == nil {
			require.Equal(t, src, append(AppendInt64(nil, v), rest...))
		}
	})
}
