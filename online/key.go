package online

import (
	"encoding/binary"

	"github.com/granary-ml/granary/feature"
)

// KeyFormat is the version of the keys, and their first byte.
const KeyFormat = 1

// Generation numbers the copies of a view's rows in a store. One of them is
// served; a bulk load writes the next one beside it, and one small write makes
// it the one that is served. Rows are written to generation 0 until a view is
// first loaded in bulk.
type Generation uint32

// kind tells what a key of a view holds. The numbers are part of the format.
// A view's kinds stand side by side, so that one range holds all of it.
type kind = byte

const (
	kindMark kind = 0x00 // the mark of the materialization
	kindRow  kind = 0x10 // a packed row
	kindEnd  kind = 0xFF // never written: the end of the view's range
)

// rowPrefixBytes is the length of what comes before the entity key.
const rowPrefixBytes = 1 + 4 + 1 + 4

func appendViewKey(dst []byte, view feature.ViewID, k kind) []byte {
	dst = append(dst, KeyFormat)
	dst = binary.BigEndian.AppendUint32(dst, uint32(view))
	return append(dst, k)
}

// AppendRowPrefix appends what all row keys of one generation of a view begin
// with; the entity key follows it.
func AppendRowPrefix(dst []byte, view feature.ViewID, g Generation) []byte {
	return binary.BigEndian.AppendUint32(appendViewKey(dst, view, kindRow), uint32(g))
}

// AppendRowKey appends the key of a row. The order of the keys as bytes is the
// order of view, generation, entity key.
func AppendRowKey(dst []byte, view feature.ViewID, g Generation, key feature.EntityKey) []byte {
	return append(AppendRowPrefix(dst, view, g), key...)
}

// AppendMarkKey appends the key of a view's mark.
func AppendMarkKey(dst []byte, view feature.ViewID) []byte {
	return appendViewKey(dst, view, kindMark)
}

// ViewSpan returns the bounds [start, end) of all keys of a view.
func ViewSpan(view feature.ViewID) (start, end []byte) {
	return appendViewKey(nil, view, kindMark), appendViewKey(nil, view, kindEnd)
}

// ParseRowKey is the inverse of AppendRowKey; false if key is not the key of a
// row.
func ParseRowKey(key []byte) (feature.ViewID, Generation, feature.EntityKey, bool) {
	if len(key) < rowPrefixBytes || key[0] != KeyFormat || key[5] != kindRow {
		return 0, 0, "", false
	}
	view := feature.ViewID(binary.BigEndian.Uint32(key[1:]))
	g := Generation(binary.BigEndian.Uint32(key[6:]))
	return view, g, feature.EntityKey(key[rowPrefixBytes:]), true
}
