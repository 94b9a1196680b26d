package ingest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/granary-ml/granary/feature"
)

// content is an opened input: what stands in it once it is unpacked.
type content struct {
	in    *input
	blob  blob
	bytes *atomic.Int64 // read so far, packed
	// packed tells, once stream has been called, that the input is packed.
	packed bool
	close  []func() error
}

// openContent opens an input. bytes counts what is read of it.
func openContent(ctx context.Context, in *input, bytes *atomic.Int64) (*content, error) {
	b, err := in.open(ctx)
	if err != nil {
		return nil, err
	}
	return &content{in: in, blob: b, bytes: bytes, close: []func() error{b.Close}}, nil
}

// Close closes the input and removes what was unpacked of it.
func (c *content) Close() error {
	var errs []error
	for _, f := range slices.Backward(c.close) {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

// fail words an error of reading the input.
func (c *content) fail(err error) error { return inputError(c.in.name, err) }

// inputError words an error of reading an input. What a codec says of damaged
// bytes is the fault of the input; the context's end and a store's error stay
// what they are.
func inputError(name string, err error) error {
	var own *feature.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &own) && own.Code == feature.CodeDataLoss: // of the caller's file, not of ours
		return &feature.Error{Code: feature.CodeInvalidArgument, Op: "ingest", Subject: name, Err: own.Err, Faults: own.Faults}
	case own != nil:
		if own.Subject == "" {
			return &feature.Error{Code: own.Code, Op: "ingest", Subject: name, Err: own.Err, Faults: own.Faults}
		}
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return feature.Errorf(feature.CodeInvalidArgument, "ingest", name, "the file is truncated: %w", err)
	case damaged(err):
		return feature.Errorf(feature.CodeInvalidArgument, "ingest", name, "the file is damaged: %w", err)
	}
	return feature.Errorf(feature.CodeOf(err), "ingest", name, "reading: %w", err)
}

func damaged(err error) bool {
	for _, of := range [...]error{
		gzip.ErrChecksum, gzip.ErrHeader, zstd.ErrMagicMismatch, zstd.ErrCRCMismatch, zstd.ErrUnknownDictionary,
		zstd.ErrReservedBlockType, zstd.ErrCompressedSizeTooBig, zstd.ErrBlockTooSmall, zstd.ErrWindowSizeExceeded,
		zstd.ErrWindowSizeTooSmall, zstd.ErrFrameSizeExceeded, zstd.ErrFrameSizeMismatch, zstd.ErrDecoderSizeExceeded,
	} {
		if errors.Is(err, of) {
			return true
		}
	}
	return false
}

const headBytes = 4096

// stream returns the input unpacked, as a stream whose first bytes can be
// looked at.
func (c *content) stream() (*bufio.Reader, error) {
	packed := bufio.NewReaderSize(&countingReader{r: c.blob, n: c.bytes}, 256<<10)
	head, err := packed.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, c.fail(err)
	}
	plain, closer, err := unpack(packed, head)
	switch {
	case err != nil:
		return nil, c.fail(err)
	case plain == nil:
		return packed, nil
	}
	c.packed = true
	c.close = append(c.close, closer)
	return bufio.NewReaderSize(plain, headBytes), nil
}

var (
	magicGzip = []byte{0x1f, 0x8b}
	magicZstd = []byte{0x28, 0xb5, 0x2f, 0xfd}
)

// maxZstdWindow bounds the memory that a zstd stream asks for.
const maxZstdWindow = 128 << 20

// unpack returns the stream that r packs; nil if it packs none.
func unpack(r io.Reader, head []byte) (io.Reader, func() error, error) {
	switch {
	case bytes.HasPrefix(head, magicGzip):
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	case bytes.HasPrefix(head, magicZstd):
		z, err := zstd.NewReader(r, zstd.WithDecoderMaxWindow(maxZstdWindow), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, nil, err
		}
		return z, func() error { z.Close(); return nil }, nil
	}
	return nil, nil, nil
}

type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

// Read implements io.Reader.
func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// text returns the stream of a text format, after a byte-order mark; what is
// evidently no text is refused by what it is.
func (c *content) text() (*bufio.Reader, error) {
	r, err := c.stream()
	if err != nil {
		return nil, err
	}
	head, err := r.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, c.fail(err)
	}
	if what := sniff(head); what != "" {
		return nil, c.notWhatItSays(what)
	}
	if bytes.HasPrefix(head, byteOrderMark) {
		if _, err := r.Discard(len(byteOrderMark)); err != nil {
			return nil, c.fail(err)
		}
	}
	return r, nil
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// lines is text that is to be NDJSON: the first row must look like one. Further
// rows are looked at one by one.
func (c *content) lines() (*bufio.Reader, error) {
	text, err := c.text()
	if err != nil {
		return nil, err
	}
	head, err := text.Peek(headBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, c.fail(err)
	}
	switch first := bytes.TrimLeft(head, " \t\r\n"); {
	case len(first) == 0 || first[0] == '{':
		return text, nil
	case first[0] == '[':
		return nil, c.notWhatItSays("a JSON array (expected an object in each line; an array of them is JSON)")
	}
	return nil, c.notWhatItSays("something else (expected a JSON object in each line)")
}

func (c *content) notWhatItSays(what string) error {
	return feature.Errorf(feature.CodeInvalidArgument, "ingest", c.in.name, "not %s: it is %s", formatNames[c.in.format], what)
}

var formatNames = map[feature.Format]string{
	feature.FormatCSV: "CSV", feature.FormatNDJSON: "NDJSON", feature.FormatJSON: "JSON",
	feature.FormatParquet: "Parquet", feature.FormatArrow: "Arrow IPC",
}

// sniff tells what bytes are that are not text; empty for what may be text.
func sniff(head []byte) string {
	for _, m := range [...]struct{ magic, name string }{
		{"PAR1", "a Parquet file"},
		{"ARROW1", "an Arrow file"},
		{"\xff\xff\xff\xff", "an Arrow stream"},
		{"PK\x03\x04", "a zip archive"},
		{"ORC", "an ORC file"},
		{"Obj\x01", "an Avro file"},
		{"BZh", "packed by bzip2"},
		{"\xfd7zXZ", "packed by xz"},
		{"\x1f\x8b", "packed twice, by gzip"},
		{"\x28\xb5\x2f\xfd", "packed twice, by zstd"},
		{"\xff\xfe", "text in UTF-16 (expected UTF-8)"},
		{"\xfe\xff", "text in UTF-16 (expected UTF-8)"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.name
		}
	}
	// Further on a zero is a character like any other, and a fault of one row
	// where it does not belong.
	if line, _, _ := bytes.Cut(head, newline); bytes.IndexByte(line, 0) >= 0 {
		return "binary data"
	}
	return ""
}

// random returns the input unpacked, to be read at any offset, and its size. A
// packed one is unpacked into a temporary file.
func (c *content) random(ctx context.Context, tempDir string) (io.ReaderAt, int64, error) {
	head := make([]byte, 4)
	n, err := c.blob.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, 0, c.fail(err)
	}
	if !bytes.HasPrefix(head[:n], magicGzip) && !bytes.HasPrefix(head[:n], magicZstd) {
		return &countingReaderAt{r: c.blob, n: c.bytes}, c.in.size, nil
	}
	plain, err := c.stream()
	if err != nil {
		return nil, 0, err
	}
	f, size, err := spool(ctx, plain, tempDir)
	if err != nil {
		return nil, 0, c.fail(err)
	}
	c.close = append(c.close, f.Close)
	return f, size, nil
}

type countingReaderAt struct {
	r io.ReaderAt
	n *atomic.Int64
}

// ReadAt implements io.ReaderAt.
func (c *countingReaderAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.r.ReadAt(p, off)
	c.n.Add(int64(n))
	return n, err
}

// spool copies a stream into a temporary file, which has no name any more when
// it is returned, so that it goes with the process.
func spool(ctx context.Context, r io.Reader, tempDir string) (*os.File, int64, error) {
	f, err := os.CreateTemp(tempDir, "granary-ingest-*")
	if err != nil {
		return nil, 0, fmt.Errorf("temporary file: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, 0, errors.Join(fmt.Errorf("temporary file: %w", err), f.Close())
	}
	size, err := io.Copy(f, contextReader{ctx: ctx.Err, r: r})
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, size, nil
}

// contextReader ends with a context.
type contextReader struct {
	ctx func() error
	r   io.Reader
}

// Read implements io.Reader.
func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
