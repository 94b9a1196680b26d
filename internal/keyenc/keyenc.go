// Package keyenc encodes typed values so that the order of the bytes is the
// order of the values: ints by number, text byte by byte, false before true.
// Encodings of one sequence of types concatenate without loss of order, which
// is what makes a composite entity key one byte string.
//
//	bool     1 byte   0 or 1
//	int32    4 bytes  big-endian, sign bit flipped
//	int64    8 bytes  big-endian, sign bit flipped (timestamps too)
//	bytes    each 0x00 becomes 0x00 0xFF; the end is 0x00 0x01
//
// The types are not in the encoding: whoever decodes knows them. This is an
// on-disk format; it is described in docs/format/entity-key.md and never
// changes without a new format version.
package keyenc

import (
	"bytes"
	"encoding/binary"
	"errors"
)

// ErrCorrupt tells that bytes are not an encoding of the type asked for.
var ErrCorrupt = errors.New("corrupt key encoding")

const (
	escape     = 0x00
	escapedNul = 0xFF
	terminator = 0x01
)

// AppendBool appends v to dst.
func AppendBool(dst []byte, v bool) []byte {
	if v {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// AppendInt32 appends v to dst.
func AppendInt32(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(v)^1<<31) //nolint:gosec // the bits are meant
}

// AppendInt64 appends v to dst.
func AppendInt64(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^1<<63) //nolint:gosec // the bits are meant
}

// AppendBytes appends v, which may hold any bytes, to dst.
func AppendBytes[T ~string | ~[]byte](dst []byte, v T) []byte {
	for i := range len(v) {
		dst = append(dst, v[i])
		if v[i] == escape {
			dst = append(dst, escapedNul)
		}
	}
	return append(dst, escape, terminator)
}

// Bool decodes a bool and returns the rest of src.
func Bool(src []byte) (v bool, rest []byte, err error) {
	if len(src) < 1 || src[0] > 1 {
		return false, nil, ErrCorrupt
	}
	return src[0] == 1, src[1:], nil
}

// Int32 decodes an int32 and returns the rest of src.
func Int32(src []byte) (v int32, rest []byte, err error) {
	if len(src) < 4 {
		return 0, nil, ErrCorrupt
	}
	return int32(binary.BigEndian.Uint32(src) ^ 1<<31), src[4:], nil //nolint:gosec // the bits are meant
}

// Int64 decodes an int64 and returns the rest of src.
func Int64(src []byte) (v int64, rest []byte, err error) {
	if len(src) < 8 {
		return 0, nil, ErrCorrupt
	}
	return int64(binary.BigEndian.Uint64(src) ^ 1<<63), src[8:], nil //nolint:gosec // the bits are meant
}

// Bytes decodes a byte string into memory of its own and returns the rest of
// src.
func Bytes(src []byte) (v, rest []byte, err error) {
	v = []byte{}
	for {
		i := bytes.IndexByte(src, escape)
		if i < 0 || i+1 >= len(src) {
			return nil, nil, ErrCorrupt
		}
		v = append(v, src[:i]...)
		switch src[i+1] {
		case terminator:
			return v, src[i+2:], nil
		case escapedNul:
			v = append(v, escape)
			src = src[i+2:]
		default:
			return nil, nil, ErrCorrupt
		}
	}
}
