package online

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/keyenc"
)

// Columns packs the rows of one record of the view's table straight from its
// columns, without a feature.Value in between: the way of materialization. It
// holds on to the memory of the record, which must stay as it is while it is in
// use, and may be used by several goroutines at once.
type Columns struct {
	layout         *Layout
	rows           int
	keys           []column // by join key
	event, created column
	features       []column // by slot; without a kind where no feature has the slot
}

// Columns binds the columns of rec, found by the names of
// feature.BoundView.Columns; others are ignored. A column that is missing or is
// not of its type is CodeInvalidArgument, and all of them are told at once.
func (l *Layout) Columns(rec arrow.Record) (*Columns, error) {
	b := binder{rec: rec}
	c := &Columns{layout: l, rows: int(rec.NumRows()), features: make([]column, len(l.places))}
	for _, k := range l.view.Keys {
		c.keys = append(c.keys, b.column(k.Name, k.Type))
	}
	c.event = b.column(l.view.EventColumn(), feature.TimestampType)
	c.created = b.column(l.view.CreatedColumn(), feature.TimestampType)
	for slot := range l.places {
		if p := &l.places[slot]; p.feature >= 0 {
			c.features[slot] = b.column(l.view.Features[p.feature].Name, p.typ)
		}
	}
	return c, feature.Invalid("online.Layout", l.view.Subject(), b.faults)
}

// Rows returns how many rows the record has.
func (c *Columns) Rows() int { return c.rows }

// Version returns the version of a row.
func (c *Columns) Version(row int) feature.Version {
	return feature.Version{Event: feature.Timestamp(c.event.u64[row]), Created: feature.Timestamp(c.created.u64[row])} //nolint:gosec // the same bits
}

// AppendKey appends the entity key of a row to dst. A null in a join key, or
// text that is not UTF-8, is CodeInvalidArgument, and a key that is too large
// CodeTooLarge; dst comes back unchanged with them.
func (c *Columns) AppendKey(dst []byte, row int) ([]byte, error) {
	out := dst
	for i := range c.keys {
		var ok bool
		if out, ok = c.keys[i].appendKey(out, row); !ok {
			return dst, c.layout.mismatch("row %d: join key %s is null or not UTF-8", row, c.layout.view.Keys[i].Name)
		}
	}
	if size := len(out) - len(dst); size > feature.MaxEntityKeyBytes {
		return dst, feature.Errorf(feature.CodeTooLarge, "online.Layout", c.layout.view.Subject(),
			"row %d: entity key of %d bytes, more than %d", row, size, feature.MaxEntityKeyBytes)
	}
	return out, nil
}

// AppendRow appends the packed form of a row to dst: the same bytes as
// Layout.Append of its values, with the same errors.
func (c *Columns) AppendRow(dst []byte, row int) ([]byte, error) {
	v := c.Version(row)
	w, err := c.layout.begin(dst, v.Event, v.Created)
	if err != nil {
		return dst, err
	}
	for slot := range c.features {
		p, col := &c.layout.places[slot], &c.features[slot]
		if col.kind != feature.KindInvalid && !col.isNull(row) {
			if !w.column(slot, p, col, row) {
				return dst, c.layout.mismatch("row %d: slot %d holds text that is not UTF-8, or a null in a vector", row, slot)
			}
		}
		w.end(p)
	}
	return w.seal(dst)
}

// column packs the value that a column has in a row; false if it may have no
// such value.
func (w *packer) column(slot int, p *place, c *column, row int) bool {
	at := w.present(slot, p)
	switch {
	case !p.varying:
		c.putScalar(at, row)
		return true
	case p.typ.List:
		return w.list(c, row)
	case p.typ.IsVector():
		return w.vector(c, row)
	}
	text, ok := c.text(row)
	w.buf = append(w.buf, text...)
	return ok
}

func (w *packer) list(c *column, row int) bool {
	first, end := c.list.ValueOffsets(row)
	elems := c.elems
	dst, start, s := beginList(w.buf, elems.kind, int(end-first))
	text := scalarWidth(elems.kind) == 0
	for i := range s.count {
		at, from := start+s.places+i*s.width, int(first)+i
		if !elems.isNull(from) {
			dst[start+s.bitmap+i>>3] |= 1 << (i & 7)
			if text {
				t, ok := elems.text(from)
				if !ok {
					return false
				}
				dst = append(dst, t...)
			} else {
				elems.putScalar(dst[at:at+s.width], from)
			}
		}
		if text {
			binary.LittleEndian.PutUint32(dst[at:], uint32(len(dst)-start-s.data)) //nolint:gosec // the row's size is checked when it is sealed
		}
	}
	w.buf = dst
	return true
}

func (w *packer) vector(c *column, row int) bool {
	first, end := c.list.ValueOffsets(row)
	for i := int(first); i < int(end); i++ {
		if c.elems.isNull(i) {
			return false
		}
		w.buf = binary.LittleEndian.AppendUint32(w.buf, c.elems.u32[i])
	}
	return true
}

// column is one Arrow column, laid open by kind: of u32, u64, bits, str and bin
// the one that holds it, or list and the elements.
type column struct {
	kind  feature.Kind
	nulls arrow.Array // nil if there are none
	u32   []uint32    // int32, float32
	u64   []uint64    // int64, float64, timestamp
	bits  *array.Boolean
	str   *array.String
	bin   *array.Binary
	list  array.ListLike
	elems *column
}

func (c *column) isNull(i int) bool { return c.nulls != nil && c.nulls.IsNull(i) }

// text returns the bytes of a text; false if it is a string that is not UTF-8.
func (c *column) text(i int) (string, bool) {
	if c.kind == feature.KindBytes {
		return c.bin.ValueString(i), true
	}
	s := c.str.Value(i)
	return s, utf8.ValidString(s)
}

func (c *column) putScalar(at []byte, i int) {
	switch c.kind {
	case feature.KindBool:
		if c.bits.Value(i) {
			at[0] = 1
		}
	case feature.KindInt32, feature.KindFloat32:
		binary.LittleEndian.PutUint32(at, c.u32[i])
	case feature.KindInt64, feature.KindFloat64, feature.KindTimestamp:
		binary.LittleEndian.PutUint64(at, c.u64[i])
	case feature.KindString, feature.KindBytes, feature.KindInvalid:
	}
}

func (c *column) appendKey(dst []byte, i int) ([]byte, bool) {
	if c.isNull(i) {
		return dst, false
	}
	switch c.kind {
	case feature.KindBool:
		return keyenc.AppendBool(dst, c.bits.Value(i)), true
	case feature.KindInt32:
		return keyenc.AppendInt32(dst, int32(c.u32[i])), true //nolint:gosec // the same bits
	case feature.KindInt64, feature.KindTimestamp:
		return keyenc.AppendInt64(dst, int64(c.u64[i])), true //nolint:gosec // the same bits
	case feature.KindString, feature.KindBytes:
		text, ok := c.text(i)
		return keyenc.AppendBytes(dst, text), ok
	case feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
	}
	return dst, false
}
