package parquetio

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
)

// Pick is a row of a row group that is wanted, and the slot that its value goes
// to.
type Pick struct {
	Row, Slot int32
}

// Pickable tells whether PickRows can read a column: numbers of four or eight
// bytes and times, not in lists, that Arrow has as the file has them.
func (f *File) Pickable(column string) bool {
	n, err := f.column(column)
	if err != nil || n.leaf == nil || n.leaf.nested() || n.leaf.reason != "" {
		return false
	}
	switch n.leaf.typ {
	case physicalInt32, physicalInt64, physicalFloat, physicalDouble:
	case physicalBool, physicalInt96, physicalFixedBytes, physicalBytes:
		return false
	}
	t, ok := n.typ.(arrow.FixedWidthDataType)
	return ok && !isDecimal(n.typ) && t.ID() != arrow.BOOL && t.Bytes() == n.leaf.width()
}

// PickRows decodes single values of pickable columns of a row group, and puts
// each where it belongs: dst has by column the bytes of all slots. The picks are
// ascending by row; a row may be picked more than once. The slots of nulls stay
// as they are, and are returned by column.
//
// Pages without a picked row are not unpacked, and nothing is made of values that
// nobody asked for. Calls whose slots differ may share dst.
func (f *File) PickRows(ctx context.Context, rowGroup int, columns []string, picks []Pick, dst [][]byte) ([][]int32, error) {
	s, err := f.newScan(columns)
	if err != nil {
		return nil, err
	}
	if len(s.leaves) != len(columns) {
		return nil, f.fault("parquetio.PickRows", "", errors.New("a column is asked for twice"))
	}
	if err := s.begin(rowGroup, streamBlock); err != nil {
		return nil, err
	}
	nulls := make([][]int32, len(columns))
	err = s.parallel(len(columns), func(i int) error {
		r := s.readers[i]
		p := picker{chunkReader: r, picks: picks, dst: dst[i], limit: f.options.MaxDataBytes}
		err := guard(func() error {
			f.buffers.get(r)
			defer f.buffers.put(r)
			return p.run(ctx)
		})
		if err != nil {
			return s.fault(r.leaf, err)
		}
		nulls[i] = p.nulls
		return nil
	})
	return nulls, err
}

// picker picks values of a flat column chunk.
type picker struct {
	*chunkReader
	picks []Pick // those that are left
	dst   []byte
	nulls []int32
	valid []byte // of the page; whole words
	fixed []byte // values of a page that is not plain
	limit int64  // of these
}

// run goes over all pages, because only their sum proves that a row is the one
// that it seems to be.
func (p *picker) run(ctx context.Context) error {
	for p.seen < p.chunk.values {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, raw, ok, err := p.pages.head()
		if err != nil {
			return err
		}
		if !ok {
			return fmt.Errorf("it ends after %d of %d values", p.seen, p.chunk.values)
		}
		if err := p.take(&h, raw); err != nil {
			return err
		}
	}
	if len(p.picks) > 0 {
		return fmt.Errorf("row %d is asked for, and it has %d", p.picks[0].Row, p.seen)
	}
	return p.checkEnd()
}

// take picks what a page has.
func (p *picker) take(h *pageHeader, raw []byte) error {
	first := p.seen
	n := 0
	if h.kind != pageDictionary {
		end := first + int64(h.values)
		n, _ = slices.BinarySearchFunc(p.picks, end, func(a Pick, end int64) int {
			if int64(a.Row) < end {
				return -1
			}
			return 1
		})
		if n == 0 && end <= p.chunk.values {
			p.seen = end
			return nil
		}
	}
	levels, body, err := p.pages.open(h, raw)
	if err != nil {
		return err
	}
	if h.kind == pageDictionary {
		return p.setDictionary(h, body)
	}
	if err := p.setPage(h, levels, body); err != nil {
		return err
	}
	p.left = 0
	picks := p.picks[:n]
	p.picks = p.picks[n:]
	return p.pickPage(picks, int32(first), int(h.values)) //nolint:gosec // picks are of rows that int32 can say
}

// pickPage picks from the page that was set.
func (p *picker) pickPage(picks []Pick, first int32, n int) error {
	present := n
	if p.leaf.maxDef > 0 {
		// Whole words, and one more that is looked at and not used.
		size := (n/64 + 2) * 8
		p.valid = slices.Grow(p.valid[:0], size)[:size]
		clear(p.valid)
		var err error
		if present, err = p.defs.readBitmap(p.valid, 0, n); err != nil {
			return err
		}
	}
	values, err := p.pageValues(present)
	if err != nil {
		return err
	}
	if present == n {
		p.copyAll(picks, first, values)
		return nil
	}
	return p.copyValid(picks, first, values)
}

// pageValues returns the values of the page, without gaps for nulls.
func (p *picker) pageValues(present int) ([]byte, error) {
	size := present * p.leaf.width()
	if plain, ok := p.dec.(*plainFixed); ok {
		if len(plain.buf) < size {
			return nil, errShortValues
		}
		return plain.buf[:size], nil
	}
	if int64(size) > p.limit {
		return nil, &limitError{fmt.Sprintf("values of one page take more than the limit of %d bytes", p.limit)}
	}
	p.fixed = slices.Grow(p.fixed[:0], size)[:size]
	return p.fixed, p.dec.fixed(p.fixed, present)
}

// copyAll picks from a page without nulls.
func (p *picker) copyAll(picks []Pick, first int32, values []byte) {
	if p.leaf.width() == 8 {
		dst := arrow.Uint64Traits.CastFromBytes(p.dst)
		for _, k := range picks {
			dst[k.Slot] = binary.LittleEndian.Uint64(values[int(k.Row-first)*8:])
		}
		return
	}
	dst := arrow.Uint32Traits.CastFromBytes(p.dst)
	for _, k := range picks {
		dst[k.Slot] = binary.LittleEndian.Uint32(values[int(k.Row-first)*4:])
	}
}

// copyValid picks from a page with nulls: the place of a value is the number of
// values before it, which is counted on from pick to pick.
func (p *picker) copyValid(picks []Pick, first int32, values []byte) error {
	wide := p.leaf.width() == 8
	dst8, dst4 := arrow.Uint64Traits.CastFromBytes(p.dst), arrow.Uint32Traits.CastFromBytes(p.dst)
	word, before := 0, 0
	bitsOf := binary.LittleEndian.Uint64(p.valid)
	for _, k := range picks {
		row := int(k.Row - first)
		for ; word < row>>6; word++ {
			before += bits.OnesCount64(bitsOf)
			bitsOf = binary.LittleEndian.Uint64(p.valid[(word+1)*8:])
		}
		mask := uint64(1) << (row & 63)
		if bitsOf&mask == 0 {
			if p.leaf.node.held {
				return errors.New("a null where its Arrow schema has none")
			}
			p.nulls = append(p.nulls, k.Slot)
			continue
		}
		at := before + bits.OnesCount64(bitsOf&(mask-1))
		if wide {
			dst8[k.Slot] = binary.LittleEndian.Uint64(values[at*8:])
		} else {
			dst4[k.Slot] = binary.LittleEndian.Uint32(values[at*4:])
		}
	}
	return nil
}
