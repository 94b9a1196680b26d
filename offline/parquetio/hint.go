package parquetio

import (
	"encoding/base64"
	"encoding/binary"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
)

// hint is what an Arrow schema in the footer says of a field and Parquet cannot
// say.
type hint struct {
	name     string
	kind     byte
	nullable bool
	size     int32 // of lists of fixed size
	unit     arrow.TimeUnit
	children []hint
	metadata arrow.Metadata
}

// Arrow's types by their number in its schema, of those that matter here.
const (
	hintList      = 12
	hintStruct    = 13
	hintFixedList = 16
	hintDuration  = 18
)

// readHints reads the Arrow schema that writers leave in the footer: a message
// of Arrow's, in Base64. It is taken for what it says beyond Parquet and never
// trusted, so what is damaged is as good as absent.
//
// The Arrow module's own reader makes a vector as long as the bytes say, without
// asking how many there are: a few changed bytes end the process, and no recover
// helps. Hence these lines, which read the FlatBuffers within a budget.
func readHints(encoded string) []hint {
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(encoded, "="))
	if err != nil || len(raw) < 8 {
		return nil
	}
	start := 4 // after the length
	if binary.LittleEndian.Uint32(raw) == 0xffffffff {
		start = 8 // which a marker precedes in messages of today
	}
	b := &flatBuffer{buf: raw[start:]}
	b.budget = 4 * len(b.buf)
	message := b.follow(0)
	const isSchema = 1
	if b.u8(b.slot(message, 1)) != isSchema {
		return nil
	}
	out := b.hints(b.follow(b.slot(b.follow(b.slot(message, 2)), 1)), 0)
	if b.bad {
		return nil
	}
	return out
}

// flatBuffer reads FlatBuffers. Position 0 is "absent" everywhere, and what lies
// outside the bytes is bad and reads as zero. The budget goes down with all that
// is read, because offsets may make few bytes stand for many.
type flatBuffer struct {
	buf    []byte
	budget int
	bad    bool
}

func (b *flatBuffer) bytes(pos, n int) []byte {
	b.budget -= n
	if pos < 0 || n < 0 || n > len(b.buf) || pos > len(b.buf)-n || b.budget < 0 {
		b.bad = true
	}
	if b.bad {
		return make([]byte, 8)
	}
	return b.buf[pos : pos+n]
}

func (b *flatBuffer) u8(pos int) byte {
	if pos == 0 {
		return 0
	}
	return b.bytes(pos, 1)[0]
}

func (b *flatBuffer) u16(pos int) int { return int(binary.LittleEndian.Uint16(b.bytes(pos, 2))) }

func (b *flatBuffer) u32(pos int) int { return int(binary.LittleEndian.Uint32(b.bytes(pos, 4))) }

// follow returns the position that the offset at pos points to; the root's is
// at 0.
func (b *flatBuffer) follow(pos int) int {
	if pos == 0 && b.budget != 4*len(b.buf) {
		return 0
	}
	return pos + b.u32(pos)
}

// slot returns the position of field i of a table, 0 if it is absent.
func (b *flatBuffer) slot(table, i int) int {
	if table == 0 {
		return 0
	}
	vtable := table - int(int32(binary.LittleEndian.Uint32(b.bytes(table, 4)))) //nolint:gosec // a signed offset
	if 4+2*i >= b.u16(vtable) || b.bad {
		return 0
	}
	if at := b.u16(vtable + 4 + 2*i); at != 0 {
		return table + at
	}
	return 0
}

// text reads a string.
func (b *flatBuffer) text(pos int) string {
	if pos == 0 {
		return ""
	}
	n := b.u32(pos)
	v := b.bytes(pos+4, n)
	if b.bad {
		return ""
	}
	return string(v)
}

// vector returns the length of a vector and the position of its offsets.
func (b *flatBuffer) vector(pos int) (n, first int) {
	if pos == 0 {
		return 0, 0
	}
	n = b.u32(pos)
	b.bytes(pos+4, 4*n)
	if b.bad {
		return 0, 0
	}
	return n, pos + 4
}

func (b *flatBuffer) hints(pos, depth int) []hint {
	n, first := b.vector(pos)
	if depth > maxSchemaDepth {
		b.bad = true
	}
	out := make([]hint, 0, n)
	for i := 0; i < n && !b.bad; i++ {
		out = append(out, b.hint(b.follow(first+4*i), depth))
	}
	return out
}

// hint reads a field: name, nullable, the kind of its type, its type, a
// dictionary, children, metadata.
func (b *flatBuffer) hint(table, depth int) hint {
	out := hint{
		name: b.text(b.follow(b.slot(table, 0))), nullable: b.u8(b.slot(table, 1)) != 0, kind: b.u8(b.slot(table, 2)),
		metadata: b.keyValues(b.follow(b.slot(table, 6))),
	}
	typ := b.follow(b.slot(table, 3))
	switch out.kind {
	case hintFixedList:
		if at := b.slot(typ, 0); at != 0 {
			out.size = int32(b.u32(at)) //nolint:gosec // a signed number
		}
	case hintDuration:
		out.unit = arrow.Millisecond
		if at := b.slot(typ, 0); at != 0 {
			out.unit = arrow.TimeUnit(b.u16(at) & 3)
		}
	}
	out.children = b.hints(b.follow(b.slot(table, 5)), depth+1)
	return out
}

func (b *flatBuffer) keyValues(pos int) arrow.Metadata {
	n, first := b.vector(pos)
	keys, values := make([]string, 0, n), make([]string, 0, n)
	for i := 0; i < n && !b.bad; i++ {
		pair := b.follow(first + 4*i)
		keys = append(keys, b.text(b.follow(b.slot(pair, 0))))
		values = append(values, b.text(b.follow(b.slot(pair, 1))))
	}
	return arrow.NewMetadata(keys, values)
}

// applyHint takes a hint over where it fits the stored column: that a list has a
// fixed size, durations, and the metadata of a field.
func (n *node) applyHint(h *hint) {
	n.metadata = h.metadata
	switch h.kind {
	case hintFixedList, hintList:
		if n.kind != listNode || n.typ.ID() != arrow.LIST || len(h.children) != 1 {
			return
		}
		elem := n.children[0]
		elem.applyHint(&h.children[0])
		if h.kind == hintList || h.size < 1 {
			n.typ = arrow.ListOfField(elem.field())
			return
		}
		// The Arrow module stores elements that are never null as if they
		// could be; convert holds them to it.
		elem.held = elem.nullable && !h.children[0].nullable
		elem.nullable = elem.nullable && h.children[0].nullable
		n.size = h.size
		n.typ = arrow.FixedSizeListOfField(n.size, elem.field())
	case hintStruct:
		if n.kind != structNode || len(n.children) != len(h.children) {
			return
		}
		fields := make([]arrow.Field, len(n.children))
		for i, c := range n.children {
			c.applyHint(&h.children[i])
			fields[i] = c.field()
		}
		n.typ = arrow.StructOf(fields...)
	case hintDuration:
		if n.kind == leafNode && n.typ.ID() == arrow.INT64 {
			n.typ = &arrow.DurationType{Unit: h.unit}
		}
	}
}

// applyHints applies the Arrow schema of the footer, if there is one that fits.
func applyHints(columns []*node, encoded string) {
	hints := readHints(encoded)
	if len(hints) != len(columns) {
		return
	}
	for i := range hints {
		if hints[i].name == columns[i].name {
			columns[i].applyHint(&hints[i])
		}
	}
}
