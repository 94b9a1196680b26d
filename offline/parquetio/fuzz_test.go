package parquetio

import (
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
)

// FuzzRead holds that no bytes crash the reader, make it hang, or give fewer
// rows than their footer says.
func FuzzRead(f *testing.F) {
	// Small files: the fuzzer spends its time on making large ones smaller.
	for _, name := range []string{"int96", "types-integer-decimals", "no-row-group", "empty"} {
		f.Add(foreign(f, name))
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}}, nil)
	data, _ := write(f, schema, WriterOptions{Codec: Snappy}, fromJSON(f, schema, `[{"l": ["a", null]}, {"l": null}, {"l": []}]`))
	f.Add(data)
	// One worker: the fuzzer takes what runs in another order for a new path.
	o := small
	o.Workers = 1
	f.Fuzz(func(t *testing.T, data []byte) { _ = tryReadWith(t, data, o) })
}

// FuzzDecoders holds the same of pages in each encoding, which fuzzing whole
// files seldom reaches.
func FuzzDecoders(f *testing.F) {
	f.Add(uint8(encPlain), uint8(physicalInt64), uint16(3), make([]byte, 24))
	f.Add(uint8(encDeltaBinary), uint8(physicalInt32), uint16(3), []byte{0x80, 1, 4, 3, 2, 2, 0, 0, 0, 0})
	f.Add(uint8(encDeltaBytes), uint8(physicalBytes), uint16(2), []byte{0x80, 1, 4, 0, 0, 0x80, 1, 4, 0, 0})
	f.Add(uint8(encRLEDictionary), uint8(physicalBytes), uint16(9), []byte{1, 3, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, enc, typ uint8, n uint16, body []byte) {
		l := &leaf{typ: physical(typ % 8), length: 5}
		dict, err := newDictionary(l, make([]byte, 40), 2)
		if err != nil {
			dict = nil
		}
		d, err := newDecoder(l, encoding(enc%10), dict, body, int(n))
		if err != nil {
			return
		}
		if l.width() > 0 {
			_ = d.fixed(make([]byte, int(n)*l.width()), int(n))
			return
		}
		text := &textBuffer{offsets: make([]int32, 1), limit: 1 << 20}
		if d.text(text, int(n)) == nil && len(text.offsets) != int(n)+1 {
			t.Fatalf("%d values, not %d", len(text.offsets)-1, n)
		}
	})
}
