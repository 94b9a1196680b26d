package parquetio

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
)

// leafBatch is what was decoded of a leaf for one record: a slot for each value
// or null, and the levels where a list or struct around it needs them.
type leafBatch struct {
	records    int
	slots      int
	nulls      int
	valid      []byte // bitmap; nil if no slot can be null
	fixed      []byte // values of fixed width
	text       textBuffer
	defs, reps []int16
}

func newLeafBatch(l *leaf, limit int64, expect int) *leafBatch {
	b := &leafBatch{text: textBuffer{limit: limit}}
	// The footer may promise rows that are not there, so the first guess is
	// bounded, and what is really there makes it grow.
	expect = min(expect, 1<<20)
	if l.width() > 0 {
		b.fixed = make([]byte, 0, min(int64(expect)*int64(l.width()), 8<<20))
	} else {
		b.text.offsets = make([]int32, 1, expect+1)
	}
	return b
}

// grow makes place for up to n more slots; there may be place already, because
// an entry of a list need not be a slot.
func (b *leafBatch) grow(l *leaf, n int) error {
	if l.width() > 0 {
		size := (int64(b.slots) + int64(n)) * int64(l.width())
		if size > b.text.limit {
			return &limitError{fmt.Sprintf("values of one batch take more than the limit of %d bytes", b.text.limit)}
		}
		if more := int(size) - len(b.fixed); more > 0 {
			b.fixed = slices.Grow(b.fixed, more)[:size]
		}
	}
	if l.node.slotDef < l.maxDef {
		size := int(bitutil.BytesForBits(int64(b.slots + n)))
		b.valid = append(b.valid, make([]byte, max(size-len(b.valid), 0))...)
	}
	return nil
}

// chunkReader decodes one column chunk, in as many batches as are wanted.
type chunkReader struct {
	leaf  *leaf
	chunk *columnChunk
	pages pageReader
	seen  int64 // values of the pages so far, nulls included
	old   bool  // by a writer that counted too few bytes
	dict  *dictionary

	left     int       // values of the page that are not yet read
	defs     runReader // of a flat column
	dec      decoder
	pageDefs []int16 // of a nested one, the page's
	pageReps []int16
	pos      int // in both
	borrowed *bufferPair
}

// nested tells whether the levels are kept.
func (l *leaf) nested() bool {
	return l.maxRep > 0 || l.maxDef > 1 || l.maxDef == 1 && !l.node.nullable
}

// read decodes n rows more into b, or as many as there are.
func (c *chunkReader) read(ctx context.Context, b *leafBatch, n int) error {
	if c.leaf.nested() {
		return c.readNested(ctx, b, n)
	}
	for b.records < n {
		if ok, err := c.page(ctx); err != nil || !ok {
			return err
		}
		k := min(n-b.records, c.left)
		if err := b.grow(c.leaf, k); err != nil {
			return err
		}
		present := k
		if c.leaf.maxDef > 0 {
			var err error
			if present, err = c.defs.readBitmap(b.valid, b.slots, k); err != nil {
				return err
			}
		}
		if err := c.values(b, k, present); err != nil {
			return err
		}
		b.records += k
		c.left -= k
	}
	return nil
}

// finish fails if the chunk has more rows than were read.
func (c *chunkReader) finish(ctx context.Context) error {
	ok, err := c.page(ctx)
	if err == nil && ok {
		err = errors.New("it has more rows than the footer says")
	}
	return err
}

// readNested decodes rows whose entries may be many: a row begins where the
// repetition level is 0, so its end is known only when the next one is seen.
func (c *chunkReader) readNested(ctx context.Context, b *leafBatch, n int) error {
	for {
		if c.leaf.maxRep == 0 && b.records == n {
			return nil
		}
		if ok, err := c.page(ctx); err != nil || !ok {
			return err
		}
		start := c.pos
		full := c.advance(b, n)
		if err := c.segment(b, c.pageDefs[start:c.pos]); err != nil {
			return err
		}
		b.defs = append(b.defs, c.pageDefs[start:c.pos]...)
		if c.leaf.maxRep > 0 {
			b.reps = append(b.reps, c.pageReps[start:c.pos]...)
		}
		if int64(len(b.defs))*2 > b.text.limit {
			return &limitError{fmt.Sprintf("levels of one batch take more than the limit of %d bytes", b.text.limit)}
		}
		c.left -= c.pos - start
		if full {
			return nil
		}
	}
}

// advance moves pos over the entries of the page that belong to the rows up to
// the n-th, and tells whether the row after them was seen.
func (c *chunkReader) advance(b *leafBatch, n int) bool {
	if c.leaf.maxRep == 0 {
		k := min(n-b.records, c.left)
		c.pos += k
		b.records += k
		return false
	}
	for c.pos < len(c.pageReps) {
		if c.pageReps[c.pos] == 0 {
			if b.records == n {
				return true
			}
			b.records++
		}
		c.pos++
	}
	return false
}

// segment decodes the slots of some entries.
func (c *chunkReader) segment(b *leafBatch, defs []int16) error {
	if err := b.grow(c.leaf, len(defs)); err != nil {
		return err
	}
	slotDef, maxDef := c.leaf.node.slotDef, c.leaf.maxDef
	slots, present := 0, 0
	for _, d := range defs {
		if d < slotDef {
			continue
		}
		if d == maxDef {
			present++
			if b.valid != nil {
				bitutil.SetBit(b.valid, b.slots+slots)
			}
		}
		slots++
	}
	return c.values(b, slots, present)
}

// values decodes the values of n slots, of which present are not null; the
// bitmap is set already. The values come without gaps and are moved apart from
// the end, in place.
func (c *chunkReader) values(b *leafBatch, n, present int) error {
	if w := c.leaf.width(); w > 0 {
		dst := b.fixed[b.slots*w : (b.slots+n)*w]
		if err := c.dec.fixed(dst[:present*w], present); err != nil {
			return err
		}
		if present < n {
			spread(dst, w, n, present, b.valid, b.slots)
		}
	} else {
		if err := c.dec.text(&b.text, present); err != nil {
			return err
		}
		if present < n {
			b.spreadText(n, present)
		}
	}
	b.slots += n
	b.nulls += n - present
	return nil
}

func spread(dst []byte, width, n, present int, valid []byte, off int) {
	switch width {
	case 4:
		spreadValues(arrow.Uint32Traits.CastFromBytes(dst), n, present, valid, off)
	case 8:
		spreadValues(arrow.Uint64Traits.CastFromBytes(dst), n, present, valid, off)
	case 1:
		spreadValues(dst, n, present, valid, off)
	default:
		for i, j := n-1, present-1; i >= 0 && i != j; i-- {
			slot := dst[i*width : (i+1)*width]
			if bitutil.BitIsSet(valid, off+i) {
				copy(slot, dst[j*width:(j+1)*width])
				j--
			} else {
				clear(slot)
			}
		}
	}
}

func spreadValues[T uint8 | uint32 | uint64](dst []T, n, present int, valid []byte, off int) {
	for i, j := n-1, present-1; i >= 0 && i != j; i-- {
		if bitutil.BitIsSet(valid, off+i) {
			dst[i] = dst[j]
			j--
		} else {
			dst[i] = 0
		}
	}
}

// spreadText gives each null the end of the value before it.
func (b *leafBatch) spreadText(n, present int) {
	base := len(b.text.offsets) - present // of the first end
	b.text.offsets = append(b.text.offsets, make([]int32, n-present)...)
	ends := b.text.offsets[base:]
	for i, j := n-1, present-1; i >= 0 && i != j; i-- {
		if j >= 0 {
			ends[i] = ends[j]
		} else {
			ends[i] = b.text.offsets[base-1]
		}
		if bitutil.BitIsSet(b.valid, b.slots+i) {
			j--
		}
	}
}

// page makes sure that the current page has values left; false at the end of the
// chunk.
func (c *chunkReader) page(ctx context.Context) (bool, error) {
	for c.left == 0 {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if c.seen == c.chunk.values {
			return false, c.checkEnd()
		}
		h, levels, body, ok, err := c.pages.next()
		switch {
		case err != nil:
			return false, err
		case !ok:
			return false, fmt.Errorf("it ends after %d of %d values", c.seen, c.chunk.values)
		case h.kind == pageDictionary:
			err = c.setDictionary(&h, body)
		default:
			err = c.setPage(&h, levels, body)
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// checkEnd fails if a data page follows the last one that the footer knows.
func (c *chunkReader) checkEnd() error {
	if c.old || c.pages.win.empty() {
		return nil
	}
	h, ok, err := c.pages.header()
	if err == nil && ok && (h.kind == pageData || h.kind == pageDataV2) && h.values > 0 {
		return fmt.Errorf("it has more than the %d values that the footer says", c.chunk.values)
	}
	return nil
}

func (c *chunkReader) setDictionary(h *pageHeader, body []byte) (err error) {
	switch {
	case c.dict != nil:
		return errors.New("it has a second dictionary")
	case h.enc != encPlain && h.enc != encPlainDictionary:
		return fmt.Errorf("dictionary in encoding %d, which is not supported", h.enc)
	}
	c.dict, err = newDictionary(c.leaf, body, int(h.values))
	return err
}

// setPage begins a data page: levels, then values.
func (c *chunkReader) setPage(h *pageHeader, levels, body []byte) error {
	n := int(h.values)
	c.seen += int64(n)
	if c.seen > c.chunk.values {
		return fmt.Errorf("it has more than the %d values that the footer says", c.chunk.values)
	}
	reps, defs, body, err := c.splitLevels(h, levels, body)
	if err != nil {
		return err
	}
	if c.leaf.nested() {
		if err := c.readLevels(reps, defs, n); err != nil {
			return err
		}
	} else if defs != nil {
		c.defs = *defs
	}
	if c.dec, err = newDecoder(c.leaf, h.enc, c.dict, body, n); err != nil {
		return err
	}
	c.left = n
	return nil
}

// splitLevels finds the levels of a page of either version. Version 2 may have
// levels that the schema has no use for.
func (c *chunkReader) splitLevels(h *pageHeader, levels, body []byte) (reps, defs *runReader, rest []byte, err error) {
	if h.kind == pageDataV2 {
		reps = &runReader{buf: levels[:h.repLen], width: levelWidth(c.leaf.maxRep)}
		defs = &runReader{buf: levels[h.repLen:], width: levelWidth(c.leaf.maxDef)}
		return reps, defs, body, nil
	}
	if c.leaf.maxRep > 0 {
		if reps, body, err = takeLevels(body, h.repEnc, c.leaf.maxRep); err != nil {
			return nil, nil, nil, err
		}
	}
	if c.leaf.maxDef > 0 {
		if defs, body, err = takeLevels(body, h.defEnc, c.leaf.maxDef); err != nil {
			return nil, nil, nil, err
		}
	}
	return reps, defs, body, nil
}

func (c *chunkReader) readLevels(reps, defs *runReader, n int) error {
	var err error
	if c.pageDefs, err = readPageLevels(c.pageDefs, defs, n, c.leaf.maxDef); err != nil {
		return err
	}
	c.pos = 0
	if c.leaf.maxRep == 0 {
		return nil
	}
	if c.pageReps, err = readPageLevels(c.pageReps, reps, n, c.leaf.maxRep); err != nil {
		return err
	}
	if n > 0 && c.seen == int64(n) && c.pageReps[0] != 0 {
		return errors.New("it begins inside a row")
	}
	return nil
}

func readPageLevels(dst []int16, r *runReader, n int, maxLevel int16) ([]int16, error) {
	dst = slices.Grow(dst[:0], n)[:n]
	if maxLevel == 0 {
		clear(dst)
		return dst, nil
	}
	if err := readRuns(r, dst); err != nil {
		return nil, err
	}
	for _, v := range dst {
		if v > maxLevel {
			return nil, fmt.Errorf("level %d where the schema has %d", v, maxLevel)
		}
	}
	return dst, nil
}
