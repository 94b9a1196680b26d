package ingest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/feature"
)

// arrow reads an Arrow IPC file or stream.
func (r *reader) arrow(ctx context.Context, c *content) (iter.Seq2[*batch, error], error) {
	schema, records, err := c.arrow(ctx, r.o.TempDir)
	if err != nil {
		return nil, err
	}
	slots, err := r.resolve(c.in.name, fieldNames(schema))
	if err != nil {
		return nil, err
	}
	return r.coerced(ctx, c.in.name, slots, records), nil
}

var (
	magicArrowFile = []byte("ARROW1")
	magicArrow     = []byte("\xff\xff\xff\xff") // before each message of a stream
)

// arrow opens Arrow IPC, a file or a stream.
func (c *content) arrow(ctx context.Context, tempDir string) (*arrow.Schema, iter.Seq2[arrow.Record, error], error) {
	stream, err := c.stream()
	if err != nil {
		return nil, nil, err
	}
	head, err := stream.Peek(len(magicArrowFile))
	switch {
	case bytes.HasPrefix(head, magicArrowFile):
		file, err := c.arrowFile(ctx, stream, tempDir)
		if err != nil {
			return nil, nil, err
		}
		return readArrow(ctx, &messages{r: file, bounded: true})
	case bytes.HasPrefix(head, magicArrow):
		return readArrow(ctx, &messages{r: stream, packed: c.packed})
	case err != nil && len(head) == 0:
		return nil, nil, feature.Errorf(feature.CodeInvalidArgument, "ingest", c.in.name, "the file is empty (expected Arrow IPC)")
	}
	what := sniff(head)
	if what == "" {
		what = "something else"
	}
	return nil, nil, c.notWhatItSays(what)
}

// arrowFile returns the messages of an Arrow file: what stands between the magic
// words and the footer. A footer says where they end; where each of them lies,
// which it says, too, need not be known to read them in order.
//
//	"ARROW1" 0 0 | messages | footer | length of the footer u32 | "ARROW1"
func (c *content) arrowFile(ctx context.Context, stream io.Reader, tempDir string) (io.Reader, error) {
	f, size, err := c.whole(ctx, stream, tempDir)
	if err != nil {
		return nil, err
	}
	const head, tail = 8, 10
	end := make([]byte, tail)
	if size < head+tail {
		return nil, damagedArrow(io.ErrUnexpectedEOF)
	}
	if _, err := f.ReadAt(end, size-tail); err != nil {
		return nil, err
	}
	footer := int64(binary.LittleEndian.Uint32(end))
	if !bytes.HasSuffix(end, magicArrowFile) || footer > size-head-tail {
		return nil, damagedArrow(errors.New("there is no footer at the end"))
	}
	return io.NewSectionReader(f, head, size-head-tail-footer), nil
}

// whole returns the input, of which stream is the unpacked beginning, to be read
// at any offset.
func (c *content) whole(ctx context.Context, stream io.Reader, tempDir string) (io.ReaderAt, int64, error) {
	if _, once := c.blob.(onlyStream); !once && !c.packed {
		return c.blob, c.in.size, nil
	}
	f, size, err := spool(ctx, stream, tempDir)
	if err != nil {
		return nil, 0, err
	}
	c.close = append(c.close, f.Close)
	return f, size, nil
}

func readArrow(ctx context.Context, m *messages) (schema *arrow.Schema, records iter.Seq2[arrow.Record, error], err error) {
	var in *ipc.Reader
	err = guarded(func() (err error) {
		in, err = ipc.NewReaderFromMessageReader(m)
		return err
	})
	if err != nil {
		return nil, nil, damagedArrow(err)
	}
	return in.Schema(), func(yield func(arrow.Record, error) bool) {
		for {
			rec, err := nextRecord(ctx, in)
			if rec == nil && err == nil || !yield(rec, err) || err != nil {
				return
			}
		}
	}, nil
}

// nextRecord returns the next record, checked; nil after the last.
func nextRecord(ctx context.Context, in *ipc.Reader) (rec arrow.Record, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = guarded(func() error {
		if !in.Next() {
			return in.Err()
		}
		rec = in.Record()
		rec.Retain()
		return checkRecord(rec)
	})
	if err != nil {
		return nil, damagedArrow(err)
	}
	return rec, nil
}

// guarded runs a step of the Arrow module, which panics on some damaged bytes.
func guarded(step func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%v", p)
		}
	}()
	return step()
}

func damagedArrow(err error) error {
	switch {
	case err == nil:
		return nil
	case feature.CodeOf(err) != feature.CodeInternal:
		return err
	}
	return feature.Errorf(feature.CodeInvalidArgument, "", "", "the Arrow data is damaged or truncated: %w", err)
}

// messages reads the messages of Arrow IPC; it implements ipc.MessageReader.
//
// The module's own reader makes room for as many bytes as a message says that
// it has, and takes the end of the stream between two messages for the end of
// the data. Here a message takes no more memory than its bytes that have come,
// and no more than a limit once they are unpacked, and a stream that does not
// say that it ends was cut.
type messages struct {
	r io.Reader
	// bounded tells that r ends where the messages do, as in a file.
	bounded bool
	// packed tells that r is unpacked as it is read: whether its bytes were the
	// right ones is known only at its end.
	packed bool
	metadata
}

const (
	maxArrowMeta = 64 << 20
	maxArrowBody = 1 << 30
)

// Retain implements ipc.MessageReader.
func (m *messages) Retain() {}

// Release implements ipc.MessageReader.
func (m *messages) Release() {}

// Message implements ipc.MessageReader.
func (m *messages) Message() (*ipc.Message, error) {
	n, err := m.length()
	switch {
	case errors.Is(err, io.EOF) && !m.bounded:
		return nil, fmt.Errorf("the end of the stream is missing: %w", io.ErrUnexpectedEOF)
	case err != nil:
		return nil, err
	case n == 0:
		return nil, m.end()
	case n > maxArrowMeta:
		return nil, fmt.Errorf("a message with %d bytes of metadata, more than %d", n, maxArrowMeta)
	}
	meta, err := readBytes(m.r, int64(n))
	if err != nil {
		return nil, err
	}
	head, ok := rootTable(meta)
	size, found := head.int64(messageBodyLength)
	switch {
	case !ok:
		return nil, errors.New("a message whose metadata cannot be read")
	case !found:
		size = 0
	}
	if size < 0 || size > maxArrowBody {
		return nil, fmt.Errorf("a message with a body of %d bytes, more than %d", size, maxArrowBody)
	}
	body, err := readBytes(m.r, size)
	if err != nil {
		return nil, err
	}
	if err := m.check(head, body); err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}

// end makes sure that what was packed ends where the messages do; it returns
// io.EOF then.
func (m *messages) end() error {
	if !m.packed {
		return io.EOF
	}
	if _, err := io.ReadFull(m.r, make([]byte, 1)); err != nil {
		return err
	}
	return errors.New("something follows the end of the stream")
}

// length reads the length of the next message, before which, but in the oldest
// format, a marker stands; io.EOF if there is nothing any more.
func (m *messages) length() (uint32, error) {
	var word [4]byte
	if _, err := io.ReadFull(m.r, word[:]); err != nil {
		return 0, err
	}
	if bytes.Equal(word[:], magicArrow) {
		if _, err := io.ReadFull(m.r, word[:]); err != nil {
			return 0, unexpected(err)
		}
	}
	return binary.LittleEndian.Uint32(word[:]), nil
}

// readBytes reads n bytes, and makes room for them as they come.
func readBytes(r io.Reader, n int64) ([]byte, error) {
	const trusted = 1 << 20
	buf := bytes.NewBuffer(make([]byte, 0, min(n, trusted)))
	_, err := io.CopyN(buf, r, n)
	return buf.Bytes(), unexpected(err)
}

// unexpected makes the end of a stream within a message the fault that it is.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
