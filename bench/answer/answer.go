// Package answer computes the hash of a table's values that is the same for
// every engine, batch size and column layout; bench/peers computes the same in
// Python (common.py, AnswerHash). Equal hashes are a condition for comparing
// times.
//
// Each column has a SHA-256 of its own over its rows in order. A row of a
// fixed-width type is nine bytes: 1 and the value as 64-bit little-endian, or
// nine zeros for null; floats are float64 with one NaN, timestamps
// microseconds. A row of text is 1, its length as 64-bit little-endian and its
// bytes. The table's hash is the SHA-256 of the number of rows, then for each
// column the length of its name (32-bit), its name and its digest.
package answer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
)

// Hash takes records of one schema and gives their hash. It is not safe for
// concurrent use.
type Hash struct {
	rows    int64
	names   []string
	columns []hash.Hash
	buf     []byte
}

// Add adds the rows of a record.
func (h *Hash) Add(rec arrow.Record) error {
	if h.columns == nil {
		for _, f := range rec.Schema().Fields() {
			h.names = append(h.names, f.Name)
			h.columns = append(h.columns, sha256.New())
		}
	}
	if int(rec.NumCols()) != len(h.columns) {
		return fmt.Errorf("record of %d columns where %d are expected", rec.NumCols(), len(h.columns))
	}
	h.rows += rec.NumRows()
	for i, col := range rec.Columns() {
		buf, err := encode(h.buf[:0], col)
		if err != nil {
			return fmt.Errorf("column %s: %w", h.names[i], err)
		}
		_, _ = h.columns[i].Write(buf) // a hash does not fail
		h.buf = buf
	}
	return nil
}

// Sum returns the hash as hex.
func (h *Hash) Sum() string {
	total := sha256.New()
	total.Write(binary.LittleEndian.AppendUint64(nil, uint64(h.rows))) //nolint:gosec // a count
	for i, name := range h.names {
		total.Write(binary.LittleEndian.AppendUint32(nil, uint32(len(name)))) //nolint:gosec // a name
		total.Write([]byte(name))
		total.Write(h.columns[i].Sum(nil))
	}
	return hex.EncodeToString(total.Sum(nil))
}

var null [9]byte

func encode(dst []byte, col arrow.Array) ([]byte, error) {
	bits, err := fixed(col)
	if err != nil {
		return nil, err
	}
	for i := range col.Len() {
		switch {
		case col.IsNull(i):
			dst = append(dst, null[:]...)
		case bits != nil:
			dst = binary.LittleEndian.AppendUint64(append(dst, 1), bits(i))
		default:
			text := texts(col, i)
			dst = binary.LittleEndian.AppendUint64(append(dst, 1), uint64(len(text)))
			dst = append(dst, text...)
		}
	}
	return dst, nil
}

// fixed returns how row i of a fixed-width column becomes 64 bits, or nil for
// text.
func fixed(col arrow.Array) (func(i int) uint64, error) {
	switch a := col.(type) {
	case *array.Int64:
		return func(i int) uint64 { return uint64(a.Value(i)) }, nil //nolint:gosec // bits
	case *array.Int32:
		return func(i int) uint64 { return uint64(int64(a.Value(i))) }, nil //nolint:gosec // sign extended
	case *array.Timestamp:
		if unit := a.DataType().(*arrow.TimestampType).Unit; unit != arrow.Microsecond { //nolint:errcheck,forcetypeassert // its type
			return nil, fmt.Errorf("timestamps in %s where microseconds are expected", unit)
		}
		return func(i int) uint64 { return uint64(a.Value(i)) }, nil //nolint:gosec // bits
	case *array.Float64:
		return func(i int) uint64 { return floatBits(a.Value(i)) }, nil
	case *array.Float32:
		return func(i int) uint64 { return floatBits(float64(a.Value(i))) }, nil
	case *array.Boolean:
		return func(i int) uint64 {
			if a.Value(i) {
				return 1
			}
			return 0
		}, nil
	case *array.String, *array.Binary:
		return nil, nil //nolint:nilnil // nil says text
	}
	return nil, fmt.Errorf("no hash of type %s", col.DataType())
}

const canonicalNaN = 0x7FF8000000000000

func floatBits(f float64) uint64 {
	if math.IsNaN(f) {
		return canonicalNaN
	}
	return math.Float64bits(f)
}

func texts(col arrow.Array, i int) string {
	switch a := col.(type) {
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return a.ValueString(i)
	}
	return ""
}
