package feature

import (
	"fmt"

	"github.com/granary-ml/granary/internal/keyenc"
)

// EntityKey is the encoding of the join key values of one entity row, in the
// order of the view's join keys. The order of keys as strings is the order of
// their values. The empty key is that of a view without join keys.
type EntityKey string

// MaxEntityKeyBytes is the largest encoded entity key.
const MaxEntityKeyBytes = 32 << 10

// AppendKey appends the encoding of a value of a join key to dst. The value is
// not null.
func AppendKey(dst []byte, v Value) []byte {
	switch v.typ.Kind {
	case KindBool:
		return keyenc.AppendBool(dst, v.Bool())
	case KindInt32:
		return keyenc.AppendInt32(dst, int32(v.Int())) //nolint:gosec // an int32 by its type
	case KindInt64, KindTimestamp:
		return keyenc.AppendInt64(dst, v.Int())
	case KindString, KindBytes:
		return keyenc.AppendBytes(dst, v.text)
	case KindFloat32, KindFloat64, KindInvalid:
	}
	return dst
}

// MakeEntityKey encodes values, which stand in the order of keys. It refuses a
// null, a value of another type, text that is not UTF-8, and a key that is too
// large.
func MakeEntityKey(keys []JoinKey, values []Value) (EntityKey, error) {
	if len(keys) != len(values) {
		return "", fmt.Errorf("%d key values where %d are expected", len(values), len(keys))
	}
	var buf []byte
	for i, v := range values {
		switch {
		case v.IsNull():
			return "", fmt.Errorf("join key %s is null", keys[i].Name)
		case v.typ != keys[i].Type:
			return "", fmt.Errorf("join key %s is %s where %s is expected", keys[i].Name, v.typ, keys[i].Type)
		case v.typ.Kind == KindString && !ValidText(v.text):
			return "", fmt.Errorf("join key %s: %w", keys[i].Name, errUTF8)
		}
		buf = AppendKey(buf, v)
	}
	if len(buf) > MaxEntityKeyBytes {
		return "", Errorf(CodeTooLarge, "", "", "entity key of %d bytes, more than %d", len(buf), MaxEntityKeyBytes)
	}
	return EntityKey(buf), nil
}

// Values decodes the key into the values of keys.
func (k EntityKey) Values(keys []JoinKey) ([]Value, error) {
	rest := []byte(k)
	out := make([]Value, 0, len(keys))
	for _, key := range keys {
		v, after, err := decodeKey(key.Type, rest)
		if err != nil {
			return nil, fmt.Errorf("join key %s: %w", key.Name, err)
		}
		out, rest = append(out, v), after
	}
	if len(rest) > 0 {
		return nil, fmt.Errorf("%d bytes after the last join key: %w", len(rest), keyenc.ErrCorrupt)
	}
	return out, nil
}

func decodeKey(t Type, src []byte) (Value, []byte, error) {
	switch t.Kind {
	case KindBool:
		v, rest, err := keyenc.Bool(src)
		return BoolValue(v), rest, err
	case KindInt32:
		v, rest, err := keyenc.Int32(src)
		return Int32Value(v), rest, err
	case KindInt64:
		v, rest, err := keyenc.Int64(src)
		return Int64Value(v), rest, err
	case KindTimestamp:
		v, rest, err := keyenc.Int64(src)
		return TimestampValue(Timestamp(v)), rest, err
	case KindString:
		v, rest, err := keyenc.Bytes(src)
		return StringValue(string(v)), rest, err
	case KindBytes:
		v, rest, err := keyenc.Bytes(src)
		return BytesValue(v), rest, err
	case KindFloat32, KindFloat64, KindInvalid:
	}
	return Value{}, nil, fmt.Errorf("%s cannot be a join key", t)
}
