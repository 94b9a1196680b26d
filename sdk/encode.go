package sdk

import (
	"reflect"
	"time"

	"github.com/granary-ml/granary/feature"
)

// appendRows appends structs as NDJSON, one object a line, by their tags.
func appendRows[T any](dst []byte, rows []T) ([]byte, error) {
	fields, err := fieldsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	for i := range rows {
		row := reflect.ValueOf(&rows[i]).Elem()
		dst = append(dst, '{')
		for j, f := range fields {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = feature.AppendStringJSON(dst, f.name)
			dst = append(dst, ':')
			dst = valueOf(row.Field(f.index), f.typ).AppendJSON(dst)
		}
		dst = append(dst, '}', '\n')
	}
	return dst, nil
}

// valueOf turns a Go value into one of its feature type. A nil pointer and a
// nil slice are null.
func valueOf(v reflect.Value, t feature.Type) feature.Value {
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice {
		if v.IsNil() {
			return feature.Null(t)
		}
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if !t.IsScalar() {
		elems := make([]feature.Value, v.Len())
		for i := range elems {
			elems[i] = valueOf(v.Index(i), t.Elem())
		}
		return feature.ListValue(t, elems)
	}
	switch t.Kind {
	case feature.KindBool:
		return feature.BoolValue(v.Bool())
	case feature.KindInt32:
		return feature.Int32Value(int32(v.Int())) //nolint:gosec // its Go type is int32
	case feature.KindInt64:
		return feature.Int64Value(v.Int())
	case feature.KindFloat32:
		return feature.Float32Value(float32(v.Float()))
	case feature.KindFloat64:
		return feature.Float64Value(v.Float())
	case feature.KindString:
		return feature.StringValue(v.String())
	case feature.KindBytes:
		return feature.BytesValue(v.Bytes())
	case feature.KindTimestamp:
		return feature.TimestampValue(timestampOf(v))
	case feature.KindInvalid:
	}
	return feature.Null(t)
}

func timestampOf(v reflect.Value) feature.Timestamp {
	if t, ok := reflect.TypeAssert[time.Time](v); ok {
		return feature.FromTime(t)
	}
	return feature.Timestamp(v.Int())
}
