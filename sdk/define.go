package sdk

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/granary-ml/granary/feature"
)

// The roles that a tag gives a field.
const (
	roleKey     = "key"
	roleFeature = "feature"
	roleEvent   = "event"
	roleCreated = "created"
)

// field is a tagged field of a struct.
type field struct {
	index int
	role  string
	name  string
	typ   feature.Type
}

// fieldsOf reads the tags of a struct type. Its error tells every fault.
func fieldsOf(t reflect.Type) ([]field, error) {
	subject := "type " + t.String()
	if t.Kind() != reflect.Struct {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "sdk", subject, "it is not a struct")
	}
	var fields []field
	var faults []feature.Fault
	for i := range t.NumField() {
		tag, ok := t.Field(i).Tag.Lookup("granary")
		if !ok || tag == "-" {
			continue
		}
		f, err := parseField(t.Field(i), tag)
		if err != nil {
			faults = append(faults, feature.Fault{Field: t.Field(i).Name, Detail: err.Error()})
		}
		f.index = i
		fields = append(fields, f)
	}
	if len(fields) == 0 && len(faults) == 0 {
		faults = append(faults, feature.Fault{Detail: "no field has a granary tag"})
	}
	return fields, feature.Invalid("sdk", subject, faults)
}

// parseField reads one tag: a role, then options.
func parseField(sf reflect.StructField, tag string) (field, error) {
	role, options, _ := strings.Cut(tag, ",")
	f := field{role: role, name: snakeCase(sf.Name)}
	switch role {
	case roleKey, roleFeature, roleEvent, roleCreated:
	default:
		return f, fmt.Errorf("the tag %q has no role (expected key, feature, event or created)", tag)
	}
	if name, ok := strings.CutPrefix(options, "name="); ok {
		f.name = name
	} else if options != "" {
		return f, fmt.Errorf("the tag option %q is unknown (expected name=…)", options)
	}
	typ, err := typeOf(sf.Type)
	f.typ = typ
	switch {
	case err != nil:
		return f, err
	case !sf.IsExported():
		return f, errors.New("it is not exported")
	case role != roleFeature && role != roleKey && typ != feature.TimestampType:
		return f, fmt.Errorf("a %s timestamp is a time.Time or feature.Timestamp", role)
	case role == roleKey && !typ.CanBeKey():
		return f, fmt.Errorf("%s cannot be a join key", typ)
	}
	return f, nil
}

// snakeCase turns a field's name into that of a column: AirTime into air_time.
func snakeCase(name string) string {
	var b strings.Builder
	for i, r := range name {
		upper := r >= 'A' && r <= 'Z'
		inner := i > 0 && (name[i-1] < 'A' || name[i-1] > 'Z')
		last := i > 0 && i+1 < len(name) && name[i+1] >= 'a' && name[i+1] <= 'z'
		if upper && (inner || last) && name[i-1] != '_' {
			b.WriteByte('_')
		}
		b.WriteString(strings.ToLower(string(r)))
	}
	return b.String()
}

var (
	timeType      = reflect.TypeFor[time.Time]()
	timestampType = reflect.TypeFor[feature.Timestamp]()
	bytesType     = reflect.TypeFor[[]byte]()
)

// typeOf returns the feature type of a Go type. A pointer is what may be null.
func typeOf(t reflect.Type) (feature.Type, error) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if typ, ok := scalarOf(t); ok {
		return typ, nil
	}
	elem := reflect.Type(nil)
	if t.Kind() == reflect.Slice || t.Kind() == reflect.Array {
		elem = t.Elem()
	}
	if elem != nil && t.Kind() == reflect.Slice {
		if elem.Kind() == reflect.Pointer {
			elem = elem.Elem()
		}
		if typ, ok := scalarOf(elem); ok {
			return feature.ListOf(typ), nil
		}
	}
	if elem != nil && t.Kind() == reflect.Array && elem.Kind() == reflect.Float32 && t.Len() > 0 {
		return feature.Vector(uint32(t.Len())), nil //nolint:gosec // validated against feature.MaxVectorDim with the view
	}
	return feature.Type{}, fmt.Errorf("the Go type %s is no feature type (expected bool, int32, int64, int, float32, float64, string, []byte, "+
		"time.Time, a pointer to one, a slice of one, or [N]float32)", t)
}

func scalarOf(t reflect.Type) (feature.Type, bool) {
	switch t {
	case timeType, timestampType:
		return feature.TimestampType, true
	case bytesType:
		return feature.Bytes, true
	}
	typ, ok := map[reflect.Kind]feature.Type{
		reflect.Bool: feature.Bool, reflect.Int32: feature.Int32, reflect.Int64: feature.Int64, reflect.Int: feature.Int64,
		reflect.Float32: feature.Float32, reflect.Float64: feature.Float64, reflect.String: feature.String,
	}[t.Kind()]
	return typ, ok
}

// EntityOf returns an entity whose join keys are the fields of T with the role
// key, in order:
//
//	type Weather struct {
//		Origin string    `granary:"key"`
//		Hour   time.Time `granary:"event,name=time_hour"`
//		Temp   *float64  `granary:"feature"`
//	}
//
// A field without a name= has its Go name in snake case.
func EntityOf[T any](name string) (feature.Entity, error) {
	fields, err := fieldsOf(reflect.TypeFor[T]())
	e := feature.Entity{Name: name}
	for _, f := range fields {
		if f.role == roleKey {
			e.JoinKeys = append(e.JoinKeys, feature.JoinKey{Name: f.name, Type: f.typ})
		}
	}
	return e, err
}

// ViewOf returns base with the features and the names of the time columns that
// the tags of T give. Features that base has come first. Whether the view is
// whole is told when it is planned.
func ViewOf[T any](base feature.View) (feature.View, error) {
	fields, err := fieldsOf(reflect.TypeFor[T]())
	view := base
	view.Features = append([]feature.Feature(nil), base.Features...)
	for _, f := range fields {
		switch f.role {
		case roleFeature:
			view.Features = append(view.Features, feature.Feature{Name: f.name, Type: f.typ})
		case roleEvent:
			view.EventTimestamp = f.name
		case roleCreated:
			view.CreatedTimestamp = f.name
		}
	}
	return view, err
}
