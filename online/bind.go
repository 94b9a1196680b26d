package online

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// binder finds the columns of a record and keeps what is wrong with them.
type binder struct {
	rec    arrow.Record
	faults []feature.Fault
}

// column binds the column of a name.
func (b *binder) column(name string, t feature.Type) column {
	at := b.rec.Schema().FieldIndices(name)
	if len(at) != 1 {
		b.fault(name, "%d columns of that name where one is expected", len(at))
		return column{}
	}
	arr := b.rec.Column(at[0])
	c, ok := bind(arr, t)
	if !ok {
		b.fault(name, "arrow type %s where %s is expected", arr.DataType(), columns.DataType(t))
	}
	return c
}

func (b *binder) fault(name, format string, args ...any) {
	b.faults = append(b.faults, feature.Fault{Field: "columns[" + name + "]", Detail: fmt.Sprintf(format, args...)})
}

// bind lays a column open; false if it is not of the type.
func bind(arr arrow.Array, t feature.Type) (column, bool) {
	if t.IsScalar() {
		return bindScalar(arr, t.Kind)
	}
	list, ok := arr.(array.ListLike)
	if !ok {
		return column{}, false
	}
	if fixed, isFixed := arr.DataType().(*arrow.FixedSizeListType); isFixed != t.IsVector() || isFixed && fixed.Len() != int32(t.Dim) { //nolint:gosec // at most MaxVectorDim
		return column{}, false
	}
	elems, ok := bindScalar(list.ListValues(), t.Kind)
	c := column{kind: t.Kind, list: list, elems: &elems}
	c.setNulls(arr)
	return c, ok
}

func bindScalar(arr arrow.Array, k feature.Kind) (column, bool) {
	c := column{kind: k}
	c.setNulls(arr)
	switch a := arr.(type) {
	case *array.Boolean:
		c.bits = a
		return c, k == feature.KindBool
	case *array.Int32, *array.Float32:
		c.u32 = fixed(arr, arrow.Uint32Traits.CastFromBytes)
		return c, k == kindOf(arr)
	case *array.Int64, *array.Float64, *array.Timestamp:
		c.u64 = fixed(arr, arrow.Uint64Traits.CastFromBytes)
		return c, k == kindOf(arr)
	case *array.String:
		c.str = a
		return c, k == feature.KindString
	case *array.Binary:
		c.bin = a
		return c, k == feature.KindBytes
	}
	return column{}, false
}

func (c *column) setNulls(arr arrow.Array) {
	if arr.NullN() > 0 {
		c.nulls = arr
	}
}

// kindOf returns the kind whose columns have the Arrow type of an array of
// fixed width. A timestamp counts only in microseconds: another unit would be
// read as another time.
func kindOf(arr arrow.Array) feature.Kind {
	switch t := arr.DataType().(type) {
	case *arrow.Int32Type:
		return feature.KindInt32
	case *arrow.Int64Type:
		return feature.KindInt64
	case *arrow.Float32Type:
		return feature.KindFloat32
	case *arrow.Float64Type:
		return feature.KindFloat64
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond {
			return feature.KindTimestamp
		}
	}
	return feature.KindInvalid
}

// fixed returns the values of an array of fixed width as integers of the same
// bits.
func fixed[T uint32 | uint64](arr arrow.Array, cast func([]byte) []T) []T {
	data := arr.Data()
	buf := data.Buffers()[1]
	if buf == nil { // an array without rows may have no buffer
		return nil
	}
	return cast(buf.Bytes())[data.Offset() : data.Offset()+data.Len()]
}
