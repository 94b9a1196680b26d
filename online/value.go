package online

import (
	"encoding/base64"
	"encoding/binary"
	"math"
	"strconv"

	"github.com/granary-ml/granary/feature"
)

// Value returns the value of a slot of a row that has passed Check; the null of
// its type where the row holds none. It reads that slot and no other. Bytes
// that are no value of the slot's type are CodeDataLoss; a slot that the
// layout does not have is CodeInvalidArgument.
func (l *Layout) Value(packed []byte, slot int) (feature.Value, error) {
	raw, p, err := l.cell(packed, slot)
	switch {
	case err != nil:
		return feature.Value{}, err
	case raw == nil:
		return feature.Null(p.typ), nil
	}
	v, ok := decode(p.typ, raw)
	if !ok {
		return feature.Value{}, l.damaged(slot)
	}
	return v, nil
}

// AppendJSON appends the value of a slot as feature.Value.AppendJSON writes it,
// without making the value; the errors are those of Value, and dst comes back
// unchanged with them.
func (l *Layout) AppendJSON(dst, packed []byte, slot int) ([]byte, error) {
	raw, p, err := l.cell(packed, slot)
	if err != nil {
		return dst, err
	}
	out, ok := appendJSON(dst, p.typ, raw)
	if !ok {
		return dst, l.damaged(slot)
	}
	return out, nil
}

// cell returns the bytes of a slot, nil if it holds no value. They are never
// nil otherwise.
func (l *Layout) cell(packed []byte, slot int) ([]byte, *place, error) {
	if slot < 0 || slot >= len(l.places) {
		return nil, nil, l.mismatch("slot %d of %d", slot, len(l.places))
	}
	p := &l.places[slot]
	if IsNull(packed, slot) {
		return nil, p, nil
	}
	places := atBitmap + bitmapBytes(slotsOf(packed))
	data := int(binary.LittleEndian.Uint32(packed[atData:]))
	at := places + p.offset
	if at+p.width > data {
		return nil, nil, l.damaged(slot)
	}
	if !p.varying {
		return packed[at : at+p.width : at+p.width], p, nil
	}
	start, end := 0, int(binary.LittleEndian.Uint32(packed[at:]))
	if p.before >= 0 {
		start = int(binary.LittleEndian.Uint32(packed[places+p.before:]))
	}
	body := packed[data : len(packed)-checksumBytes]
	if start > end || end > len(body) {
		return nil, nil, l.damaged(slot)
	}
	return body[start:end:end], p, nil
}

func (l *Layout) damaged(slot int) error {
	return feature.Errorf(feature.CodeDataLoss, "online.Layout", l.view.Subject(), "slot %d of a packed row holds no %s", slot, l.places[slot].typ)
}

// decode reads a value; false if raw is none of the type.
func decode(t feature.Type, raw []byte) (feature.Value, bool) {
	switch {
	case t.List:
		return decodeList(t, raw)
	case t.IsVector():
		return decodeVector(t, raw)
	}
	return decodeScalar(t.Kind, raw)
}

func decodeScalar(k feature.Kind, raw []byte) (feature.Value, bool) {
	switch k {
	case feature.KindBool:
		return feature.BoolValue(raw[0] == 1), raw[0] <= 1
	case feature.KindInt32:
		return feature.Int32Value(int32(binary.LittleEndian.Uint32(raw))), true //nolint:gosec // the same bits
	case feature.KindInt64:
		return feature.Int64Value(int64At(raw, 0)), true
	case feature.KindFloat32:
		return feature.Float32Value(math.Float32frombits(binary.LittleEndian.Uint32(raw))), true
	case feature.KindFloat64:
		return feature.Float64Value(math.Float64frombits(binary.LittleEndian.Uint64(raw))), true
	case feature.KindTimestamp:
		return feature.TimestampValue(feature.Timestamp(int64At(raw, 0))), true
	case feature.KindString:
		return feature.StringValue(string(raw)), true
	case feature.KindBytes:
		return feature.BytesValue(raw), true
	case feature.KindInvalid:
	}
	return feature.Value{}, false
}

func decodeList(t feature.Type, raw []byte) (feature.Value, bool) {
	list, ok := openList(t.Kind, raw)
	if !ok {
		return feature.Value{}, false
	}
	text := scalarWidth(t.Kind) == 0
	elems := make([]feature.Value, list.count)
	for i := range elems {
		e, ok := list.elem(i, text)
		if !ok {
			return feature.Value{}, false
		}
		if elems[i] = feature.Null(t.Elem()); e != nil {
			if elems[i], ok = decodeScalar(t.Kind, e); !ok {
				return feature.Value{}, false
			}
		}
	}
	return feature.ListValue(t, elems), true
}

func decodeVector(t feature.Type, raw []byte) (feature.Value, bool) {
	if len(raw) != 4*int(t.Dim) {
		return feature.Value{}, false
	}
	elems := make([]feature.Value, t.Dim)
	for i := range elems {
		elems[i] = feature.Float32Value(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
	}
	return feature.ListValue(t, elems), true
}

// appendJSON appends a value as JSON, null for nil; false if raw is none of
// the type.
func appendJSON(dst []byte, t feature.Type, raw []byte) ([]byte, bool) {
	switch {
	case raw == nil:
		return append(dst, "null"...), true
	case t.List:
		return appendListJSON(dst, t, raw)
	case t.IsVector():
		return appendVectorJSON(dst, t, raw)
	}
	return appendScalarJSON(dst, t.Kind, raw)
}

func appendScalarJSON(dst []byte, k feature.Kind, raw []byte) ([]byte, bool) {
	switch k {
	case feature.KindBool:
		return strconv.AppendBool(dst, raw[0] == 1), raw[0] <= 1
	case feature.KindInt32:
		return strconv.AppendInt(dst, int64(int32(binary.LittleEndian.Uint32(raw))), 10), true //nolint:gosec // the same bits
	case feature.KindInt64:
		return strconv.AppendInt(dst, int64At(raw, 0), 10), true
	case feature.KindFloat32:
		return feature.AppendFloatJSON(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))), 32), true
	case feature.KindFloat64:
		return feature.AppendFloatJSON(dst, math.Float64frombits(binary.LittleEndian.Uint64(raw)), 64), true
	case feature.KindTimestamp:
		t := feature.Timestamp(int64At(raw, 0))
		return append(t.AppendText(append(dst, '"')), '"'), true
	case feature.KindString:
		return feature.AppendStringJSON(dst, raw), true
	case feature.KindBytes:
		return append(base64.StdEncoding.AppendEncode(append(dst, '"'), raw), '"'), true
	case feature.KindInvalid:
	}
	return dst, false
}

func appendListJSON(dst []byte, t feature.Type, raw []byte) ([]byte, bool) {
	list, ok := openList(t.Kind, raw)
	if !ok {
		return dst, false
	}
	text := scalarWidth(t.Kind) == 0
	dst = append(dst, '[')
	for i := range list.count {
		if i > 0 {
			dst = append(dst, ',')
		}
		e, ok := list.elem(i, text)
		if !ok {
			return dst, false
		}
		if dst, ok = appendJSON(dst, t.Elem(), e); !ok {
			return dst, false
		}
	}
	return append(dst, ']'), true
}

func appendVectorJSON(dst []byte, t feature.Type, raw []byte) ([]byte, bool) {
	if len(raw) != 4*int(t.Dim) {
		return dst, false
	}
	dst = append(dst, '[')
	for i := 0; i < len(raw); i += 4 {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = feature.AppendFloatJSON(dst, float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[i:]))), 32)
	}
	return append(dst, ']'), true
}
