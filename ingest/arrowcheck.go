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
	end := data.Offset() + data.Len()
	if nulls := data.Buffers(); len(nulls) > 0 && nulls[0] != nil && nulls[0].Len() > 0 {
		if int64(nulls[0].Len()) < bitutil.BytesForBits(int64(end)) {
			return fmt.Errorf("a null bitmap of %d bytes for %d values", nulls[0].Len(), end)
		}
	}
	switch a := arr.(type) {
	case *array.Dictionary:
		return checkDictionary(a)
	case array.ExtensionArray:
		return checkArray(a.Storage())
	case *array.String:
		return checkOffsets(a.Len(), a.ValueOffset, dataEnd(data, 2))
	case *array.Binary:
		return checkOffsets(a.Len(), a.ValueOffset, dataEnd(data, 2))
	case *array.LargeString:
		return checkOffsets(a.Len(), func(i int) int { return int(a.ValueOffset(i)) }, dataEnd(data, 2))
	case *array.LargeBinary:
		return checkOffsets(a.Len(), func(i int) int { return int(a.ValueOffset64(i)) }, dataEnd(data, 2))
	case *array.StringView:
		return checkViews(data, a.Len(), a.ValueHeader)
	case *array.BinaryView:
		return checkViews(data, a.Len(), a.ValueHeader)
	case array.ListLike:
		return checkList(a)
	case *array.Struct:
		return checkStruct(a)
	case array.Union:
		return checkUnion(a)
	case *array.RunEndEncoded:
		return fmt.Errorf("%s is not read here", a.DataType())
	}
	return checkFixed(arr)
}

// checkFixed checks the values of arrays that have them side by side.
func checkFixed(arr arrow.Array) error {
	t, ok := arr.DataType().(arrow.FixedWidthDataType)
	if !ok || arr.Len() == 0 {
		return nil
	}
	data := arr.Data()
	bits := int64(data.Offset()+data.Len()) * int64(t.BitWidth())
	if have := dataEnd(data, 1); int64(have) < bitutil.BytesForBits(bits) {
		return fmt.Errorf("%d bytes for %d values of %s", have, data.Offset()+data.Len(), t)
	}
	return nil
}

// dataEnd returns the length of a buffer.
func dataEnd(data arrow.ArrayData, buffer int) int {
	if b := data.Buffers(); buffer < len(b) && b[buffer] != nil {
		return b[buffer].Len()
	}
	return 0
}

// checkOffsets checks that n values lie one after the other and end within end.
func checkOffsets(n int, offset func(i int) int, end int) error {
	if n == 0 {
		return nil
	}
	last := offset(0)
	if last < 0 {
		return fmt.Errorf("a value begins at %d", last)
	}
	for i := 1; i <= n; i++ {
		at := offset(i)
		if at < last || at > end {
			return fmt.Errorf("value %d ends at %d, after %d of %d", i-1, at, last, end)
		}
		last = at
	}
	return nil
}

func checkViews(data arrow.ArrayData, n int, header func(i int) *arrow.ViewHeader) error {
	const fixedBuffers = 2
	for i := range n {
		h := header(i)
		if h.IsInline() {
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

func checkUnion(a array.Union) error {
	if err := a.ValidateFull(); err != nil {
		return err
	}
	for i := range a.NumFields() {
		if err := checkArray(a.Field(i)); err != nil {
			return err
		}
	}
	return nil
}
