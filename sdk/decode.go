package sdk

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// Decode turns the answer of a lookup into one struct per entity, in order. A
// field with a tag takes the column of its name, else the one whose feature has
// its name: name=weather:temp, or name=temp if only one view answers a temp.
// What may be null is a pointer or a slice; a null for any other field is an
// error, and so is a field without a column.
func Decode[T any](answer *wire.OnlineResponse) ([]T, error) {
	fields, err := fieldsOf(reflect.TypeFor[T]())
	if err != nil {
		return nil, err
	}
	var out []T
	var faults []feature.Fault
	for _, f := range fields {
		column, err := columnOf(answer, f.name)
		if err == nil {
			if out == nil {
				out = make([]T, len(column.Values))
			}
			err = decodeColumn(out, f, column)
		}
		if err != nil {
			faults = append(faults, feature.Fault{Field: f.name, Detail: err.Error()})
		}
	}
	return out, feature.Invalid("sdk.Decode", "type "+reflect.TypeFor[T]().String(), faults)
}

// columnOf finds the column of a name.
func columnOf(answer *wire.OnlineResponse, name string) (*wire.Column, error) {
	var found *wire.Column
	for i := range answer.Columns {
		c := &answer.Columns[i]
		if c.Name == name {
			return c, nil
		}
		if _, short, ok := strings.Cut(c.Name, ":"); ok && short == name {
			if found != nil {
				return nil, fmt.Errorf("both %s and %s have this name", found.Name, c.Name)
			}
			found = c
		}
	}
	if found == nil {
		return nil, errors.New("the answer has no such column")
	}
	return found, nil
}

func decodeColumn[T any](out []T, f field, column *wire.Column) error {
	if len(column.Values) != len(out) {
		return fmt.Errorf("%d values where %d are expected", len(column.Values), len(out))
	}
	for i, raw := range column.Values {
		dst := reflect.ValueOf(&out[i]).Elem().Field(f.index)
		if err := decodeValue(dst, raw, f.typ); err != nil {
			return fmt.Errorf("row %d: %w", i, err)
		}
	}
	return nil
}

// decodeValue reads one JSON value, as native JSON writes it, into a field.
func decodeValue(dst reflect.Value, raw wire.RawValue, t feature.Type) error {
	if string(raw) == "null" {
		if dst.Kind() != reflect.Pointer && dst.Kind() != reflect.Slice {
			return fmt.Errorf("null for the Go type %s: make it a pointer", dst.Type())
		}
		dst.SetZero()
		return nil
	}
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
	}
	if !t.IsScalar() {
		return decodeList(dst, raw, t)
	}
	if raw[0] == '"' {
		return decodeText(dst, raw, t)
	}
	return json.Unmarshal(raw, dst.Addr().Interface())
}

func decodeList(dst reflect.Value, raw wire.RawValue, t feature.Type) error {
	var parts []wire.RawValue
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	if dst.Kind() == reflect.Slice {
		dst.Set(reflect.MakeSlice(dst.Type(), len(parts), len(parts)))
	}
	if dst.Len() != len(parts) {
		return fmt.Errorf("%d elements for the Go type %s", len(parts), dst.Type())
	}
	for i, part := range parts {
		if err := decodeValue(dst.Index(i), part, t.Elem()); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// decodeText reads what JSON has as text: strings, bytes, timestamps, and the
// floats that are not finite.
func decodeText(dst reflect.Value, raw wire.RawValue, t feature.Type) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	switch t.Kind {
	case feature.KindString:
		dst.SetString(text)
		return nil
	case feature.KindBytes:
		data, err := base64.StdEncoding.DecodeString(text)
		dst.SetBytes(data)
		return err
	case feature.KindTimestamp:
		ts, err := feature.ParseTimestamp(text)
		if dst.Type() == timeType {
			dst.Set(reflect.ValueOf(ts.Time()))
		} else {
			dst.SetInt(int64(ts))
		}
		return err
	case feature.KindFloat32, feature.KindFloat64:
		if f, ok := map[string]float64{"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1)}[text]; ok {
			dst.SetFloat(f)
			return nil
		}
	case feature.KindBool, feature.KindInt32, feature.KindInt64, feature.KindInvalid:
	}
	return fmt.Errorf("the text %q for the Go type %s", text, dst.Type())
}
