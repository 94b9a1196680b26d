package ingest

import (
	"math"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// decode turns column k of the chunk into an array of a type. A value that the
// type does not take is null in it and a fault of the given column.
//
// A builder of Arrow checks its room for each value and looks its method up;
// over the cells of a large file that is most of the work. The loops here write
// into slices of the right length and take the builder only for lists.
func (c *cells) decode(k int, t feature.Type, column int) arrow.Array {
	d := cellDecoder{cells: c, spans: c.cols[k], typ: t, column: column}
	if !t.IsScalar() {
		return d.lists()
	}
	switch t.Kind {
	case feature.KindInt32:
		return numbers(&d, narrowInt, func(v feature.Value) int32 { return int32(v.Int()) }) //nolint:gosec // an int32 by its type
	case feature.KindInt64:
		return numbers(&d, fastInt, feature.Value.Int)
	case feature.KindFloat32:
		return numbers(&d, fastFloat32, feature.Value.Float32)
	case feature.KindFloat64:
		return numbers(&d, fastFloat64, feature.Value.Float)
	case feature.KindTimestamp:
		return d.timestamps()
	case feature.KindString:
		return d.text()
	case feature.KindBool:
		return d.bools()
	case feature.KindBytes, feature.KindInvalid:
	}
	return d.lists()
}

// cellDecoder decodes one column of one chunk.
type cellDecoder struct {
	*cells
	spans  []span
	typ    feature.Type
	column int
	valid  validity
}

// slow reads a span by the rules; false, with a fault, if it cannot be.
func (d *cellDecoder) slow(row int) (feature.Value, bool) {
	v, err := d.syntax.value(d.cells, d.spans[row], d.typ)
	if err != nil {
		d.faults = append(d.faults, fault{row: row, column: d.column, reason: err.Error()})
		return v, false
	}
	return v, !v.IsNull()
}

func narrowInt(b []byte) (int32, bool) {
	v, ok := fastInt(b)
	return int32(v), ok && v >= math.MinInt32 && v <= math.MaxInt32 //nolint:gosec // told by the second result
}

// numbers decodes numbers with fast, and by the rules what fast turns down.
func numbers[T arrow.FixedWidthType](d *cellDecoder, fast func([]byte) (T, bool), get func(feature.Value) T) arrow.Array {
	values := make([]T, len(d.spans))
	mask, want := d.syntax.numberMask|spanNull, d.syntax.numberWant
	for i, s := range d.spans {
		if s.n&mask == want {
			if v, ok := fast(d.cells.text(s)); ok {
				values[i] = v
				continue
			}
		}
		if s.n&spanNull == 0 {
			if v, ok := d.slow(i); ok {
				values[i] = get(v)
				continue
			}
		}
		d.valid.clear(i, len(values))
	}
	return fixedArray(columns.DataType(d.typ), values, &d.valid)
}

func (d *cellDecoder) timestamps() arrow.Array {
	values := make([]arrow.Timestamp, len(d.spans))
	mask, want := d.syntax.textMask|spanNull, d.syntax.textWant
	for i, s := range d.spans {
		if s.n&mask == want {
			if v, ok := fastTimestamp(d.cells.text(s)); ok {
				values[i] = arrow.Timestamp(v)
				continue
			}
		}
		if s.n&spanNull == 0 {
			if v, ok := d.slow(i); ok {
				values[i] = arrow.Timestamp(v.Timestamp())
				continue
			}
		}
		d.valid.clear(i, len(values))
	}
	return fixedArray(columns.Timestamp, values, &d.valid)
}

func (d *cellDecoder) bools() arrow.Array {
	values := make([]byte, bitutil.BytesForBits(int64(len(d.spans))))
	for i, s := range d.spans {
		v, ok := feature.Value{}, false
		if s.n&spanNull == 0 {
			v, ok = d.slow(i)
		}
		if !ok {
			d.valid.clear(i, len(d.spans))
		}
		if v.Bool() {
			bitutil.SetBit(values, i)
		}
	}
	return newArray(arrow.FixedWidthTypes.Boolean, len(d.spans), &d.valid, values)
}

// text decodes strings. A chunk that is UTF-8 as a whole has no cell that is
// not, because it is cut at whole characters only.
func (d *cellDecoder) text() arrow.Array {
	total := 0
	for _, s := range d.spans {
		total += int(s.n &^ spanFlags)
	}
	data := make([]byte, 0, total)
	offsets := make([]int32, len(d.spans)+1)
	mask, want := d.syntax.textMask|spanNull, d.syntax.textWant
	for i, s := range d.spans {
		switch {
		case s.n&mask == want && (d.utf8 || utf8.Valid(d.cells.text(s))):
			data = append(data, d.cells.text(s)...)
		case s.n&spanNull != 0:
			d.valid.clear(i, len(d.spans))
		default:
			if v, ok := d.slow(i); ok {
				data = append(data, v.Text()...)
			} else {
				d.valid.clear(i, len(d.spans))
			}
		}
		offsets[i+1] = int32(len(data)) //nolint:gosec // a chunk is smaller than 2 GiB
	}
	return newArray(arrow.BinaryTypes.String, len(d.spans), &d.valid, arrow.GetBytes(offsets), data)
}

// lists decodes what is rare enough for a builder.
func (d *cellDecoder) lists() arrow.Array {
	b := array.NewBuilder(memory.DefaultAllocator, columns.DataType(d.typ))
	defer b.Release()
	b.Reserve(len(d.spans))
	for i, s := range d.spans {
		if s.n&spanNull == 0 {
			if v, ok := d.slow(i); ok {
				columns.Append(b, v)
				continue
			}
		}
		b.AppendNull()
	}
	return b.NewArray()
}

// validity is the bitmap of an array that has few nulls or none: it is made
// with the first one. The zero validity has none.
type validity struct {
	bits  []byte
	nulls int
}

// clear makes value i of n null. It is called once for a value.
func (v *validity) clear(i, n int) {
	if v.bits == nil {
		v.bits = make([]byte, bitutil.BytesForBits(int64(n)))
		bitutil.SetBitsTo(v.bits, 0, int64(n), true)
	}
	bitutil.ClearBit(v.bits, i)
	v.nulls++
}

func fixedArray[T arrow.FixedWidthType](t arrow.DataType, values []T, valid *validity) arrow.Array {
	return newArray(t, len(values), valid, arrow.GetBytes(values))
}

// newArray makes an array of n values over the given buffers.
func newArray(t arrow.DataType, n int, valid *validity, buffers ...[]byte) arrow.Array {
	all := make([]*memory.Buffer, 1, len(buffers)+1)
	if valid.nulls > 0 {
		all[0] = memory.NewBufferBytes(valid.bits)
	}
	for _, b := range buffers {
		all = append(all, memory.NewBufferBytes(b))
	}
	data := array.NewData(t, n, all, nil, valid.nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
