package feature

import (
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a scalar.
type Kind uint8

// The kinds. The numbers are part of the packed row format.
const (
	KindInvalid   Kind = 0
	KindBool      Kind = 1
	KindInt32     Kind = 2
	KindInt64     Kind = 3
	KindFloat32   Kind = 4
	KindFloat64   Kind = 5
	KindString    Kind = 6 // UTF-8, compared byte by byte
	KindBytes     Kind = 7
	KindTimestamp Kind = 8 // microseconds, UTC
)

var kindNames = [...]string{"invalid", "bool", "int32", "int64", "float32", "float64", "string", "bytes", "timestamp"}

// String returns the kind's name in definitions.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[0]
}

// Type is the type of a feature or join key: a scalar, a list of scalars whose
// elements may be null, or a vector of float32 of fixed size without nulls.
// Its text is "int64", "list<int64>" or "vector<float32,128>". Types compare
// with ==.
type Type struct {
	Kind Kind
	List bool
	Dim  uint32 // elements of a vector; 0 for scalars and lists
}

// The scalar types.
var (
	Bool          = Type{Kind: KindBool}
	Int32         = Type{Kind: KindInt32}
	Int64         = Type{Kind: KindInt64}
	Float32       = Type{Kind: KindFloat32}
	Float64       = Type{Kind: KindFloat64}
	String        = Type{Kind: KindString}
	Bytes         = Type{Kind: KindBytes}
	TimestampType = Type{Kind: KindTimestamp}
)

// MaxVectorDim is the largest dimension of a vector.
const MaxVectorDim = 65536

// ListOf returns the type of lists of a scalar.
func ListOf(elem Type) Type { return Type{Kind: elem.Kind, List: true} }

// Vector returns the type of float32 vectors of dim elements.
func Vector(dim uint32) Type { return Type{Kind: KindFloat32, Dim: dim} }

// IsScalar tells whether t is neither a list nor a vector.
func (t Type) IsScalar() bool { return !t.List && t.Dim == 0 }

// IsVector tells whether t is a vector.
func (t Type) IsVector() bool { return t.Dim > 0 }

// Elem returns the scalar type of the elements; of a scalar, itself.
func (t Type) Elem() Type { return Type{Kind: t.Kind} }

// String returns the text of the type.
func (t Type) String() string {
	switch {
	case t.List:
		return "list<" + t.Kind.String() + ">"
	case t.Dim > 0:
		return "vector<" + t.Kind.String() + "," + strconv.FormatUint(uint64(t.Dim), 10) + ">"
	}
	return t.Kind.String()
}

// MarshalText implements encoding.TextMarshaler.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler by ParseType.
func (t *Type) UnmarshalText(text []byte) error {
	v, err := ParseType(string(text))
	if err == nil {
		*t = v
	}
	return err
}

// ParseType reads the text of a type; blanks may stand beside "<", ",", ">".
func ParseType(text string) (Type, error) {
	bad := fmt.Errorf("%q is not a type (expected %s, list<…> of one, or vector<float32,N>)",
		clip(text), strings.Join(kindNames[1:], ", "))
	outer, inner, nested := strings.Cut(text, "<")
	outer = strings.Trim(outer, " ")
	if !nested {
		if kind := kindOf(outer); kind != KindInvalid {
			return Type{Kind: kind}, nil
		}
		return Type{}, bad
	}
	inner, closed := strings.CutSuffix(strings.TrimRight(inner, " "), ">")
	switch {
	case closed && outer == "list":
		if kind := kindOf(strings.Trim(inner, " ")); kind != KindInvalid {
			return Type{Kind: kind, List: true}, nil
		}
	case closed && outer == "vector":
		if t, ok := parseVector(inner); ok {
			return t, nil
		}
		return Type{}, fmt.Errorf("%q is not a vector type (expected vector<float32,N> with N from 1 to %d)", clip(text), MaxVectorDim)
	}
	return Type{}, bad
}

func parseVector(inner string) (Type, bool) {
	kind, digits, _ := strings.Cut(inner, ",")
	dim, err := strconv.ParseUint(strings.Trim(digits, " "), 10, 32)
	ok := err == nil && dim > 0 && dim <= MaxVectorDim && strings.Trim(kind, " ") == Float32.String()
	return Vector(uint32(dim)), ok
}

func kindOf(name string) Kind {
	for k, n := range kindNames {
		if k > 0 && n == name {
			return Kind(k)
		}
	}
	return KindInvalid
}

// CanBeKey tells whether a join key may have the type.
func (t Type) CanBeKey() bool {
	if !t.IsScalar() {
		return false
	}
	switch t.Kind {
	case KindBool, KindInt32, KindInt64, KindString, KindBytes, KindTimestamp:
		return true
	case KindInvalid, KindFloat32, KindFloat64:
	}
	return false
}
