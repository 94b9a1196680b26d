package delta

import (
	"maps"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
)

// typeKey is the metadata key of a column whose type Delta cannot say: a vector
// is an array of float without nulls to others.
const typeKey = "granary.type"

var primitives = map[feature.Kind]string{
	feature.KindBool: "boolean", feature.KindInt32: "integer", feature.KindInt64: "long",
	feature.KindFloat32: "float", feature.KindFloat64: "double", feature.KindString: "string",
	feature.KindBytes: "binary", feature.KindTimestamp: "timestamp",
}

type structType struct {
	Type   string        `json:"type"`
	Fields []structField `json:"fields"`
}

type structField struct {
	Name     string                    `json:"name"`
	Type     jsontext.Value            `json:"type"`
	Nullable bool                      `json:"nullable"`
	Metadata map[string]jsontext.Value `json:"metadata"`
}

type arrayType struct {
	Type         string         `json:"type"`
	ElementType  jsontext.Value `json:"elementType"`
	ContainsNull bool           `json:"containsNull"`
}

func encodeSchema(fields []Field) (string, error) {
	s := structType{Type: "struct", Fields: make([]structField, len(fields))}
	for i, f := range fields {
		typ, err := encodeType(f.Type)
		if err != nil {
			return "", err
		}
		meta := map[string]jsontext.Value{}
		for k, v := range f.Metadata {
			meta[k] = textValue(v)
		}
		if f.Type.IsVector() {
			meta[typeKey] = textValue(f.Type.String())
		}
		s.Fields[i] = structField{Name: f.Name, Type: typ, Nullable: f.Nullable, Metadata: meta}
	}
	text, err := marshal(s)
	return string(text), err
}

func encodeType(t feature.Type) (jsontext.Value, error) {
	elem := textValue(primitives[t.Kind])
	if t.IsScalar() {
		return elem, nil
	}
	return marshal(arrayType{Type: "array", ElementType: elem, ContainsNull: t.List})
}

// decodeSchema reads the columns of a table; one of a type that features do not
// have is refused by name.
func decodeSchema(text string) ([]Field, error) {
	var s structType
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return nil, feature.Errorf(feature.CodeDataLoss, "delta.read", "schema", "not a schema: %w", err)
	}
	fields := make([]Field, len(s.Fields))
	for i, sf := range s.Fields {
		f := Field{Name: sf.Name, Nullable: sf.Nullable}
		for k, raw := range sf.Metadata {
			if k != typeKey && raw.Kind() == '"' {
				if f.Metadata == nil {
					f.Metadata = map[string]string{}
				}
				f.Metadata[k] = textOf(raw)
			}
		}
		typ, err := decodeType(sf)
		if err != nil {
			return nil, err
		}
		f.Type = typ
		fields[i] = f
	}
	return fields, nil
}

func decodeType(sf structField) (feature.Type, error) {
	if t, ok := scalarOf(sf.Type); ok {
		return t, nil
	}
	var arr arrayType
	if sf.Type.Kind() == '{' && json.Unmarshal(sf.Type, &arr) == nil && arr.Type == "array" {
		if elem, ok := scalarOf(arr.ElementType); ok {
			vector, err := feature.ParseType(textOf(sf.Metadata[typeKey]))
			if err == nil && vector.IsVector() && elem == feature.Float32 && !arr.ContainsNull {
				return vector, nil
			}
			return feature.ListOf(elem), nil
		}
	}
	return feature.Type{}, feature.Errorf(feature.CodeFailedPrecondition, "delta.read", "column "+sf.Name,
		"the type %s is not one of features (expected %s, or an array of one)", textOf(sf.Type), primitiveList())
}

func scalarOf(raw jsontext.Value) (feature.Type, bool) {
	name := textOf(raw)
	for kind, primitive := range primitives {
		if primitive == name {
			return feature.Type{Kind: kind}, true
		}
	}
	return feature.Type{}, false
}

func primitiveList() string {
	names := make([]string, 0, len(primitives))
	for kind := feature.KindBool; kind <= feature.KindTimestamp; kind++ {
		names = append(names, primitives[kind])
	}
	return strings.Join(names, ", ")
}

// validate tells every fault of a table's description at once.
func (m *Metadata) validate(op string) error {
	var faults []feature.Fault
	fault := func(field, detail string) { faults = append(faults, feature.Fault{Field: field, Detail: detail}) }
	seen := map[string]string{}
	for _, f := range m.Fields {
		lower := strings.ToLower(f.Name)
		switch other, taken := seen[lower]; {
		case f.Name == "":
			fault("fields", "a column has no name")
		case taken:
			fault(f.Name, "the name is that of "+other+" but for case")
		case primitives[f.Type.Kind] == "" || f.Type.Dim > feature.MaxVectorDim:
			fault(f.Name, "no such type: "+f.Type.String())
		}
		seen[lower] = f.Name
	}
	if len(m.Fields) == 0 {
		fault("fields", "a table has at least one column")
	}
	for _, name := range m.PartitionColumns {
		if f, ok := m.field(name); !ok || !f.Type.IsScalar() {
			fault(name, "a partition column must be a scalar column of the table")
		}
	}
	return feature.Invalid(op, "table", faults)
}

func (m *Metadata) field(name string) (Field, bool) {
	for _, f := range m.Fields {
		if f.Name == name {
			return f, true
		}
	}
	return Field{}, false
}

func (m *Metadata) encode() (*metaDataAction, error) {
	schema, err := encodeSchema(m.Fields)
	if err != nil {
		return nil, err
	}
	created := floorMillis(m.Created)
	a := &metaDataAction{
		ID: m.ID, Format: formatSpec{Provider: "parquet", Options: map[string]string{}}, SchemaString: schema,
		PartitionColumns: append([]string{}, m.PartitionColumns...), Configuration: map[string]string{}, CreatedTime: &created,
	}
	maps.Copy(a.Configuration, m.Configuration)
	if m.Name != "" {
		a.Name = &m.Name
	}
	if m.Description != "" {
		a.Description = &m.Description
	}
	return a, nil
}

func decodeMetadata(a *metaDataAction) (Metadata, error) {
	if a.Format.Provider != "" && a.Format.Provider != "parquet" {
		return Metadata{}, feature.Errorf(feature.CodeFailedPrecondition, "delta.read", "table",
			"its files are %s (expected parquet)", a.Format.Provider)
	}
	fields, err := decodeSchema(a.SchemaString)
	if err != nil {
		return Metadata{}, err
	}
	m := Metadata{ID: a.ID, Fields: fields, PartitionColumns: a.PartitionColumns, Configuration: a.Configuration}
	if len(m.PartitionColumns) == 0 {
		m.PartitionColumns = nil
	}
	if len(m.Configuration) == 0 {
		m.Configuration = nil
	}
	if a.Name != nil {
		m.Name = *a.Name
	}
	if a.Description != nil {
		m.Description = *a.Description
	}
	if a.CreatedTime != nil {
		m.Created = fromMillis(*a.CreatedTime)
	}
	return m, nil
}
