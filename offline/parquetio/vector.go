package parquetio

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// listSchema returns the schema that is stored for a schema: lists of fixed size
// become lists, which is all that Parquet has. The Arrow module writes them, too,
// but not where one is null, and it stores elements that are never null as if
// they could be.
func listSchema(schema *arrow.Schema) (*arrow.Schema, error) {
	fields := schema.Fields()
	for i, f := range fields {
		switch t := f.Type.(type) {
		case *arrow.FixedSizeListType:
			fields[i].Type = arrow.ListOfField(t.ElemField())
		case arrow.NestedType:
			if err := refuseNestedVectors(t); err != nil {
				return nil, fmt.Errorf("column %s: %w", f.Name, err)
			}
		}
	}
	meta := schema.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

func refuseNestedVectors(t arrow.NestedType) error {
	for _, f := range t.Fields() {
		if f.Type.ID() == arrow.FIXED_SIZE_LIST {
			return fmt.Errorf("list of fixed size within %s is not supported", t)
		}
		if inner, ok := f.Type.(arrow.NestedType); ok {
			if err := refuseNestedVectors(inner); err != nil {
				return err
			}
		}
	}
	return nil
}

// toStored turns a list of fixed size into the list that is stored: without the
// elements under a null. Other arrays are retained.
func toStored(arr arrow.Array, stored arrow.DataType) (arrow.Array, error) {
	lists, ok := arr.(*array.FixedSizeList)
	if !ok {
		arr.Retain()
		return arr, nil
	}
	offsets := make([]int32, 1, lists.Len()+1)
	var parts []arrow.Array
	start, end := int64(0), int64(0) // of the run of elements to keep
	for i := range lists.Len() {
		from, to := lists.ValueOffsets(i)
		size := to - from
		switch {
		case lists.IsNull(i):
			size = 0
		case from == end:
			end = to
		default:
			parts = appendRun(parts, lists, start, end)
			start, end = from, to
		}
		offsets = append(offsets, offsets[i]+int32(size))
	}
	parts = appendRun(parts, lists, start, end)
	child := parts[0]
	if len(parts) > 1 {
		joined, err := array.Concatenate(parts, memory.DefaultAllocator)
		if err != nil {
			return nil, err
		}
		child = joined
	}
	valid := make([]byte, (lists.Len()+7)/8)
	for i := range lists.Len() {
		if lists.IsValid(i) {
			valid[i>>3] |= 1 << (i & 7)
		}
	}
	buffers := []*memory.Buffer{bitmap(valid, lists.NullN()), memory.NewBufferBytes(arrow.Int32Traits.CastToBytes(offsets))}
	return array.MakeFromData(array.NewData(stored, lists.Len(), buffers, []arrow.ArrayData{child.Data()}, lists.NullN(), 0)), nil
}

// appendRun appends elements; the first run is kept even if it is empty.
func appendRun(parts []arrow.Array, lists *array.FixedSizeList, start, end int64) []arrow.Array {
	if start == end && len(parts) > 0 {
		return parts
	}
	return append(parts, array.NewSlice(lists.ListValues(), start, end))
}
