package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

var errShape = errors.New("its parts have different numbers of rows")

// assemble builds the Arrow data of a node from the batches of its leaves, by
// leaf index.
func assemble(n *node, batches []*leafBatch) (arrow.ArrayData, error) {
	switch n.kind {
	case leafNode:
		return convert(n, batches[n.leaf.index])
	case structNode:
		return assembleStruct(n, n.typ, batches)
	case listNode:
		return assembleList(n, batches)
	}
	return nil, errShape
}

func assembleStruct(n *node, typ arrow.DataType, batches []*leafBatch) (arrow.ArrayData, error) {
	children := make([]arrow.ArrayData, len(n.children))
	for i, c := range n.children {
		data, err := assemble(c, batches)
		if err != nil {
			return nil, err
		}
		if children[i] = data; data.Len() != children[0].Len() {
			return nil, errShape
		}
	}
	length, nulls := children[0].Len(), 0
	var valid []byte
	if n.nullable {
		valid = make([]byte, bitutil.BytesForBits(int64(length)))
		at := 0
		b := batches[n.firstLeaf().index]
		for i, d := range b.defs {
			if d < n.slotDef || b.rep(i) > n.rep {
				continue
			}
			if at == length {
				return nil, errShape
			}
			if d >= n.def {
				bitutil.SetBit(valid, at)
			} else {
				nulls++
			}
			at++
		}
		if at != length {
			return nil, errShape
		}
	}
	return array.NewData(typ, length, []*memory.Buffer{bitmap(valid, nulls)}, children, nulls, 0), nil
}

// rep returns the repetition level of an entry.
func (b *leafBatch) rep(i int) int16 {
	if b.reps == nil {
		return 0
	}
	return b.reps[i]
}

// listShape are the bounds and nulls of the lists of a node.
type listShape struct {
	offsets []int32
	valid   []byte
	nulls   int
}

func shapeOf(n *node, b *leafBatch) listShape {
	out := listShape{offsets: make([]int32, 1, b.records+1)}
	total := int32(0)
	for i, d := range b.defs {
		r := b.rep(i)
		switch {
		case d < n.slotDef || r > n.rep+1:
			continue // of a list around that is empty, or of one inside
		case r == n.rep+1:
			total++
			out.offsets[len(out.offsets)-1] = total
			continue
		case d >= n.elemDef:
			total++
		}
		at := len(out.offsets) - 1
		if at%8 == 0 {
			out.valid = append(out.valid, 0)
		}
		if d >= n.def {
			bitutil.SetBit(out.valid, at)
		} else {
			out.nulls++
		}
		out.offsets = append(out.offsets, total)
	}
	return out
}

func assembleList(n *node, batches []*leafBatch) (arrow.ArrayData, error) {
	shape := shapeOf(n, batches[n.firstLeaf().index])
	elem := n.children[0]
	var child arrow.ArrayData
	var err error
	if m, ok := n.typ.(*arrow.MapType); ok {
		child, err = assembleStruct(elem, m.Elem(), batches)
	} else {
		child, err = assemble(elem, batches)
	}
	if err != nil {
		return nil, err
	}
	length := len(shape.offsets) - 1
	if child.Len() != int(shape.offsets[length]) {
		return nil, errShape
	}
	valid := bitmap(shape.valid, shape.nulls)
	if n.size > 0 {
		if child, err = padNulls(n, shape, child); err != nil {
			return nil, err
		}
		return array.NewData(n.typ, length, []*memory.Buffer{valid}, []arrow.ArrayData{child}, shape.nulls, 0), nil
	}
	offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(shape.offsets))
	return array.NewData(n.typ, length, []*memory.Buffer{valid, offsets}, []arrow.ArrayData{child}, shape.nulls, 0), nil
}

// padNulls gives the null lists of a column of fixed size the elements that
// Arrow wants them to have and Parquet does not store.
func padNulls(n *node, shape listShape, child arrow.ArrayData) (arrow.ArrayData, error) {
	for i := range len(shape.offsets) - 1 {
		size := shape.offsets[i+1] - shape.offsets[i]
		if size != n.size && bitutil.BitIsSet(shape.valid, i) {
			return nil, fmt.Errorf("list of %d elements in a column of lists of %d", size, n.size)
		}
	}
	if shape.nulls == 0 {
		return child, nil
	}
	arr := array.MakeFromData(child)
	var parts []arrow.Array
	start := int64(0)
	for i := range len(shape.offsets) - 1 {
		if bitutil.BitIsSet(shape.valid, i) {
			continue
		}
		if end := int64(shape.offsets[i]); end > start {
			parts = append(parts, array.NewSlice(arr, start, end))
			start = end
		}
		parts = append(parts, blank(n.children[0], int(n.size)))
	}
	if start < int64(arr.Len()) {
		parts = append(parts, array.NewSlice(arr, start, int64(arr.Len())))
	}
	all, err := array.Concatenate(parts, memory.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	return all.Data(), nil
}

// blank returns elements to stand under a null list: zeros where elements are
// never null.
func blank(elem *node, n int) arrow.Array {
	if t, ok := elem.typ.(arrow.FixedWidthDataType); ok && !elem.nullable && elem.kind == leafNode {
		zeros := make([]byte, bitutil.BytesForBits(int64(n)*int64(t.BitWidth())))
		return array.MakeFromData(array.NewData(elem.typ, n, []*memory.Buffer{nil, memory.NewBufferBytes(zeros)}, nil, 0, 0))
	}
	return array.MakeArrayOfNull(memory.DefaultAllocator, elem.typ, n)
}

// bitmap returns a validity buffer, nil if nothing is null.
func bitmap(valid []byte, nulls int) *memory.Buffer {
	if nulls == 0 {
		return nil
	}
	return memory.NewBufferBytes(valid)
}

// convert builds the Arrow data of a leaf. Most types are stored as they are in
// Arrow, and nothing is copied.
func convert(n *node, b *leafBatch) (arrow.ArrayData, error) {
	if n.typ.ID() == arrow.NULL {
		return array.NewData(n.typ, b.slots, []*memory.Buffer{nil}, nil, b.slots, 0), nil
	}
	if b.nulls > 0 && n.held {
		return nil, fmt.Errorf("%d nulls where its Arrow schema has none", b.nulls)
	}
	valid := bitmap(b.valid, b.nulls)
	w := n.leaf.width()
	if w == 0 && !isDecimal(n.typ) {
		offsets := memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(b.text.offsets))
		return array.NewData(n.typ, b.slots, []*memory.Buffer{valid, offsets, memory.NewBufferBytes(b.text.data)}, nil, b.nulls, 0), nil
	}
	values, err := convertFixed(n, b, w)
	if err != nil {
		return nil, err
	}
	return array.NewData(n.typ, b.slots, []*memory.Buffer{valid, memory.NewBufferBytes(values)}, nil, b.nulls, 0), nil
}

func isDecimal(t arrow.DataType) bool {
	return t.ID() == arrow.DECIMAL128 || t.ID() == arrow.DECIMAL256
}

func convertFixed(n *node, b *leafBatch, width int) ([]byte, error) {
	stored := b.fixed[:b.slots*width]
	switch {
	case isDecimal(n.typ):
		return convertDecimals(n, b)
	case n.leaf.typ == physicalBool:
		out := make([]byte, bitutil.BytesForBits(int64(b.slots)))
		for i, v := range stored {
			out[i>>3] |= v << (i & 7)
		}
		return out, nil
	case n.leaf.typ == physicalInt96:
		return convertInt96(stored), nil
	}
	t, ok := n.typ.(arrow.FixedWidthDataType)
	if !ok || t.Bytes() > width {
		return nil, errShape
	}
	if t.Bytes() == width {
		return stored, nil
	}
	out := make([]byte, 0, b.slots*t.Bytes())
	for i := 0; i < len(stored); i += width {
		out = append(out, stored[i:i+t.Bytes()]...)
	}
	return out, nil
}

// convertInt96 turns nanoseconds of a Julian day into microseconds, floored.
func convertInt96(stored []byte) []byte {
	const (
		epochDay  = 2440588
		dayMicros = 24 * 60 * 60 * 1_000_000
	)
	out := make([]byte, 0, len(stored)/12*8)
	for i := 0; i < len(stored); i += 12 {
		nanos := int64(binary.LittleEndian.Uint64(stored[i:])) //nolint:gosec // the bits of a signed number
		day := int64(int32(binary.LittleEndian.Uint32(stored[i+8:])))
		micros := nanos / 1000
		if nanos%1000 < 0 {
			micros--
		}
		out = binary.LittleEndian.AppendUint64(out, uint64((day-epochDay)*dayMicros+micros)) //nolint:gosec // the same bits
	}
	return out
}

// convertDecimals widens decimals, which are stored as integers or as bytes from
// the highest on, to the 16 or 32 bytes of Arrow, from the lowest on.
func convertDecimals(n *node, b *leafBatch) ([]byte, error) {
	size := 16
	if n.typ.ID() == arrow.DECIMAL256 {
		size = 32
	}
	out := make([]byte, b.slots*size)
	w := n.leaf.width()
	for i := range b.slots {
		if b.valid != nil && !bitutil.BitIsSet(b.valid, i) {
			continue
		}
		var v []byte
		if w > 0 {
			v = b.fixed[i*w : (i+1)*w]
		} else {
			v = b.text.data[b.text.offsets[i]:b.text.offsets[i+1]]
		}
		bigEndian := n.leaf.typ == physicalBytes || n.leaf.typ == physicalFixedBytes
		if !putDecimal(out[i*size:(i+1)*size], v, bigEndian) {
			return nil, fmt.Errorf("decimal of %d bytes, more than %s has", len(v), n.typ)
		}
	}
	return out, nil
}

// putDecimal writes a two's complement number of any length, lowest byte first,
// with its sign carried on; false if it does not fit.
func putDecimal(dst, v []byte, bigEndian bool) bool {
	at := func(i int) byte {
		if bigEndian {
			return v[len(v)-1-i]
		}
		return v[i]
	}
	sign := byte(0)
	if len(v) > 0 && at(len(v)-1) > math.MaxInt8 {
		sign = math.MaxUint8
	}
	for i := range max(len(dst), len(v)) {
		digit := sign
		if i < len(v) {
			digit = at(i)
		}
		if i < len(dst) {
			dst[i] = digit
		} else if digit != sign {
			return false
		}
	}
	return true
}
