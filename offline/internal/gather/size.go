package gather

import (
	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
)

// Bytes returns about how much memory the rows of a record need: those of a
// slice count, not those of the array that it is cut from.
func Bytes(rec arrow.Record) int64 {
	total := int64(0)
	for _, arr := range rec.Columns() {
		total += arrayBytes(arr, 0, arr.Len())
	}
	return total
}

// arrayBytes is the size of the rows [start, end) of an array.
func arrayBytes(arr arrow.Array, start, end int) int64 {
	n := int64(end - start)
	if n <= 0 {
		return 0
	}
	validity := n / 8
	switch a := arr.(type) {
	case *array.String, *array.Binary:
		offsets := arrow.GetOffsets[int32](a.Data(), 1)
		return validity + 4*n + int64(offsets[end]-offsets[start])
	case *array.LargeString, *array.LargeBinary:
		offsets := arrow.GetOffsets[int64](a.Data(), 1)
		return validity + 8*n + offsets[end] - offsets[start]
	case *array.Struct:
		total := validity
		for i := range a.NumField() {
			total += arrayBytes(a.Field(i), start, end)
		}
		return total
	case array.ListLike:
		first, _ := a.ValueOffsets(start)
		_, last := a.ValueOffsets(end - 1)
		return validity + 4*n + arrayBytes(a.ListValues(), int(first), int(last))
	}
	if t, ok := arr.DataType().(arrow.FixedWidthDataType); ok {
		return validity + (n*int64(t.BitWidth())+7)/8
	}
	const unknown = 16 // a guess for types that are not ours
	return validity + n*unknown
}
