package gather

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Lists and vectors are gathered as spans of their elements: the elements of a
// row lie together, so that they are copied at once.

// span is the elements [start, end) of the elements of a source.
type span struct {
	source     int32
	start, end int32
}

func (t *taker) takeList() (arrow.Array, error) {
	extents := make([][]int32, len(t.sources))
	for s, arr := range t.sources {
		if arr.Len() > 0 {
			extents[s] = arrow.GetOffsets[int32](arr.Data(), 1)
		}
	}
	extent := func(r Ref) (start, end int32) { return extents[r.Source][r.Row], extents[r.Source][r.Row+1] }
	offsets, err := t.offsets(extent)
	if err != nil {
		return nil, err
	}
	spans := make([]span, 0, len(t.refs))
	for i, r := range t.refs {
		if offsets[i] != offsets[i+1] {
			start, end := extent(r)
			spans = append(spans, span{source: r.Source, start: start, end: end})
		}
	}
	elems, err := t.takeElements(spans, int(offsets[len(t.refs)]))
	if err != nil {
		return nil, err
	}
	return t.make([]*memory.Buffer{memory.NewBufferBytes(arrow.GetBytes(offsets))}, elems), nil
}

func (t *taker) takeVector() (arrow.Array, error) {
	vector, ok := t.dt.(*arrow.FixedSizeListType)
	if !ok {
		return nil, fmt.Errorf("arrow type %s is not that of a vector", t.dt)
	}
	n := vector.Len()
	spans := make([]span, len(t.refs))
	for i, r := range t.refs {
		spans[i] = span{source: -1, end: n} // a null has elements, too, of no value
		if r.Source >= 0 {
			start := (int32(t.sources[r.Source].Data().Offset()) + r.Row) * n //nolint:gosec // an offset of Arrow
			spans[i] = span{source: r.Source, start: start, end: start + n}
		}
	}
	elems, err := t.takeElements(spans, len(t.refs)*int(n))
	if err != nil {
		return nil, err
	}
	return t.make(nil, elems), nil
}

// takeElements gathers spans of the elements of the sources, n in all.
func (t *taker) takeElements(spans []span, n int) (arrow.ArrayData, error) {
	list, ok := t.dt.(arrow.ListLikeType)
	if !ok {
		return nil, fmt.Errorf("arrow type %s is not that of a list", t.dt)
	}
	e := elements{dt: list.Elem(), spans: spans, n: n, children: make([]arrow.Array, len(t.sources))}
	for s, arr := range t.sources {
		lists, ok := arr.(array.ListLike)
		if !ok {
			return nil, fmt.Errorf("arrow type %s where a list is expected", arr.DataType())
		}
		e.children[s] = lists.ListValues()
	}
	return e.take()
}

// elements gathers spans of arrays of scalars.
type elements struct {
	dt       arrow.DataType
	children []arrow.Array
	spans    []span
	n        int
}

func (e *elements) take() (arrow.ArrayData, error) {
	switch e.dt.ID() { //nolint:exhaustive // the types of features; others are refused
	case arrow.BOOL:
		return e.data(e.takeBits()), nil
	case arrow.INT32, arrow.FLOAT32:
		return e.data(takeSpans[uint32](e)), nil
	case arrow.INT64, arrow.FLOAT64, arrow.TIMESTAMP:
		return e.data(takeSpans[uint64](e)), nil
	case arrow.STRING, arrow.BINARY:
		return e.takeTexts()
	default:
		return nil, fmt.Errorf("arrow type %s is not that of an element", e.dt)
	}
}

func (e *elements) data(buffers ...*memory.Buffer) arrow.ArrayData {
	valid, nulls := e.takeValidity()
	return array.NewData(e.dt, e.n, append([]*memory.Buffer{valid}, buffers...), nil, nulls, 0)
}

func (e *elements) takeValidity() (*memory.Buffer, int) {
	bitmaps := make([]bitmap, len(e.children))
	anyNull := false
	for s, arr := range e.children {
		bitmaps[s] = validity(arr)
		anyNull = anyNull || bitmaps[s].bits != nil
	}
	if !anyNull {
		return nil, 0
	}
	bits := make([]byte, bitutil.BytesForBits(int64(e.n)))
	at, nulls := 0, 0
	for _, s := range e.spans {
		for row := s.start; row < s.end; row++ {
			if s.source >= 0 && !bitmaps[s.source].valid(int(row)) {
				nulls++
			} else {
				bitutil.SetBit(bits, at)
			}
			at++
		}
	}
	return memory.NewBufferBytes(bits), nulls
}

func takeSpans[T uint32 | uint64](e *elements) *memory.Buffer {
	values := make([][]T, len(e.children))
	for s, arr := range e.children {
		values[s] = arrow.GetValues[T](arr.Data(), 1)
	}
	out := make([]T, e.n)
	at := 0
	for _, s := range e.spans {
		if s.source >= 0 {
			copy(out[at:], values[s.source][s.start:s.end])
		}
		at += int(s.end - s.start)
	}
	return memory.NewBufferBytes(arrow.GetBytes(out))
}

func (e *elements) takeBits() *memory.Buffer {
	bits := make([]byte, bitutil.BytesForBits(int64(e.n)))
	at := 0
	for _, s := range e.spans {
		if s.source >= 0 {
			data := e.children[s.source].Data()
			bitutil.CopyBitmap(data.Buffers()[1].Bytes(), data.Offset()+int(s.start), int(s.end-s.start), bits, at)
		}
		at += int(s.end - s.start)
	}
	return memory.NewBufferBytes(bits)
}

// takeTexts gathers elements of text one by one, as rows are.
func (e *elements) takeTexts() (arrow.ArrayData, error) {
	refs := make([]Ref, 0, e.n)
	for _, s := range e.spans {
		for row := s.start; row < s.end; row++ {
			refs = append(refs, Ref{Source: s.source, Row: row})
		}
	}
	arr, err := Take(e.dt, e.children, refs)
	if err != nil {
		return nil, err
	}
	defer arr.Release()
	data := arr.Data()
	data.Retain()
	return data, nil
}
