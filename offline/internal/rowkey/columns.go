package rowkey

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/keyenc"
)

// Columns are the join key columns of some rows, none of them null.
type Columns struct {
	cols []column
	rows int
	// width is the number of bytes of every encoding if it is at most eight;
	// else 0.
	width int
}

// column is one join key; the fields beside kind depend on it.
type column struct {
	kind    feature.Kind
	ints    []int64 // int64, timestamp
	ints32  []int32
	bools   *array.Boolean
	offsets []int32 // string, bytes
	text    []byte
}

// Exact tells whether the encodings of such keys are a uint64 each, so that
// Prefixes are all there is to compare.
func Exact(keys []feature.JoinKey) bool { return width(keys) > 0 }

// exactBytes is the size of the largest encoding that fits into a prefix.
const exactBytes = 8

func width(keys []feature.JoinKey) int {
	total := 0
	for _, k := range keys {
		switch k.Type.Kind {
		case feature.KindBool:
			total++
		case feature.KindInt32:
			total += 4
		case feature.KindInt64, feature.KindTimestamp:
			total += 8
		case feature.KindString, feature.KindBytes, feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
			return 0
		}
	}
	if total > exactBytes {
		return 0
	}
	return total
}

// MakeColumns takes arrays of rows length, in the order of the keys and of
// their types. The arrays are kept.
func MakeColumns(keys []feature.JoinKey, arrays []arrow.Array, rows int) (Columns, error) {
	out := Columns{cols: make([]column, len(keys)), rows: rows, width: width(keys)}
	for i, k := range keys {
		c, ok := makeColumn(k.Type.Kind, arrays[i])
		if !ok {
			return Columns{}, fmt.Errorf("join key %s is %s where %s is expected", k.Name, arrays[i].DataType(), k.Type)
		}
		out.cols[i] = c
	}
	return out, nil
}

func makeColumn(kind feature.Kind, arr arrow.Array) (column, bool) {
	c := column{kind: kind}
	ok := false
	switch kind {
	case feature.KindBool:
		c.bools, ok = arr.(*array.Boolean)
	case feature.KindInt32:
		var a *array.Int32
		if a, ok = arr.(*array.Int32); ok {
			c.ints32 = a.Int32Values()
		}
	case feature.KindInt64:
		var a *array.Int64
		if a, ok = arr.(*array.Int64); ok {
			c.ints = a.Int64Values()
		}
	case feature.KindTimestamp:
		c.ints, ok = Int64s(arr)
	case feature.KindString:
		var a *array.String
		if a, ok = arr.(*array.String); ok {
			c.setText(a.Data())
		}
	case feature.KindBytes:
		var a *array.Binary
		if a, ok = arr.(*array.Binary); ok {
			c.setText(a.Data())
		}
	case feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
	}
	return c, ok
}

func (c *column) setText(data arrow.ArrayData) {
	if data.Len() == 0 {
		return
	}
	c.offsets = arrow.GetOffsets[int32](data, 1)
	if b := data.Buffers()[2]; b != nil {
		c.text = b.Bytes()
	}
}

// Int64s returns the values of a column of timestamps in microseconds.
func Int64s(arr arrow.Array) ([]int64, bool) {
	a, ok := arr.(*array.Timestamp)
	if !ok {
		return nil, false
	}
	if t, isTime := a.DataType().(*arrow.TimestampType); !isTime || t.Unit != arrow.Microsecond {
		return nil, false
	}
	return arrow.GetValues[int64](a.Data(), 1), true
}

// Len returns the number of rows.
func (c *Columns) Len() int { return c.rows }

// Exact tells whether prefixes are all there is to compare.
func (c *Columns) Exact() bool { return c.width > 0 }

// Prefixes returns the keys of all rows as integers in the order of the keys,
// if they are exact, in dst if it is large enough.
func (c *Columns) Prefixes(dst []uint64) []uint64 {
	if cap(dst) < c.rows {
		dst = make([]uint64, c.rows)
	}
	dst = dst[:c.rows]
	clear(dst)
	shift := 8 * exactBytes
	for i := range c.cols {
		shift = c.cols[i].addPrefixes(dst, shift)
	}
	return dst
}

// addPrefixes puts the values below the bit shift, and returns where the next
// column begins.
func (c *column) addPrefixes(dst []uint64, shift int) int {
	switch c.kind {
	case feature.KindInt64, feature.KindTimestamp:
		for i, v := range c.ints {
			dst[i] = uint64(v) ^ 1<<63 //nolint:gosec // the bits
		}
		return shift - 64
	case feature.KindInt32:
		shift -= 32
		for i, v := range c.ints32 {
			dst[i] |= uint64(uint32(v)^1<<31) << shift //nolint:gosec // the bits
		}
	case feature.KindBool:
		shift -= 8
		for i := range dst {
			if c.bools.Value(i) {
				dst[i] |= 1 << shift
			}
		}
	case feature.KindString, feature.KindBytes, feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
	}
	return shift
}

// Append appends the encoding of the key of a row: its feature.EntityKey.
func (c *Columns) Append(dst []byte, row int) []byte {
	for i := range c.cols {
		col := &c.cols[i]
		switch col.kind {
		case feature.KindInt64, feature.KindTimestamp:
			dst = keyenc.AppendInt64(dst, col.ints[row])
		case feature.KindInt32:
			dst = keyenc.AppendInt32(dst, col.ints32[row])
		case feature.KindBool:
			dst = keyenc.AppendBool(dst, col.bools.Value(row))
		case feature.KindString, feature.KindBytes:
			dst = keyenc.AppendBytes(dst, col.text[col.offsets[row]:col.offsets[row+1]])
		case feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
		}
	}
	return dst
}

// same tells whether two rows have one key.
func (c *Columns) same(i, j int) bool {
	for k := range c.cols {
		col := &c.cols[k]
		equal := true
		switch col.kind {
		case feature.KindInt64, feature.KindTimestamp:
			equal = col.ints[i] == col.ints[j]
		case feature.KindInt32:
			equal = col.ints32[i] == col.ints32[j]
		case feature.KindBool:
			equal = col.bools.Value(i) == col.bools.Value(j)
		case feature.KindString, feature.KindBytes:
			equal = bytes.Equal(col.text[col.offsets[i]:col.offsets[i+1]], col.text[col.offsets[j]:col.offsets[j+1]])
		case feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
		}
		if !equal {
			return false
		}
	}
	return true
}
