package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"github.com/apache/arrow/go/v17/arrow/bitutil"
)

var errShortRun = errors.New("runs end before the values that the page header promises")

// runReader reads the hybrid of run lengths and packed bits, which holds levels,
// dictionary indexes and some bools.
type runReader struct {
	buf   []byte
	width int // bits of a value, 0 to 32

	left    int // values left in the run
	literal bool
	value   uint32 // of a repeated run
	packed  []byte // of a literal run
	bit     int    // position in packed
}

// nextRun reads the head of the next run.
func (r *runReader) nextRun() error {
	head, n := binary.Uvarint(r.buf)
	if n <= 0 {
		return errShortRun
	}
	r.buf = r.buf[n:]
	count := head >> 1
	if count > 1<<31 {
		return errShortRun
	}
	if r.literal = head&1 == 1; !r.literal {
		size := (r.width + 7) / 8
		if len(r.buf) < size {
			return errShortRun
		}
		r.value = 0
		for i := range size {
			r.value |= uint32(r.buf[i]) << (8 * i)
		}
		if r.width < 32 && r.value>>r.width != 0 {
			return fmt.Errorf("value %d in runs of %d bits", r.value, r.width)
		}
		r.buf = r.buf[size:]
		r.left = int(count)
		return nil
	}
	// The last run may lack the bytes of values that do not exist.
	size := min(int(count)*r.width, len(r.buf))
	r.left = int(count) * 8
	if r.width > 0 {
		r.left = min(r.left, size*8/r.width)
	}
	r.packed, r.buf, r.bit = r.buf[:size], r.buf[size:], 0
	return nil
}

// load returns the 64 bits from byte i on.
func load(buf []byte, i int) uint64 {
	if i+8 <= len(buf) {
		return binary.LittleEndian.Uint64(buf[i:])
	}
	var v uint64
	for j := i; j < len(buf); j++ {
		v |= uint64(buf[j]) << (8 * (j - i))
	}
	return v
}

// unpackBits reads len(dst) values of a literal run.
func unpackBits[T int16 | uint32](dst []T, r *runReader) {
	mask := uint64(1)<<r.width - 1
	bit := r.bit
	for i := range dst {
		dst[i] = T(load(r.packed, bit>>3) >> (bit & 7) & mask)
		bit += r.width
	}
	r.bit = bit
}

// readRuns reads exactly len(dst) values.
func readRuns[T int16 | uint32](r *runReader, dst []T) error {
	for len(dst) > 0 {
		if r.left == 0 {
			if err := r.nextRun(); err != nil {
				return err
			}
			continue
		}
		n := min(r.left, len(dst))
		if r.literal {
			unpackBits(dst[:n], r)
		} else {
			v := T(r.value)
			for i := range dst[:n] {
				dst[i] = v
			}
		}
		r.left -= n
		dst = dst[n:]
	}
	return nil
}

// readBitmap reads n values of width 1 into a cleared bitmap from bit off on, and
// returns how many were 1. It is how the levels of a flat column are read: a
// literal run is the bitmap already.
func (r *runReader) readBitmap(dst []byte, off, n int) (ones int, err error) {
	for n > 0 {
		if r.left == 0 {
			if err := r.nextRun(); err != nil {
				return 0, err
			}
			continue
		}
		k := min(r.left, n)
		if r.literal {
			ones += copyBits(dst, off, r.packed, r.bit, k)
			r.bit += k
		} else if r.value == 1 {
			bitutil.SetBitsTo(dst, int64(off), int64(k), true)
			ones += k
		}
		r.left -= k
		off += k
		n -= k
	}
	return ones, nil
}

// copyBits copies n bits into cleared ones, and counts those that are set. Where
// nulls are strewn about, runs are short: this is called for every few values.
func copyBits(dst []byte, off int, src []byte, from, n int) (ones int) {
	for n > 0 {
		k := min(n, 56) // with any shift, no more than 64
		v := load(src, from>>3) >> (from & 7) & (1<<k - 1)
		ones += bits.OnesCount64(v)
		at := off >> 3
		for v <<= off & 7; v != 0; v >>= 8 {
			dst[at] |= byte(v)
			at++
		}
		off += k
		from += k
		n -= k
	}
	return ones
}

// levelWidth is the number of bits of a level.
func levelWidth(maxLevel int16) int { return bits.Len16(uint16(maxLevel)) } //nolint:gosec // never negative

// takeLevels cuts the levels off the front of a page of version 1.
func takeLevels(body []byte, enc encoding, maxLevel int16) (r *runReader, rest []byte, err error) {
	if enc != encRLE {
		return nil, nil, errors.New("levels in an encoding other than RLE, which is not supported")
	}
	if len(body) < 4 {
		return nil, nil, errors.New("page is too short for its levels")
	}
	n := int64(binary.LittleEndian.Uint32(body))
	if n > int64(len(body)-4) {
		return nil, nil, errors.New("page is too short for its levels")
	}
	return &runReader{buf: body[4 : 4+n], width: levelWidth(maxLevel)}, body[4+n:], nil
}
