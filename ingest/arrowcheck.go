package ingest

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
)

// maxArrowRows bounds the rows of one record: nulls take no bytes, so that a
// short message could say any number of them.
const maxArrowRows = 1 << 26

// checkRecord makes sure that every value of a record that came from outside
// can be read. The Arrow module looks at the ends of the buffers only when it
// builds an array, so that an offset in the middle that points elsewhere is a
// panic at whoever reads the value, in whichever goroutine that is.
func checkRecord(rec arrow.Record) error {
	if rec.NumRows() > maxArrowRows {
		return fmt.Errorf("a record of %d rows, more than %d", rec.NumRows(), maxArrowRows)
	}
	for i, col := range rec.Columns() {
		if int64(col.Len()) != rec.NumRows() {
			return fmt.Errorf("column %s has %d values in a record of %d rows", rec.ColumnName(i), col.Len(), rec.NumRows())
		}
		if err := checkArray(col); err != nil {
			return fmt.Errorf("column %s: %w", rec.ColumnName(i), err)
		}
	}
	return nil
}

func checkArray(arr arrow.Array) error {
	data := arr.Data()
	if data.Len() == 0 {
		return nil // there may be no offsets, either
	}
	if err := checkNulls(arr); err != nil {
		return err
	}
	switch a := arr.(type) {
	case *array.Dictionary:
		return checkDictionary(a)
	case array.ExtensionArray:
		return checkArray(a.Storage())
	case *array.String, *array.Binary:
		return checkOffsets(arrow.GetOffsets[int32](data, 1), dataEnd(data, 2))
	case *array.LargeString, *array.LargeBinary:
		return checkOffsets(arrow.GetOffsets[int64](data, 1), dataEnd(data, 2))
	case *array.StringView:
		return checkViews(data, a.Len(), a.ValueHeader)
	case *array.BinaryView:
		return checkViews(data, a.Len(), a.ValueHeader)
	case array.ListLike:
		return checkList(a)
	case *array.Struct:
		return checkStruct(a)
	}
	return checkFixed(arr)
}

// checkNulls checks that the bitmap of nulls is there if there are nulls, is as
// long as the values are many, and has as many as the array says.
func checkNulls(arr arrow.Array) error {
	if arr.DataType().ID() == arrow.NULL {
		return nil
	}
	data, nulls := arr.Data(), 0
	if bitmap := data.Buffers()[0]; bitmap != nil && bitmap.Len() > 0 {
		if end := data.Offset() + data.Len(); int64(bitmap.Len()) < bitutil.BytesForBits(int64(end)) {
			return fmt.Errorf("a null bitmap of %d bytes for %d values", bitmap.Len(), end)
		}
		nulls = data.Len() - bitutil.CountSetBits(bitmap.Bytes(), data.Offset(), data.Len())
	}
	if arr.NullN() != nulls {
		return fmt.Errorf("%d nulls where %d are expected", nulls, arr.NullN())
	}
	return nil
}

// checkFixed checks the values of arrays that have them side by side.
func checkFixed(arr arrow.Array) error {
	t, ok := arr.DataType().(arrow.FixedWidthDataType)
	if !ok || arr.Len() == 0 {
		return nil
	}
	switch t := t.(type) {
	case arrow.DecimalType:
		// More digits than a 256-bit number has are more than anything can print.
		if p, s := t.GetPrecision(), t.GetScale(); p < 1 || p > maxPrecision(t) || s > p || s < -p {
			return fmt.Errorf("%s is no type of decimals", t)
		}
	case *arrow.FixedSizeBinaryType:
		if t.ByteWidth < 0 {
			return fmt.Errorf("values of %d bytes", t.ByteWidth)
		}
	}
	data := arr.Data()
	bits := int64(data.Offset()+data.Len()) * int64(t.BitWidth())
	if have := dataEnd(data, 1); int64(have) < bitutil.BytesForBits(bits) {
		return fmt.Errorf("%d bytes for %d values of %s", have, data.Offset()+data.Len(), t)
	}
	return nil
}

func maxPrecision(t arrow.DecimalType) int32 {
	if t.ID() == arrow.DECIMAL128 {
		return 38
	}
	return 76
}

// dataEnd returns the length of a buffer.
func dataEnd(data arrow.ArrayData, buffer int) int {
	if b := data.Buffers(); buffer < len(b) && b[buffer] != nil {
		return b[buffer].Len()
	}
	return 0
}

// checkOffsets checks that values lie one after the other and end within end.
func checkOffsets[T int32 | int64](offsets []T, end int) error {
	last := T(0)
	for i, at := range offsets {
		if at < last || int64(at) > int64(end) {
			return fmt.Errorf("value %d begins at %d, after %d, in %d bytes", i, at, last, end)
		}
		last = at
	}
	return nil
}

func checkViews(data arrow.ArrayData, n int, header func(i int) *arrow.ViewHeader) error {
	const fixedBuffers = 2
	for i := range n {
		h := header(i)
		if h.Len() >= 0 && h.IsInline() {
			continue
		}
		at, from := int(h.BufferIndex())+fixedBuffers, int(h.BufferOffset())
		if h.Len() < 0 || h.BufferIndex() < 0 || from < 0 || from+h.Len() > dataEnd(data, at) {
			return fmt.Errorf("value %d lies outside of its buffer", i)
		}
	}
	return nil
}

func checkDictionary(a *array.Dictionary) error {
	if err := checkArray(a.Indices()); err != nil {
		return err
	}
	for i := range a.Len() {
		if at := a.GetValueIndex(i); a.IsValid(i) && (at < 0 || at >= a.Dictionary().Len()) {
			return fmt.Errorf("value %d is number %d of a dictionary of %d", i, at, a.Dictionary().Len())
		}
	}
	return checkArray(a.Dictionary())
}

func checkList(a array.ListLike) error {
	last := int64(0)
	for i := range a.Len() {
		start, end := a.ValueOffsets(i)
		ordered := start >= last || a.DataType().ID() == arrow.LIST_VIEW || a.DataType().ID() == arrow.LARGE_LIST_VIEW
		if start < 0 || end < start || !ordered || end > int64(a.ListValues().Len()) {
			return fmt.Errorf("list %d lies at %d to %d of %d values", i, start, end, a.ListValues().Len())
		}
		last = end
	}
	return checkArray(a.ListValues())
}

func checkStruct(a *array.Struct) error {
	for i := range a.NumField() {
		if a.Field(i).Len() < a.Len() {
			return fmt.Errorf("member %d has %d values where the struct has %d", i, a.Field(i).Len(), a.Len())
		}
		if err := checkArray(a.Field(i)); err != nil {
			return err
		}
	}
	return nil
}
