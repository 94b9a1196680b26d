package online

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/granary-ml/granary/feature"
)

const (
	markFormat = 1
	markBytes  = 1 + 8 + 8 + checksumBytes
)

// AppendMark appends the stored form of a mark to dst.
func AppendMark(dst []byte, m Mark) []byte {
	var b [markBytes]byte
	b[0] = markFormat
	putInt64(b[:], 1, m.Version)
	putInt64(b[:], 9, int64(m.Through))
	binary.LittleEndian.PutUint32(b[17:], crc32.Checksum(b[:17], castagnoli))
	return append(dst, b[:]...)
}

// ParseMark reads what AppendMark wrote; anything else is CodeDataLoss.
func ParseMark(src []byte) (Mark, error) {
	switch {
	case len(src) != markBytes:
		return Mark{}, damaged("mark", "%d bytes where %d are expected", len(src), markBytes)
	case src[0] != markFormat:
		return Mark{}, damaged("mark", "format version %d, this program knows %d", src[0], markFormat)
	case !sealed(src):
		return Mark{}, damaged("mark", "the checksum does not match")
	}
	return Mark{Version: int64At(src, 1), Through: feature.Timestamp(int64At(src, 9))}, nil
}
