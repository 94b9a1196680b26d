package online

import (
	"encoding/binary"
	"slices"

	"github.com/granary-ml/granary/feature"
)

// A list within the data of a row:
//
//	+------------+------------------+------------------------------+
//	| count  u32 | null bitmap      | elements, each at its place  |
//	+------------+------------------+------------------------------+
//
// The place of an element of fixed width is its value; the place of text holds
// where the text ends, counted from behind the places, where all texts stand
// one after the other.

// listShape is where the parts of a list of n elements begin.
type listShape struct {
	count, width         int
	bitmap, places, data int
}

const countBytes = 4

func shapeOf(k feature.Kind, count int) listShape {
	s := listShape{count: count, width: scalarWidth(k), bitmap: countBytes}
	if s.width == 0 {
		s.width = endBytes
	}
	s.places = s.bitmap + bitmapBytes(count)
	s.data = s.places + count*s.width
	return s
}

// beginList appends the count and empty places, and returns where the list
// begins.
func beginList(dst []byte, k feature.Kind, count int) ([]byte, int, listShape) {
	s, start := shapeOf(k, count), len(dst)
	dst = slices.Grow(dst, s.data)[:start+s.data]
	clear(dst[start:])
	binary.LittleEndian.PutUint32(dst[start:], uint32(count)) //nolint:gosec // the row's size is checked when it is sealed
	return dst, start, s
}

// appendList appends a list of scalars, which may be null.
func appendList(dst []byte, k feature.Kind, elems []feature.Value) []byte {
	dst, start, s := beginList(dst, k, len(elems))
	text := scalarWidth(k) == 0
	for i, e := range elems {
		at := start + s.places + i*s.width
		if !e.IsNull() {
			dst[start+s.bitmap+i>>3] |= 1 << (i & 7)
			if text {
				dst = append(dst, e.Text()...)
			} else {
				putScalar(dst[at:at+s.width], e)
			}
		}
		if text {
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-start-s.data)) //nolint:gosec // as above
		}
	}
	return dst
}

// listReader reads the elements of a packed list.
type listReader struct {
	listShape
	raw []byte
}

// openList reads the head of a list; false if raw is none.
func openList(k feature.Kind, raw []byte) (listReader, bool) {
	if len(raw) < countBytes {
		return listReader{}, false
	}
	count := binary.LittleEndian.Uint32(raw)
	if uint64(count) > uint64(len(raw)) { // every element has a place of a byte or more
		return listReader{}, false
	}
	r := listReader{listShape: shapeOf(k, int(count)), raw: raw}
	return r, r.data <= len(raw)
}

// elem returns the bytes of an element: nil and true for a null, false if the
// list is damaged.
func (r *listReader) elem(i int, text bool) ([]byte, bool) {
	null := r.raw[r.bitmap+i>>3]&(1<<(i&7)) == 0
	if !text {
		if null {
			return nil, true
		}
		at := r.places + i*r.width
		return r.raw[at : at+r.width], true
	}
	start := 0
	if i > 0 {
		start = r.end(i - 1)
	}
	data, end := r.raw[r.data:], r.end(i)
	switch {
	case start > end || end > len(data):
		return nil, false
	case null:
		return nil, true
	}
	return data[start:end:end], true
}

func (r *listReader) end(i int) int {
	return int(binary.LittleEndian.Uint32(r.raw[r.places+i*r.width:]))
}
