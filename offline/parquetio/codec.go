package parquetio

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow/go/v17/parquet/compress"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// codecID is a compression by its number in the specification.
type codecID int32

const (
	codecNone   codecID = 0
	codecSnappy codecID = 1
	codecGzip   codecID = 2
	codecLZO    codecID = 3
	codecBrotli codecID = 4
	codecLZ4    codecID = 5 // deprecated; blocks as Hadoop frames them, or raw
	codecZstd   codecID = 6
	codecLZ4Raw codecID = 7
)

var codecNames = [...]string{"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"}

// String returns the name in the specification.
func (c codecID) String() string {
	if c >= 0 && int(c) < len(codecNames) {
		return codecNames[c]
	}
	return fmt.Sprintf("codec %d", int32(c))
}

// supported tells whether pages of the codec can be unpacked.
func (c codecID) supported() bool { return c >= codecNone && c <= codecLZ4Raw && c != codecLZO }

var errUnpackedSize = errors.New("page unpacks to another size than its header says")

// unpacker unpacks pages. It is safe for concurrent use.
type unpacker struct {
	once  sync.Once
	zstd  *zstd.Decoder
	err   error
	gzips sync.Pool // of readers: their windows cost more than a small page
}

// unpack fills dst, whose length is what the page header says, and never makes
// more than that, so that a bomb goes off at its first byte too many.
func (u *unpacker) unpack(codec codecID, dst, src []byte) error {
	switch codec {
	case codecNone:
		if len(src) != len(dst) {
			return errUnpackedSize
		}
		copy(dst, src)
		return nil
	case codecSnappy:
		if n, err := s2.DecodedLen(src); err != nil || n != len(dst) {
			return errors.Join(errUnpackedSize, err)
		}
		_, err := s2.Decode(dst, src)
		return err
	case codecZstd:
		return u.unpackZstd(dst, src)
	case codecGzip:
		r, ok := u.gzips.Get().(*gzip.Reader)
		if !ok {
			r = new(gzip.Reader)
		}
		defer u.gzips.Put(r)
		if err := r.Reset(bytes.NewReader(src)); err != nil {
			return err
		}
		return fill(dst, r)
	case codecBrotli:
		c, err := compress.GetCodec(compress.Codecs.Brotli)
		if err != nil {
			return err
		}
		return fill(dst, c.NewReader(bytes.NewReader(src)))
	case codecLZ4:
		return unpackHadoopLZ4(dst, src)
	case codecLZ4Raw:
		return unpackLZ4(dst, src)
	case codecLZO:
	}
	return fmt.Errorf("compression %s is not supported", codec)
}

func (u *unpacker) unpackZstd(dst, src []byte) error {
	u.once.Do(func() {
		u.zstd, u.err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
	})
	if u.err != nil {
		return u.err
	}
	out, err := u.zstd.DecodeAll(src, dst[:0:len(dst)])
	if err != nil {
		return err
	}
	if len(out) != len(dst) {
		return errUnpackedSize
	}
	return nil
}

// close ends what the unpacker holds.
func (u *unpacker) close() {
	if u.zstd != nil {
		u.zstd.Close()
	}
}

// fill reads exactly dst from a stream.
func fill(dst []byte, r io.ReadCloser) error {
	if _, err := io.ReadFull(r, dst); err != nil {
		return err
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 || (err != nil && !errors.Is(err, io.EOF)) {
		return errors.Join(errUnpackedSize, err)
	}
	return r.Close()
}

func unpackLZ4(dst, src []byte) error {
	if len(dst) == 0 {
		return nil
	}
	n, err := lz4.UncompressBlock(src, dst)
	if err != nil {
		return err
	}
	if n != len(dst) {
		return errUnpackedSize
	}
	return nil
}

// unpackHadoopLZ4 unpacks blocks that each have two big-endian lengths before
// them, unpacked and packed. Some writers left the lengths away, and nothing in
// the file says so: what does not come out as such blocks is taken as one block.
func unpackHadoopLZ4(dst, src []byte) error {
	rest, at := src, 0
	for len(rest) > 8 && at < len(dst) {
		unpacked, packed := int64(binary.BigEndian.Uint32(rest)), int64(binary.BigEndian.Uint32(rest[4:]))
		if packed > int64(len(rest)-8) || unpacked > int64(len(dst)-at) {
			return unpackLZ4(dst, src)
		}
		n, err := lz4.UncompressBlock(rest[8:8+packed], dst[at:at+int(unpacked)])
		if err != nil || int64(n) != unpacked {
			return unpackLZ4(dst, src)
		}
		at += n
		rest = rest[8+packed:]
	}
	if at != len(dst) || len(rest) > 0 {
		return unpackLZ4(dst, src)
	}
	return nil
}
