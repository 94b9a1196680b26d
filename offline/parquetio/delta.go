package parquetio

import (
	"encoding/binary"
	"errors"
)

var errDelta = errors.New("delta encoding is damaged")

// deltaHead is the head of DELTA_BINARY_PACKED.
type deltaHead struct {
	block, minis, count uint64
	first               int64
}

// decodeDelta decodes DELTA_BINARY_PACKED, at most limit values, and returns
// what follows.
//
// A block has the least of its deltas, then a width for each of its miniblocks,
// then the miniblocks: deltas less the least, packed in so many bits. Sums wrap
// around, which is meant.
func decodeDelta(buf []byte, limit int) (values []int64, rest []byte, err error) {
	h, buf, err := readDeltaHead(buf, limit)
	if err != nil {
		return nil, nil, err
	}
	values = make([]int64, 0, h.count)
	if h.count == 0 {
		return values, buf, nil
	}
	values = append(values, h.first)
	perMini := int(h.block / h.minis) //nolint:gosec // checked in the head
	for len(values) < int(h.count) {  //nolint:gosec // at most limit
		least, n := binary.Varint(buf)
		if n <= 0 || len(buf)-n < int(h.minis) { //nolint:gosec // checked in the head
			return nil, nil, errDelta
		}
		widths := buf[n : n+int(h.minis)] //nolint:gosec // checked above
		buf = buf[n+int(h.minis):]        //nolint:gosec // checked above
		for _, width := range widths {
			if len(values) == int(h.count) { //nolint:gosec // at most limit
				break
			}
			size := perMini / 8 * int(width)
			if width > 64 || size > len(buf) {
				return nil, nil, errDelta
			}
			k := min(perMini, int(h.count)-len(values)) //nolint:gosec // at most limit
			values = appendMiniblock(values, buf[:size], int(width), k, least)
			buf = buf[size:]
		}
	}
	return values, buf, nil
}

func readDeltaHead(buf []byte, limit int) (h deltaHead, rest []byte, err error) {
	for _, v := range []*uint64{&h.block, &h.minis, &h.count} {
		x, n := binary.Uvarint(buf)
		if n <= 0 {
			return h, nil, errDelta
		}
		*v, buf = x, buf[n:]
	}
	first, n := binary.Varint(buf)
	const most = 1 << 20
	if n <= 0 || h.minis == 0 || h.block == 0 || h.block > most || h.minis > h.block || h.block%h.minis != 0 ||
		h.block/h.minis%8 != 0 || h.count > uint64(limit) { //nolint:gosec // never negative
		return h, nil, errDelta
	}
	h.first = first
	return h, buf[n:], nil
}

func appendMiniblock(values []int64, buf []byte, width, n int, least int64) []int64 {
	last := values[len(values)-1]
	mask := ^uint64(0)
	if width < 64 {
		mask = 1<<width - 1
	}
	bit := 0
	for range n {
		at, shift := bit>>3, bit&7
		v := load(buf, at) >> shift
		if shift+width > 64 { // the value lies in nine bytes
			v |= uint64(buf[at+8]) << (64 - shift)
		}
		last += least + int64(v&mask) //nolint:gosec // wraps around by design
		values = append(values, last)
		bit += width
	}
	return values
}

// deltaInts is DELTA_BINARY_PACKED of integers.
type deltaInts struct {
	noText
	values []int64
	width  int
}

func newDeltaInts(body []byte, count, width int) (*deltaInts, error) {
	values, _, err := decodeDelta(body, count)
	return &deltaInts{values: values, width: width}, err
}

func (d *deltaInts) fixed(dst []byte, n int) error {
	if len(d.values) < n {
		return errShortValues
	}
	for i, v := range d.values[:n] {
		if d.width == 4 {
			binary.LittleEndian.PutUint32(dst[i*4:], uint32(v)) //nolint:gosec // wraps around by design
		} else {
			binary.LittleEndian.PutUint64(dst[i*8:], uint64(v)) //nolint:gosec // the same bits
		}
	}
	d.values = d.values[n:]
	return nil
}

// deltaLength is DELTA_LENGTH_BYTE_ARRAY: all lengths, then all bytes.
type deltaLength struct {
	noFixed
	lengths []int64
	buf     []byte
}

func newDeltaLength(body []byte, count int) (*deltaLength, error) {
	lengths, rest, err := decodeDelta(body, count)
	return &deltaLength{lengths: lengths, buf: rest}, err
}

func (d *deltaLength) next() ([]byte, error) {
	if len(d.lengths) == 0 || d.lengths[0] < 0 || d.lengths[0] > int64(len(d.buf)) {
		return nil, errShortValues
	}
	v := d.buf[:d.lengths[0]]
	d.buf, d.lengths = d.buf[len(v):], d.lengths[1:]
	return v, nil
}

func (d *deltaLength) text(dst *textBuffer, n int) error {
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

// deltaBytes is DELTA_BYTE_ARRAY: how much each value shares with the one before
// it, then what follows.
type deltaBytes struct {
	prefixes []int64
	suffixes *deltaLength
	last     []byte
	width    int
}

func newDeltaBytes(body []byte, count, width int) (*deltaBytes, error) {
	prefixes, rest, err := decodeDelta(body, count)
	if err != nil {
		return nil, err
	}
	suffixes, err := newDeltaLength(rest, count)
	return &deltaBytes{prefixes: prefixes, suffixes: suffixes, width: width}, err
}

// next returns the next value, which is good until the one after.
func (d *deltaBytes) next() ([]byte, error) {
	if len(d.prefixes) == 0 || d.prefixes[0] < 0 || d.prefixes[0] > int64(len(d.last)) {
		return nil, errShortValues
	}
	suffix, err := d.suffixes.next()
	if err != nil {
		return nil, err
	}
	d.last = append(d.last[:d.prefixes[0]], suffix...)
	d.prefixes = d.prefixes[1:]
	return d.last, nil
}

func (d *deltaBytes) text(dst *textBuffer, n int) error {
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

func (d *deltaBytes) fixed(dst []byte, n int) error {
	for i := range n {
		v, err := d.next()
		if err != nil {
			return err
		}
		if len(v) != d.width {
			return errShortValues
		}
		copy(dst[i*d.width:], v)
	}
	return nil
}
