package parquetio

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The types of pages, by the numbers of the specification.
const (
	pageData       = 0
	pageIndex      = 1
	pageDictionary = 2
	pageDataV2     = 3

	firstHeaderBytes = 4 << 10  // tried first; most headers have fewer than 100
	maxHeaderBytes   = 16 << 20 // a header may hold two large bounds
)

// pageHeader is what we use of a page's header, whichever the version.
type pageHeader struct {
	kind           int32
	unpacked       int32
	packed         int32
	crc            uint32
	hasCRC         bool
	values         int32 // with nulls; of a dictionary, its entries
	enc            encoding
	defEnc, repEnc encoding // version 1
	defLen, repLen int32    // version 2
	compressed     bool
}

func parsePageHeader(r *thriftReader) pageHeader {
	out := pageHeader{kind: -1, unpacked: -1, packed: -1, values: -1, compressed: true, defEnc: encRLE, repEnc: encRLE}
	var f field
	for r.next(&f) {
		switch f.id {
		case 1:
			out.kind = r.int32(f)
		case 2:
			out.unpacked = r.int32(f)
		case 3:
			out.packed = r.int32(f)
		case 4:
			out.crc, out.hasCRC = uint32(r.int32(f)), true //nolint:gosec // the bits of a checksum
		case 5, 7, 8:
			if r.expect(f, thriftStruct, "page header") {
				r.innerHeader(&out, f.id)
			}
		default:
			r.skip(f)
		}
	}
	return out
}

// innerHeader reads the header of a data page (5), a dictionary (7) or a data
// page of version 2 (8).
func (r *thriftReader) innerHeader(out *pageHeader, kind int16) {
	var f field
	for r.next(&f) {
		switch {
		case f.id == 1:
			out.values = r.int32(f)
		case f.id == 2 && kind != 8, f.id == 4 && kind == 8:
			out.enc = encoding(r.int32(f))
		case f.id == 3 && kind == 5:
			out.defEnc = encoding(r.int32(f))
		case f.id == 4 && kind == 5:
			out.repEnc = encoding(r.int32(f))
		case f.id == 5 && kind == 8:
			out.defLen = r.int32(f)
		case f.id == 6 && kind == 8:
			out.repLen = r.int32(f)
		case f.id == 7 && kind == 8:
			out.compressed = r.bool(f)
		default:
			r.skip(f)
		}
	}
}

// check refuses a header whose page must not be made.
func (h *pageHeader) check(limit int64) error {
	switch {
	case h.kind < 0 || h.unpacked < 0 || h.packed < 0:
		return errors.New("page header lacks its type or a size")
	case int64(h.unpacked) > limit || int64(h.packed) > limit:
		return &limitError{fmt.Sprintf("page of %d bytes is larger than the limit of %d", max(h.unpacked, h.packed), limit)}
	case h.kind == pageIndex || h.kind > pageDataV2:
		return nil // skipped
	case h.values < 0:
		return errors.New("page header lacks its number of values")
	case h.defLen < 0 || h.repLen < 0 || int64(h.defLen)+int64(h.repLen) > int64(min(h.unpacked, h.packed)):
		return errors.New("page header has levels larger than the page")
	case int64(h.values)*2 > limit:
		return &limitError{fmt.Sprintf("page of %d values is larger than the limit of %d", h.values, limit/2)}
	}
	return nil
}

// limitError marks what is beyond a limit, not damaged.
type limitError struct{ msg string }

func (e *limitError) Error() string { return e.msg }

// window reads a stretch of a file in order, a block at a time.
type window struct {
	src      io.ReaderAt
	off, end int64  // what is not yet read
	buf      []byte // what is read and not yet taken
	block    int
	spare    []byte // to read into, if it is large enough
}

// fill makes at least n bytes available, or all that are left.
func (w *window) fill(n int) error {
	if len(w.buf) >= n || w.off >= w.end {
		return nil
	}
	want := int(min(int64(max(n, w.block)), int64(len(w.buf))+w.end-w.off))
	// What was taken may still be in use, so nothing is read into it again.
	var buf []byte
	if cap(w.spare) >= want {
		buf, w.spare = w.spare[:want], nil
	} else {
		buf = make([]byte, want)
	}
	have := copy(buf, w.buf)
	if err := readFull(w.src, buf[have:], w.off); err != nil {
		return err
	}
	w.off += int64(want - have)
	w.buf = buf
	return nil
}

func (w *window) peek(n int) ([]byte, error) {
	err := w.fill(n)
	return w.buf[:min(n, len(w.buf))], err
}

func (w *window) take(n int) ([]byte, error) {
	if err := w.fill(n); err != nil {
		return nil, err
	}
	if len(w.buf) < n {
		return nil, fmt.Errorf("page of %d bytes where the column has %d left", n, len(w.buf))
	}
	out := w.buf[:n:n]
	w.buf = w.buf[n:]
	return out, nil
}

func (w *window) empty() bool { return len(w.buf) == 0 && w.off >= w.end }

// pageReader reads the pages of a column chunk and unpacks them.
type pageReader struct {
	win    window
	codec  codecID
	unpack *unpacker
	limit  int64
	reuse  []byte // the last data page, whose values are decoded by now
}

// header reads the next header; false at the end.
func (p *pageReader) header() (h pageHeader, ok bool, err error) {
	if p.win.empty() {
		return pageHeader{}, false, nil
	}
	for n := firstHeaderBytes; ; n *= 4 {
		buf, err := p.win.peek(n)
		if err != nil {
			return pageHeader{}, false, err
		}
		r := &thriftReader{buf: buf}
		h = parsePageHeader(r)
		if r.err == nil {
			_, err = p.win.take(r.pos)
			return h, true, err
		}
		if len(buf) < n || n >= maxHeaderBytes || !errors.Is(r.err, errThriftShort) {
			return pageHeader{}, false, fmt.Errorf("page header is damaged: %w", r.err)
		}
	}
}

// next returns the next page that we know: its header, the levels of version 2,
// and what is left, unpacked. They are good until the next call, except those of
// a dictionary, which are not used again.
func (p *pageReader) next() (h pageHeader, levels, body []byte, ok bool, err error) {
	h, raw, ok, err := p.head()
	if err != nil || !ok {
		return h, nil, nil, false, err
	}
	levels, body, err = p.open(&h, raw)
	return h, levels, body, err == nil, err
}

// head returns the header of the next page that we know, and its bytes as they
// are stored; false at the end.
func (p *pageReader) head() (h pageHeader, raw []byte, ok bool, err error) {
	for {
		h, ok, err = p.header()
		if err != nil || !ok {
			return h, nil, false, err
		}
		if err := h.check(p.limit); err != nil {
			return h, nil, false, err
		}
		raw, err := p.win.take(int(h.packed))
		if err != nil {
			return h, nil, false, err
		}
		if h.kind == pageData || h.kind == pageDataV2 || h.kind == pageDictionary {
			return h, raw, true, nil
		}
	}
}

// open checks and unpacks a page.
func (p *pageReader) open(h *pageHeader, raw []byte) (levels, body []byte, err error) {
	if h.hasCRC && crc32.ChecksumIEEE(raw) != h.crc {
		return nil, nil, errors.New("page does not match its checksum")
	}
	if levels, body, err = p.body(h, raw); err != nil {
		return nil, nil, fmt.Errorf("page of %s: %w", p.codec, err)
	}
	return levels, body, nil
}

func (p *pageReader) body(h *pageHeader, raw []byte) (levels, body []byte, err error) {
	size := int(h.unpacked)
	if h.kind == pageDataV2 {
		n := h.defLen + h.repLen
		levels, raw, size = raw[:n], raw[n:], size-int(n)
		if !h.compressed {
			return levels, raw, nil
		}
		// Some writers pack nothing into nothing, others into a few bytes.
		if size == 0 {
			return levels, nil, nil
		}
	}
	if p.codec == codecNone && len(raw) == size {
		return levels, raw, nil
	}
	var dst []byte
	if h.kind == pageDictionary {
		dst = make([]byte, size)
	} else {
		if cap(p.reuse) < size {
			p.reuse = make([]byte, size)
		}
		dst = p.reuse[:size]
	}
	return levels, dst, p.unpack.unpack(p.codec, dst, raw)
}
