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
	start := len(dst)
	dst = append(dst, markFormat)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.Version))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(m.Through))
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli))
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
	return Mark{
		Version: int64(binary.LittleEndian.Uint64(src[1:])),
		Through: feature.Timestamp(binary.LittleEndian.Uint64(src[9:])),
	}, nil
}
