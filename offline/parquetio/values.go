package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
)

var (
	errShortValues = errors.New("page ends before its values")
	errIndex       = errors.New("dictionary index beyond the dictionary")
)

// decoder decodes the values of one page, nulls left out, in order.
type decoder interface {
	// fixed fills dst with n values of fixed width.
	fixed(dst []byte, n int) error
	// text appends n values.
	text(dst *textBuffer, n int) error
}

// noText and noFixed are for decoders of one sort.
type noText struct{}

func (noText) text(*textBuffer, int) error { return errKind }

type noFixed struct{}

func (noFixed) fixed([]byte, int) error { return errKind }

var errKind = errors.New("encoding does not go with the type of the column")

// textBuffer gathers values of variable length: offsets[i+1] is the end of value
// i in data.
type textBuffer struct {
	offsets []int32
	data    []byte
	limit   int64
}

func (t *textBuffer) append(v []byte) error {
	if int64(len(t.data))+int64(len(v)) > t.limit {
		return &limitError{fmt.Sprintf("values of one batch take more than the limit of %d bytes", t.limit)}
	}
	t.data = append(t.data, v...)
	t.offsets = append(t.offsets, int32(len(t.data))) //nolint:gosec // the limit is below 2^31
	return nil
}

// plainFixed is PLAIN of numbers and fixed bytes.
type plainFixed struct {
	noText
	buf   []byte
	width int
}

func (d *plainFixed) fixed(dst []byte, n int) error {
	size := n * d.width
	if len(d.buf) < size {
		return errShortValues
	}
	copy(dst[:size], d.buf)
	d.buf = d.buf[size:]
	return nil
}

// plainBool is PLAIN of bools: bits.
type plainBool struct {
	noText
	buf []byte
	bit int
}

func (d *plainBool) fixed(dst []byte, n int) error {
	if len(d.buf)*8-d.bit < n {
		return errShortValues
	}
	for i := range dst[:n] {
		dst[i] = d.buf[d.bit>>3] >> (d.bit & 7) & 1
		d.bit++
	}
	return nil
}

// runBool is RLE of bools.
type runBool struct {
	noText
	runs    runReader
	scratch [1024]uint32
}

func (d *runBool) fixed(dst []byte, n int) error {
	for at := 0; at < n; {
		k := min(n-at, len(d.scratch))
		if err := readRuns(&d.runs, d.scratch[:k]); err != nil {
			return err
		}
		for i, v := range d.scratch[:k] {
			dst[at+i] = byte(v & 1)
		}
		at += k
	}
	return nil
}

// plainText is PLAIN of text: each value after its length.
type plainText struct {
	noFixed
	buf []byte
}

// next cuts the next value off.
func (d *plainText) next() ([]byte, error) {
	if len(d.buf) < 4 {
		return nil, errShortValues
	}
	n := int64(binary.LittleEndian.Uint32(d.buf))
	if n > int64(len(d.buf)-4) {
		return nil, errShortValues
	}
	v := d.buf[4 : 4+n]
	d.buf = d.buf[4+n:]
	return v, nil
}

func (d *plainText) text(dst *textBuffer, n int) error {
	for range n {
		v, err := d.next()
		if err != nil {
			return err
		}
		if err := dst.append(v); err != nil {
			return err
		}
	}
	return nil
}

// dictionary is the dictionary of a column chunk: values of fixed width, or text.
type dictionary struct {
	values  []byte
	width   int
	count   int
	offsets []int32 // of text
}

func newDictionary(l *leaf, body []byte, n int) (*dictionary, error) {
	out := &dictionary{width: l.width(), count: n}
	if out.width > 0 {
		if l.typ == physicalBool {
			return nil, errors.New("a dictionary of bools")
		}
		if int64(len(body)) < int64(n)*int64(out.width) {
			return nil, errShortValues
		}
		out.values = body[:n*out.width]
		return out, nil
	}
	if n > len(body)/4 {
		return nil, errShortValues
	}
	t := textBuffer{offsets: make([]int32, 1, n+1), data: make([]byte, 0, len(body)-4*n), limit: int64(len(body))}
	if err := (&plainText{buf: body}).text(&t, n); err != nil {
		return nil, err
	}
	out.values, out.offsets = t.data, t.offsets
	return out, nil
}

// indexed is the dictionary encoding: indexes, after a byte with their width.
type indexed struct {
	dict    *dictionary
	runs    runReader
	scratch [1024]uint32
}

func newIndexed(dict *dictionary, body []byte) (*indexed, error) {
	if dict == nil {
		return nil, errors.New("page refers to a dictionary, and there is none before it")
	}
	out := &indexed{dict: dict}
	if len(body) == 0 {
		return out, nil // a page of nulls
	}
	if body[0] > 32 {
		return nil, fmt.Errorf("dictionary indexes of %d bits", body[0])
	}
	out.runs = runReader{buf: body[1:], width: int(body[0])}
	return out, nil
}

func (d *indexed) fixed(dst []byte, n int) error {
	if d.dict.width == 0 {
		return errKind
	}
	for at := 0; at < n; {
		k := min(n-at, len(d.scratch))
		indexes := d.scratch[:k]
		if err := readRuns(&d.runs, indexes); err != nil {
			return err
		}
		out := dst[at*d.dict.width:]
		var err error
		switch d.dict.width {
		case 4:
			err = lookup(arrow.Uint32Traits.CastFromBytes(out), arrow.Uint32Traits.CastFromBytes(d.dict.values), indexes)
		case 8:
			err = lookup(arrow.Uint64Traits.CastFromBytes(out), arrow.Uint64Traits.CastFromBytes(d.dict.values), indexes)
		default:
			err = d.lookupBytes(out, indexes)
		}
		if err != nil {
			return err
		}
		at += k
	}
	return nil
}

func lookup[T any](dst, dict []T, indexes []uint32) error {
	dst = dst[:len(indexes)]
	for i, x := range indexes {
		if uint64(x) >= uint64(len(dict)) {
			return errIndex
		}
		dst[i] = dict[x]
	}
	return nil
}

func (d *indexed) lookupBytes(dst []byte, indexes []uint32) error {
	w := d.dict.width
	for i, x := range indexes {
		if int64(x) >= int64(d.dict.count) {
			return errIndex
		}
		copy(dst[i*w:(i+1)*w], d.dict.values[int(x)*w:])
	}
	return nil
}

func (d *indexed) text(dst *textBuffer, n int) error {
	if d.dict.width != 0 {
		return errKind
	}
	for n > 0 {
		k := min(n, len(d.scratch))
		if err := readRuns(&d.runs, d.scratch[:k]); err != nil {
			return err
		}
		for _, x := range d.scratch[:k] {
			if int64(x) >= int64(d.dict.count) {
				return errIndex
			}
			if err := dst.append(d.dict.values[d.dict.offsets[x]:d.dict.offsets[x+1]]); err != nil {
				return err
			}
		}
		n -= k
	}
	return nil
}

// splitStreams is BYTE_STREAM_SPLIT: the first bytes of all values, then the
// second bytes, and so on.
type splitStreams struct {
	noText
	buf   []byte
	width int
	count int // values in the page
	pos   int
}

func (d *splitStreams) fixed(dst []byte, n int) error {
	if d.count-d.pos < n {
		return errShortValues
	}
	for b := range d.width {
		stream := d.buf[b*d.count+d.pos:][:n]
		for i, v := range stream {
			dst[i*d.width+b] = v
		}
	}
	d.pos += n
	return nil
}

// newDecoder returns the decoder of a page's values, of which there are at most
// count.
func newDecoder(l *leaf, enc encoding, dict *dictionary, body []byte, count int) (decoder, error) {
	switch enc {
	case encPlain:
		switch {
		case l.typ == physicalBool:
			return &plainBool{buf: body}, nil
		case l.width() > 0:
			return &plainFixed{buf: body, width: l.width()}, nil
		}
		return &plainText{buf: body}, nil
	case encPlainDictionary, encRLEDictionary:
		return newIndexed(dict, body)
	case encRLE:
		if l.typ == physicalBool && len(body) >= 4 {
			return &runBool{runs: runReader{buf: body[4:], width: 1}}, nil
		}
	case encDeltaBinary:
		if l.typ == physicalInt32 || l.typ == physicalInt64 {
			return newDeltaInts(body, count, l.width())
		}
	case encDeltaLength:
		if l.typ == physicalBytes {
			return newDeltaLength(body, count)
		}
	case encDeltaBytes:
		if l.typ == physicalBytes || l.typ == physicalFixedBytes {
			return newDeltaBytes(body, count, l.width())
		}
	case encByteStreamSplit:
		if w := l.width(); w > 1 && len(body)%w == 0 {
			return &splitStreams{buf: body, width: w, count: len(body) / w}, nil
		}
	case encBitPacked:
	}
	return nil, fmt.Errorf("encoding %d of %s is not supported", enc, l.typ)
}
