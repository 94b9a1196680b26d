package feature

import (
	"math"
	"strings"
)

// Value is one value of a type, or a null of it. It is immutable: a list is
// copied neither in nor out, and whoever hands one over must not change it. The
// zero Value is a null of no type.
type Value struct {
	typ   Type
	set   bool
	num   uint64 // bool, integers, timestamps, the bits of floats
	text  string // strings and bytes
	elems []Value
}

// Null returns the null of a type.
func Null(t Type) Value { return Value{typ: t} }

// BoolValue returns a bool.
func BoolValue(v bool) Value {
	out := Value{typ: Bool, set: true}
	if v {
		out.num = 1
	}
	return out
}

// bitsOf, intOf and float32Of go between numbers and the bits that a Value
// keeps; nothing is lost either way.
func bitsOf(v int64) uint64 { return uint64(v) } //nolint:gosec // the bits are meant

func intOf(bits uint64) int64 { return int64(bits) } //nolint:gosec // the bits are meant

func float32Of(bits uint64) float32 { return math.Float32frombits(uint32(bits)) } //nolint:gosec // the upper half is zero

// Int32Value returns an int32.
func Int32Value(v int32) Value { return Value{typ: Int32, set: true, num: bitsOf(int64(v))} }

// Int64Value returns an int64.
func Int64Value(v int64) Value { return Value{typ: Int64, set: true, num: bitsOf(v)} }

// Float32Value returns a float32.
func Float32Value(v float32) Value {
	return Value{typ: Float32, set: true, num: uint64(math.Float32bits(v))}
}

// Float64Value returns a float64.
func Float64Value(v float64) Value { return Value{typ: Float64, set: true, num: math.Float64bits(v)} }

// StringValue returns a string.
func StringValue(v string) Value { return Value{typ: String, set: true, text: v} }

// BytesValue returns bytes; v is copied.
func BytesValue(v []byte) Value { return Value{typ: Bytes, set: true, text: string(v)} }

// TimestampValue returns a timestamp.
func TimestampValue(v Timestamp) Value {
	return Value{typ: TimestampType, set: true, num: bitsOf(int64(v))}
}

// ListValue returns a list or vector of type t; the elements have type t.Elem().
func ListValue(t Type, elems []Value) Value { return Value{typ: t, set: true, elems: elems} }

// VectorValue returns a vector.
func VectorValue(v []float32) Value {
	elems := make([]Value, len(v))
	for i, f := range v {
		elems[i] = Float32Value(f)
	}
	return ListValue(Vector(uint32(len(v))), elems) //nolint:gosec // MaxVectorDim is far below
}

// Type returns the type.
func (v Value) Type() Type { return v.typ }

// IsNull tells whether v is null.
func (v Value) IsNull() bool { return !v.set }

// Bool returns the value of a bool.
func (v Value) Bool() bool { return v.num != 0 }

// Int returns the value of an int32 or int64.
func (v Value) Int() int64 { return intOf(v.num) }

// Float returns the value of a float64, or of a float32 widened.
func (v Value) Float() float64 {
	if v.typ.Kind == KindFloat32 {
		return float64(v.Float32())
	}
	return math.Float64frombits(v.num)
}

// Float32 returns the value of a float32.
func (v Value) Float32() float32 { return float32Of(v.num) }

// Text returns the value of a string, or of bytes as a string of bytes.
func (v Value) Text() string { return v.text }

// Timestamp returns the value of a timestamp.
func (v Value) Timestamp() Timestamp { return Timestamp(intOf(v.num)) }

// Elems returns the elements of a list or vector; they must not be changed.
func (v Value) Elems() []Value { return v.elems }

// Equal tells whether two values are the same: type, null and bits, so that a
// NaN equals itself and 0.0 does not equal -0.0.
func (v Value) Equal(w Value) bool {
	if v.typ != w.typ || v.set != w.set || v.num != w.num || v.text != w.text || len(v.elems) != len(w.elems) {
		return false
	}
	for i := range v.elems {
		if !v.elems[i].Equal(w.elems[i]) {
			return false
		}
	}
	return true
}

// Compare orders two scalars of one type as the key encoding does; null is
// before everything.
func (v Value) Compare(w Value) int {
	switch {
	case !v.set || !w.set:
		return boolRank(v.set) - boolRank(w.set)
	case v.typ.Kind == KindString || v.typ.Kind == KindBytes:
		return strings.Compare(v.text, w.text)
	}
	a, b := v.Int(), w.Int()
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// String returns the value as native JSON writes it; for messages and tests.
func (v Value) String() string { return string(v.AppendJSON(nil)) }
