package offline

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// Files of other writers may say the same with other types: a list whose element
// has another name, milliseconds, a vector as a list. conform gives an array the
// type of the table, and refuses where that would need a guess.
func conform(arr arrow.Array, want arrow.DataType) (arrow.Array, error) {
	if arrow.TypeEqual(arr.DataType(), want) {
		arr.Retain()
		return arr, nil
	}
	switch t := want.(type) {
	case *arrow.TimestampType:
		return conformTimes(arr, t)
	case *arrow.ListType:
		return conformList(arr, t)
	case *arrow.FixedSizeListType:
		return conformVector(arr, t)
	case *arrow.Int64Type:
		if ints, err := integers(arr); err == nil {
			return build(array.NewInt64Builder(memory.DefaultAllocator), arr, func(b *array.Int64Builder, i int) { b.Append(ints(i)) }), nil
		}
	case *arrow.Int32Type:
		switch arr.(type) {
		case *array.Int8, *array.Int16, *array.Uint8, *array.Uint16:
			if ints, err := integers(arr); err == nil {
				return build(array.NewInt32Builder(memory.DefaultAllocator), arr, func(b *array.Int32Builder, i int) { b.Append(int32(ints(i))) }), nil //nolint:gosec // at most 16 bits
			}
		}
	case *arrow.Float64Type:
		if a, ok := arr.(*array.Float32); ok {
			return build(array.NewFloat64Builder(memory.DefaultAllocator), arr, func(b *array.Float64Builder, i int) { b.Append(float64(a.Value(i))) }), nil
		}
	}
	return nil, unlike(arr, want)
}

func unlike(arr arrow.Array, want arrow.DataType) error {
	return fmt.Errorf("the file has %s where the table has %s", arr.DataType(), want)
}

// build appends every row of arr that is not null, and nulls for the others.
func build[B array.Builder](b B, arr arrow.Array, add func(b B, i int)) arrow.Array {
	defer b.Release()
	b.Reserve(arr.Len())
	for i := range arr.Len() {
		if arr.IsNull(i) {
			b.AppendNull()
		} else {
			add(b, i)
		}
	}
	return b.NewArray()
}

func conformTimes(arr arrow.Array, want *arrow.TimestampType) (arrow.Array, error) {
	times, err := instants(arr)
	if err != nil {
		return nil, unlike(arr, want)
	}
	var bad error
	out := build(array.NewTimestampBuilder(memory.DefaultAllocator, want), arr, func(b *array.TimestampBuilder, i int) {
		t, err := times(i)
		if err != nil && bad == nil {
			bad = fmt.Errorf("row %d: %w", i, err)
		}
		b.Append(arrow.Timestamp(t))
	})
	return out, bad
}

// conformList gives a list another name for its elements, and their type.
func conformList(arr arrow.Array, want *arrow.ListType) (arrow.Array, error) {
	list, ok := arr.(*array.List)
	if !ok {
		return nil, unlike(arr, want)
	}
	elems, err := conform(list.ListValues(), want.Elem())
	if err != nil {
		return nil, err
	}
	return remake(arr, want, elems), nil
}

func remake(arr arrow.Array, want arrow.DataType, elems arrow.Array) arrow.Array {
	d := arr.Data()
	data := array.NewData(want, d.Len(), d.Buffers(), []arrow.ArrayData{elems.Data()}, d.NullN(), d.Offset())
	defer data.Release()
	return array.MakeFromData(data)
}

// conformVector takes vectors, or lists that all have the size of the vector.
func conformVector(arr arrow.Array, want *arrow.FixedSizeListType) (arrow.Array, error) {
	if same, ok := arr.DataType().(*arrow.FixedSizeListType); ok && same.Len() == want.Len() {
		vectors, ok := arr.(*array.FixedSizeList)
		if !ok {
			return nil, unlike(arr, want)
		}
		elems, err := conform(vectors.ListValues(), want.Elem())
		if err != nil {
			return nil, err
		}
		return remake(arr, want, elems), nil
	}
	list, ok := arr.(*array.List)
	if !ok {
		return nil, unlike(arr, want)
	}
	elems, ok := list.ListValues().(*array.Float32)
	if !ok {
		return nil, unlike(arr, want)
	}
	b := array.NewFixedSizeListBuilderWithField(memory.DefaultAllocator, want.Len(), want.ElemField())
	values, ok := b.ValueBuilder().(*array.Float32Builder)
	if !ok {
		return nil, unlike(arr, want)
	}
	var bad error
	out := build(b, arr, func(b *array.FixedSizeListBuilder, i int) {
		start, end := list.ValueOffsets(i)
		part := elems.Float32Values()[start:end]
		if len(part) != int(want.Len()) && bad == nil {
			bad = fmt.Errorf("row %d: a list of %d elements where a vector of %d is expected", i, len(part), want.Len())
		}
		b.Append(true)
		values.AppendValues(append(part[:min(len(part), int(want.Len())):len(part)], make([]float32, max(0, int(want.Len())-len(part)))...), nil)
	})
	return out, bad
}
