package online

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/granary-ml/granary/feature"
)

// Layout is how the rows of one view are packed: where each slot has its fixed
// place. It is built once per bound view, is immutable and safe for concurrent
// use.
//
// A slot never moves and its type never changes; the place of a slot follows
// from the types of the slots before it. So every layout of a view reads every
// row of it: a row that was packed before a feature was added has fewer slots,
// and the feature is null; one that was packed by a server that already knows
// more slots has them behind all that this layout looks at.
type Layout struct {
	view   *feature.BoundView
	places []place // by slot
	fixed  int     // bytes of all places
}

// place is the fixed place of one slot.
type place struct {
	typ     feature.Type
	feature int // index in the view's features; -1 if none of them has the slot
	offset  int // from the first place
	width   int // bytes of the place
	// varying is set where the place holds the end of the slot's data; it begins
	// where that of the slot before it ends, whose place is at before (-1: at 0).
	varying bool
	before  int
}

// endBytes is the width of the place of a slot whose data is elsewhere.
const endBytes = 4

// NewLayout returns the layout of a view.
func NewLayout(v *feature.BoundView) *Layout {
	l := &Layout{view: v, places: make([]place, len(v.SlotTypes))}
	before := -1
	for slot, t := range v.SlotTypes {
		p := place{typ: t, feature: slices.Index(v.Slots, slot), offset: l.fixed, width: scalarWidth(t.Kind), before: before}
		if !t.IsScalar() || p.width == 0 {
			p.varying, p.width, before = true, endBytes, p.offset
		}
		l.fixed += p.width
		l.places[slot] = p
	}
	return l
}

// scalarWidth returns the bytes of a scalar; 0 for text, which varies.
func scalarWidth(k feature.Kind) int {
	switch k {
	case feature.KindBool:
		return 1
	case feature.KindInt32, feature.KindFloat32:
		return 4
	case feature.KindInt64, feature.KindFloat64, feature.KindTimestamp:
		return 8
	case feature.KindString, feature.KindBytes, feature.KindInvalid:
	}
	return 0
}

// Append appends a packed row to dst. The values stand in the order of the
// view's features and have their types or are null. The same row always gives
// the same bytes. A row larger than MaxRowBytes is CodeTooLarge; dst comes back
// unchanged with every error.
func (l *Layout) Append(dst []byte, event, created feature.Timestamp, values []feature.Value) ([]byte, error) {
	w, err := l.begin(dst, event, created)
	if err != nil {
		return dst, err
	}
	for slot := range l.places {
		p := &l.places[slot]
		if p.feature >= 0 {
			if p.feature >= len(values) {
				return dst, l.mismatch("%d values, fewer than the view has features", len(values))
			}
			if err := w.value(slot, p, values[p.feature]); err != nil {
				return dst, err
			}
		}
		w.end(p)
	}
	return w.seal(dst)
}

func (l *Layout) mismatch(format string, args ...any) error {
	return feature.Errorf(feature.CodeInvalidArgument, "online.Layout", l.view.Subject(), format, args...)
}

// packer fills one row. Offsets are within buf, at the end of which the row
// grows.
type packer struct {
	layout *Layout
	buf    []byte
	start  int // of the row
	places int // of the first place
	data   int // of the data
}

// begin appends the header, an empty bitmap and empty places.
func (l *Layout) begin(dst []byte, event, created feature.Timestamp) (packer, error) {
	if len(l.places) > MaxSlots {
		return packer{}, feature.Errorf(feature.CodeTooLarge, "online.Layout", l.view.Subject(), "%d slots, more than %d", len(l.places), MaxSlots)
	}
	head := atBitmap + bitmapBytes(len(l.places))
	w := packer{layout: l, start: len(dst), places: len(dst) + head, data: len(dst) + head + l.fixed}
	w.buf = slices.Grow(dst, head+l.fixed+checksumBytes)[:w.data]
	row := w.buf[w.start:]
	clear(row)
	row[0] = RowFormat
	binary.LittleEndian.PutUint16(row[atSlots:], uint16(len(l.places))) //nolint:gosec // at most MaxSlots
	binary.LittleEndian.PutUint32(row[atData:], uint32(head+l.fixed))   //nolint:gosec // some bytes per slot
	putInt64(row, atEvent, int64(event))
	putInt64(row, atCreated, int64(created))
	return w, nil
}

// present marks a slot as one that holds a value and returns its place.
func (w *packer) present(slot int, p *place) []byte {
	w.buf[w.start+atBitmap+slot>>3] |= 1 << (slot & 7)
	at := w.places + p.offset
	return w.buf[at : at+p.width]
}

// value packs one value.
func (w *packer) value(slot int, p *place, v feature.Value) error {
	if v.IsNull() {
		return nil
	}
	if v.Type() != p.typ {
		return w.layout.mismatch("slot %d: a value of type %s where %s is expected", slot, v.Type(), p.typ)
	}
	at := w.present(slot, p)
	switch {
	case !p.varying:
		putScalar(at, v)
	case !p.typ.IsScalar():
		if err := w.layout.checkElems(slot, p.typ, v.Elems()); err != nil {
			return err
		}
		if p.typ.List {
			w.buf = appendList(w.buf, p.typ.Kind, v.Elems())
			return nil
		}
		for _, e := range v.Elems() {
			w.buf = binary.LittleEndian.AppendUint32(w.buf, math.Float32bits(e.Float32()))
		}
	default:
		if p.typ.Kind == feature.KindString && !feature.ValidText(v.Text()) {
			return w.layout.mismatch("slot %d: text that is not UTF-8", slot)
		}
		w.buf = append(w.buf, v.Text()...)
	}
	return nil
}

// checkElems refuses elements that a list or vector of the type cannot have.
func (l *Layout) checkElems(slot int, t feature.Type, elems []feature.Value) error {
	if t.IsVector() && len(elems) != int(t.Dim) {
		return l.mismatch("slot %d: a vector of %d elements where %s is expected", slot, len(elems), t)
	}
	for i, e := range elems {
		switch {
		case e.IsNull():
			if t.IsVector() {
				return l.mismatch("slot %d: element %d of a vector is null", slot, i)
			}
		case e.Type() != t.Elem():
			return l.mismatch("slot %d: element %d is of type %s where %s is expected", slot, i, e.Type(), t.Elem())
		case t.Kind == feature.KindString && !feature.ValidText(e.Text()):
			return l.mismatch("slot %d: element %d is text that is not UTF-8", slot, i)
		}
	}
	return nil
}

// end writes into the place of a varying slot where its data ends, null or not.
func (w *packer) end(p *place) {
	if p.varying {
		binary.LittleEndian.PutUint32(w.buf[w.places+p.offset:], uint32(len(w.buf)-w.data)) //nolint:gosec // seal checks the size
	}
}

// seal appends the checksum; dst is what comes back when the row is too large.
func (w *packer) seal(dst []byte) ([]byte, error) {
	size := len(w.buf) - w.start + checksumBytes
	if size > MaxRowBytes {
		return dst, feature.Errorf(feature.CodeTooLarge, "online.Layout", w.layout.view.Subject(),
			"a packed row of %d bytes, more than %d", size, MaxRowBytes)
	}
	return binary.LittleEndian.AppendUint32(w.buf, crc32.Checksum(w.buf[w.start:], castagnoli)), nil
}

// putScalar writes a scalar of fixed width.
func putScalar(at []byte, v feature.Value) {
	switch v.Type().Kind {
	case feature.KindBool:
		at[0] = 0
		if v.Bool() {
			at[0] = 1
		}
	case feature.KindInt32:
		binary.LittleEndian.PutUint32(at, uint32(int32(v.Int()))) //nolint:gosec // an int32 by its type
	case feature.KindInt64:
		putInt64(at, 0, v.Int())
	case feature.KindFloat32:
		binary.LittleEndian.PutUint32(at, math.Float32bits(v.Float32()))
	case feature.KindFloat64:
		binary.LittleEndian.PutUint64(at, math.Float64bits(v.Float()))
	case feature.KindTimestamp:
		putInt64(at, 0, int64(v.Timestamp()))
	case feature.KindString, feature.KindBytes, feature.KindInvalid:
	}
}
