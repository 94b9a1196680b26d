package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The wire types of Thrift's compact protocol.
const (
	thriftTrue   = 1
	thriftFalse  = 2
	thriftByte   = 3
	thriftI16    = 4
	thriftI32    = 5
	thriftI64    = 6
	thriftDouble = 7
	thriftBinary = 8
	thriftList   = 9
	thriftSet    = 10
	thriftMap    = 11
	thriftStruct = 12
	thriftUUID   = 13

	maxThriftDepth = 64
)

var errThriftShort = errors.New("structure ends early")

// thriftReader reads Thrift's compact protocol, in which footers and page
// headers are written. It never allocates more than a multiple of the bytes that
// it is given: a list that claims more elements than there are bytes is refused
// before anything is made for it, which the readers that are generated from the
// specification do not do.
//
// The first error sticks; after it every read gives zero and next gives false.
type thriftReader struct {
	buf []byte
	pos int
	err error
}

// field is the head of a field; the zero value starts a struct.
type field struct {
	id  int16
	typ byte
}

func (r *thriftReader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

func (r *thriftReader) byte() byte {
	if r.err != nil || r.pos >= len(r.buf) {
		r.fail(errThriftShort)
		return 0
	}
	r.pos++
	return r.buf[r.pos-1]
}

func (r *thriftReader) uvarint() uint64 {
	if r.err != nil {
		return 0
	}
	v, n := binary.Uvarint(r.buf[r.pos:])
	if n <= 0 {
		r.fail(errThriftShort)
		return 0
	}
	r.pos += n
	return v
}

func (r *thriftReader) zigzag() int64 {
	v := r.uvarint()
	return int64(v>>1) ^ -int64(v&1)
}

// next reads the head of the next field of a struct; false at its end.
func (r *thriftReader) next(f *field) bool {
	head := r.byte()
	if r.err != nil || head == 0 {
		return false
	}
	f.typ = head & 15
	if delta := int16(head >> 4); delta > 0 {
		f.id += delta
	} else {
		f.id = int16(r.zigzag()) //nolint:gosec // an id beyond 16 bits is unknown either way
	}
	return r.err == nil
}

func (r *thriftReader) expect(f field, typ byte, what string) bool {
	if f.typ != typ {
		r.fail(fmt.Errorf("field %d is no %s", f.id, what))
	}
	return r.err == nil
}

// int reads an integer of any width.
func (r *thriftReader) int(f field) int64 {
	switch f.typ {
	case thriftByte:
		return int64(int8(r.byte())) //nolint:gosec // a signed byte
	case thriftI16, thriftI32, thriftI64:
		return r.zigzag()
	}
	r.fail(fmt.Errorf("field %d is no integer", f.id))
	return 0
}

// int32 reads an integer that must fit into 32 bits.
func (r *thriftReader) int32(f field) int32 {
	v := r.int(f)
	if int64(int32(v)) != v { //nolint:gosec // this is the check
		r.fail(fmt.Errorf("field %d is out of range", f.id))
		return 0
	}
	return int32(v) //nolint:gosec // checked above
}

func (r *thriftReader) bool(f field) bool {
	if f.typ != thriftTrue && f.typ != thriftFalse {
		r.fail(fmt.Errorf("field %d is no bool", f.id))
	}
	return f.typ == thriftTrue
}

// binary reads bytes; they are those of the buffer.
func (r *thriftReader) binary(f field) []byte {
	if !r.expect(f, thriftBinary, "text") {
		return nil
	}
	return r.bytes()
}

func (r *thriftReader) bytes() []byte {
	n := r.uvarint()
	if r.err != nil || n > uint64(len(r.buf)-r.pos) { //nolint:gosec // never negative
		r.fail(errThriftShort)
		return nil
	}
	r.pos += int(n)                    //nolint:gosec // checked above
	return r.buf[r.pos-int(n) : r.pos] //nolint:gosec // checked above
}

// list reads the head of a list whose elements must have a type.
func (r *thriftReader) list(f field, elem byte) int {
	if !r.expect(f, thriftList, "list") {
		return 0
	}
	n, typ := r.listHead()
	if n > 0 && typ != elem {
		r.fail(fmt.Errorf("field %d is a list of something else", f.id))
		return 0
	}
	return n
}

func (r *thriftReader) listHead() (int, byte) {
	head := r.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = r.uvarint()
	}
	if n > uint64(len(r.buf)-r.pos) { //nolint:gosec // never negative
		r.fail(errThriftShort)
	}
	if r.err != nil {
		return 0, 0
	}
	return int(n), head & 15
}

// skip passes over the value of a field.
func (r *thriftReader) skip(f field) { r.skipValue(f.typ, false, 0) }

func (r *thriftReader) skipValue(typ byte, inList bool, depth int) {
	if depth > maxThriftDepth {
		r.fail(errors.New("structure is nested too deeply"))
	}
	if r.err != nil {
		return
	}
	switch typ {
	case thriftTrue, thriftFalse:
		if inList {
			r.byte()
		}
	case thriftByte:
		r.byte()
	case thriftI16, thriftI32, thriftI64:
		r.uvarint()
	case thriftDouble:
		r.advance(8)
	case thriftUUID:
		r.advance(16)
	case thriftBinary:
		r.bytes()
	case thriftList, thriftSet:
		n, elem := r.listHead()
		for i := 0; i < n && r.err == nil; i++ {
			r.skipValue(elem, true, depth+1)
		}
	case thriftMap:
		r.skipMap(depth)
	case thriftStruct:
		var f field
		for r.next(&f) {
			r.skipValue(f.typ, false, depth+1)
		}
	default:
		r.fail(fmt.Errorf("unknown wire type %d", typ))
	}
}

func (r *thriftReader) skipMap(depth int) {
	n := r.uvarint()
	if n == 0 {
		return
	}
	types := r.byte()
	for i := uint64(0); i < n && r.err == nil; i++ {
		r.skipValue(types>>4, true, depth+1)
		r.skipValue(types&15, true, depth+1)
	}
}

func (r *thriftReader) advance(n int) {
	if n > len(r.buf)-r.pos {
		r.fail(errThriftShort)
		return
	}
	r.pos += n
}
