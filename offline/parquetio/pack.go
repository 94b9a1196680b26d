package parquetio

import (
	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/s2"
)

// snappyCodec packs pages in the place that the Arrow module keeps for them. Its
// own codec looks at the length of that place instead of its capacity, finds
// none, and makes another for each page. Our reader unpacks by itself; the
// streams are those of the module.
type snappyCodec struct{ compress.Codec }

// Encode implements compress.Codec.
func (snappyCodec) Encode(dst, src []byte) []byte { return s2.EncodeSnappy(dst, src) }

// EncodeLevel implements compress.Codec. Snappy has no levels.
func (snappyCodec) EncodeLevel(dst, src []byte, _ int) []byte { return s2.EncodeSnappy(dst, src) }

// CompressBound implements compress.Codec.
func (snappyCodec) CompressBound(n int64) int64 { return int64(s2.MaxEncodedLen(int(n))) }

func init() {
	if c, err := compress.GetCodec(compress.Codecs.Snappy); err == nil {
		compress.RegisterCodec(compress.Codecs.Snappy, snappyCodec{c})
	}
}
