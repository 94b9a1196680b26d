package ingest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
)

// anyRecord is a row for each kind of damage: text, lists, packed buffers.
const anyRecord = `k string ["a", "bc", null]
event_timestamp timestamp[ns] [1, null, 3]
created date32 [1, null, 3]
f0 bool [true, null, false]
f1 int64 [1, null, 2147483648]
f2 decimal(9,2) ["1.00", null, "2.50"]
f3 float64 [0.5, null, 1e39]
f4 uint64 [1, null, 18446744073709551615]
f5 binary ["AA==", null, ""]
f6 string_view ["2024-01-01", null, "never, and that is long"]
f7 list<int32> [[1, null], null, []]
f8 fixed_list<float64,2> [[1, 2], null, [3, null]]`

// TestArrowCut: a stream or file that ends too early is never taken for a whole
// one, wherever it ends.
func TestArrowCut(t *testing.T) {
	for _, as := range []string{"stream", "stream-lz4", "arrow"} {
		data := columnar(t, as, foreign(t, anyRecord))
		whole := ingestBytes(t, Options{}, feature.FormatArrow, data)
		require.EqualValues(t, 3, whole.read)
		require.Len(t, whole.rows, 1)
		for n := range data {
			require.True(t, ingestBytes(t, Options{}, feature.FormatArrow, data[:n]).refused, "%s of %d bytes", as, n)
		}
	}
}

// TestArrowDamaged: damaged bytes are read or refused, and do no harm.
func TestArrowDamaged(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for _, as := range []string{"stream", "stream-lz4", "arrow"} {
		data := columnar(t, as, foreign(t, anyRecord))
		for range 500 {
			bad := bytes.Clone(data)
			for range 1 + rng.IntN(3) {
				at := rng.IntN(len(bad)/4) * 4
				switch rng.IntN(4) {
				case 0:
					bad[at] ^= 1 << rng.IntN(8)
				case 1:
					copy(bad[at:], "\xff\xff\xff\x7f")
				case 2:
					copy(bad[at:], "\xff\xff\xff\xff")
				default:
					copy(bad[at:], "\x00\x00\x00\x00")
				}
			}
			ingestBytes(t, Options{}, feature.FormatArrow, bad)
			readSpineBytes(t, bad)
		}
	}
}

// readSpineBytes reads Arrow as a spine, which takes columns of every type.
func readSpineBytes(t *testing.T, data []byte) {
	t.Helper()
	s, err := ReadSpine(t.Context(), bytes.NewReader(data), SpineOptions{Format: feature.FormatArrow, TempDir: t.TempDir()})
	if err != nil {
		return
	}
	defer s.Release()
	for s.Next() {
		for _, col := range s.Record().Columns() {
			for i := range col.Len() {
				_ = col.ValueStr(i)
			}
		}
	}
}

// TestArrowUnpacked: what a packed buffer says that it unpacks to is bounded
// before room is made for it.
func TestArrowUnpacked(t *testing.T) {
	data := columnar(t, "stream-lz4", foreign(t, anyRecord))
	lengths := 0
	for at := 0; at+16 <= len(data); at += 8 {
		if bytes.Equal(data[at+8:at+12], []byte("\x04\x22\x4d\x18")) { // the magic of LZ4 after a length
			bad := bytes.Clone(data)
			copy(bad[at:], "\x00\x00\x00\x00\x00\x01\x00\x00") // 1 TiB
			lengths++
			in := &input{name: "in", format: feature.FormatArrow, open: func(context.Context) (blob, error) { return newMemory(bad), nil }}
			for _, err := range New(Options{}).reader(bindFiles(anyView(), 0)).batches(t.Context(), in) {
				require.ErrorContains(t, err, "unpacks to more than")
			}
		}
	}
	require.Positive(t, lengths)
}
