package online

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/granary-ml/granary/feature"
)

// RowFormat is the version of packed rows, and their first byte.
const RowFormat = 1

// MaxRowBytes is the largest packed row.
const MaxRowBytes = 64 << 20

// MaxSlots is the largest number of slots of a packed row.
const MaxSlots = 1<<16 - 1

// The header of a packed row; all integers are little-endian.
//
//	 0       1       2               4               8
//	+-------+-------+---------------+---------------+
//	| 0x01  | flags | slots    u16  | data      u32 |
//	+-------+-------+---------------+---------------+
//	| event timestamp                           i64 |
//	+-----------------------------------------------+
//	| created timestamp                         i64 |
//	+-----------------------------------------------+
//
// Then the null bitmap, a fixed place per slot, the data of lists and text
// from the offset "data" on, and a checksum.
const (
	atFlags   = 1
	atSlots   = 2
	atData    = 4
	atEvent   = 8
	atCreated = 16
	atBitmap  = 24

	checksumBytes = 4
	minRowBytes   = atBitmap + checksumBytes
)

// castagnoli is the polynomial that processors compute by themselves.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sealed tells whether the last four bytes are the checksum of the others.
func sealed(b []byte) bool {
	body := len(b) - checksumBytes
	return binary.LittleEndian.Uint32(b[body:]) == crc32.Checksum(b[:body], castagnoli)
}

func damaged(subject, format string, args ...any) error {
	return feature.Errorf(feature.CodeDataLoss, "", subject, format, args...)
}

// Check tells whether packed is a packed row as it was written: version, flags
// and checksum. Anything else is CodeDataLoss.
func Check(packed []byte) error {
	switch {
	case len(packed) < minRowBytes:
		return damaged("packed row", "%d bytes where at least %d are expected", len(packed), minRowBytes)
	case packed[0] != RowFormat:
		return damaged("packed row", "format version %d, this program knows %d", packed[0], RowFormat)
	case packed[atFlags] != 0:
		return damaged("packed row", "flags %#x, this program knows none", packed[atFlags])
	case !sealed(packed):
		return damaged("packed row", "the checksum does not match")
	}
	data := int(binary.LittleEndian.Uint32(packed[atData:]))
	if data < atBitmap+bitmapBytes(slotsOf(packed)) || data > len(packed)-checksumBytes {
		return damaged("packed row", "data at %d of %d bytes", data, len(packed))
	}
	return nil
}

// VersionOf returns the event and created timestamp of a packed row. It looks
// at the header only; see Check.
func VersionOf(packed []byte) (feature.Version, error) {
	if len(packed) < minRowBytes || packed[0] != RowFormat {
		return feature.Version{}, Check(packed)
	}
	return feature.Version{Event: eventOf(packed), Created: createdOf(packed)}, nil
}

// IsNull tells whether a slot of a checked row holds no value; a slot that the
// row does not have is null.
func IsNull(packed []byte, slot int) bool {
	return slot < 0 || slot >= slotsOf(packed) || packed[atBitmap+slot>>3]&(1<<(slot&7)) == 0
}

func eventOf(packed []byte) feature.Timestamp { return feature.Timestamp(int64At(packed, atEvent)) }

func createdOf(packed []byte) feature.Timestamp { return feature.Timestamp(int64At(packed, atCreated)) }

// int64At reads a signed integer.
func int64At(b []byte, at int) int64 {
	return int64(binary.LittleEndian.Uint64(b[at:])) //nolint:gosec // the same bits
}

// putInt64 writes a signed integer.
func putInt64(b []byte, at int, v int64) {
	binary.LittleEndian.PutUint64(b[at:], uint64(v)) //nolint:gosec // the same bits
}

func slotsOf(packed []byte) int { return int(binary.LittleEndian.Uint16(packed[atSlots:])) }

func bitmapBytes(slots int) int { return (slots + 7) / 8 }
