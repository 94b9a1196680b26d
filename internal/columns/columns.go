// Package columns maps the types and values of features to Arrow and back. It
// is the one place that knows how a view's table looks in columns.
package columns

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
)

// Timestamp is the Arrow type of timestamps: microseconds, UTC.
var Timestamp = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

// DataType returns the Arrow type of a feature type. Elements of lists are
// nullable, those of vectors are not.
func DataType(t feature.Type) arrow.DataType {
	elem := scalarType(t.Kind)
	switch {
	case t.List:
		return arrow.ListOfField(arrow.Field{Name: "element", Type: elem, Nullable: true})
	case t.IsVector():
		return arrow.FixedSizeListOfField(int32(t.Dim), arrow.Field{Name: "element", Type: elem}) //nolint:gosec // at most MaxVectorDim
	}
	return elem
}

func scalarType(k feature.Kind) arrow.DataType {
	switch k {
	case feature.KindBool:
		return arrow.FixedWidthTypes.Boolean
	case feature.KindInt32:
		return arrow.PrimitiveTypes.Int32
	case feature.KindInt64:
		return arrow.PrimitiveTypes.Int64
	case feature.KindFloat32:
		return arrow.PrimitiveTypes.Float32
	case feature.KindFloat64:
		return arrow.PrimitiveTypes.Float64
	case feature.KindString:
		return arrow.BinaryTypes.String
	case feature.KindBytes:
		return arrow.BinaryTypes.Binary
	case feature.KindTimestamp:
		return Timestamp
	case feature.KindInvalid:
	}
	return arrow.Null
}

// TableSchema returns the schema of a view's table: join keys, event timestamp,
// created timestamp, features. Keys and times are not nullable.
func TableSchema(v *feature.BoundView) *arrow.Schema {
	fields := make([]arrow.Field, 0, len(v.Keys)+2+len(v.Features))
	for _, k := range v.Keys {
		fields = append(fields, arrow.Field{Name: k.Name, Type: DataType(k.Type)})
	}
	fields = append(fields,
		arrow.Field{Name: v.EventColumn(), Type: Timestamp},
		arrow.Field{Name: v.CreatedColumn(), Type: Timestamp})
	for _, f := range v.Features {
		fields = append(fields, arrow.Field{Name: f.Name, Type: DataType(f.Type), Nullable: true})
	}
	return arrow.NewSchema(fields, nil)
}

// Append appends v to a builder of its type.
func Append(b array.Builder, v feature.Value) {
	if v.IsNull() {
		b.AppendNull()
		return
	}
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(v.Bool())
	case *array.Int32Builder:
		b.Append(int32(v.Int())) //nolint:gosec // an int32 by its type
	case *array.Int64Builder:
		b.Append(v.Int())
	case *array.Float32Builder:
		b.Append(v.Float32())
	case *array.Float64Builder:
		b.Append(v.Float())
	case *array.StringBuilder:
		b.Append(v.Text())
	case *array.BinaryBuilder:
		b.AppendString(v.Text())
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(v.Timestamp()))
	case *array.ListBuilder:
		b.Append(true)
		appendAll(b.ValueBuilder(), v.Elems())
	case *array.FixedSizeListBuilder:
		b.Append(true)
		appendAll(b.ValueBuilder(), v.Elems())
	default:
		b.AppendNull()
	}
}

func appendAll(b array.Builder, values []feature.Value) {
	for _, v := range values {
		Append(b, v)
	}
}

// Value returns row i of an array whose Arrow type is DataType(t).
func Value(arr arrow.Array, i int, t feature.Type) (feature.Value, error) {
	if arr.IsNull(i) {
		return feature.Null(t), nil
	}
	switch a := arr.(type) {
	case *array.Boolean:
		return feature.BoolValue(a.Value(i)), nil
	case *array.Int32:
		return feature.Int32Value(a.Value(i)), nil
	case *array.Int64:
		return feature.Int64Value(a.Value(i)), nil
	case *array.Float32:
		return feature.Float32Value(a.Value(i)), nil
	case *array.Float64:
		return feature.Float64Value(a.Value(i)), nil
	case *array.String:
		return feature.StringValue(a.Value(i)), nil
	case *array.Binary:
		return feature.BytesValue(a.Value(i)), nil
	case *array.Timestamp:
		return feature.TimestampValue(feature.Timestamp(a.Value(i))), nil
	case array.ListLike:
		return listValue(a, i, t)
	}
	return feature.Value{}, fmt.Errorf("arrow type %s where %s is expected", arr.DataType(), t)
}

func listValue(a array.ListLike, i int, t feature.Type) (feature.Value, error) {
	start, end := a.ValueOffsets(i)
	elems := make([]feature.Value, 0, end-start)
	for j := start; j < end; j++ {
		e, err := Value(a.ListValues(), int(j), t.Elem())
		if err != nil {
			return feature.Value{}, err
		}
		elems = append(elems, e)
	}
	return feature.ListValue(t, elems), nil
}
