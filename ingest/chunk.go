package ingest

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/granary-ml/granary/feature"
)

// chunker cuts a stream of text into chunks of whole records.
type chunker struct {
	r io.Reader
	// cut returns where the last whole record of a text ends that begins with
	// a record, 0 if there is none, and whether a quote is open at its end.
	cut  func(text []byte) (end int, open bool)
	size int // bytes of a chunk
	max  int // bytes of a record
	rest []byte
	eof  bool
	pool sync.Pool
	line int64 // that the next chunk begins in, from 0
}

// next returns the next chunk, which belongs to the caller until it is put
// back; io.EOF after the last.
func (c *chunker) next() ([]byte, error) {
	buf := append(c.get(), c.rest...)
	c.rest = c.rest[:0]
	for want := c.size; ; want = 2 * len(buf) {
		var err error
		if buf, err = c.fill(buf, want); err != nil {
			return nil, err
		}
		if len(buf) == 0 {
			return nil, io.EOF
		}
		end, open := c.cut(buf)
		switch {
		case c.eof && open:
			return nil, feature.Errorf(feature.CodeInvalidArgument, "", "", "the record in line %d opens a quote that is not closed before the end", c.lineAt(buf, end))
		case c.eof:
			end = len(buf)
		case end == 0 && len(buf) >= c.max:
			return nil, feature.Errorf(feature.CodeInvalidArgument, "", "", "the record in line %d does not end within %d bytes (is a quote not closed?)", c.lineAt(buf, 0), c.max)
		case end == 0:
			continue
		}
		c.rest = append(c.rest, buf[end:]...)
		c.line += int64(bytes.Count(buf[:end], newline))
		return buf[:end], nil
	}
}

// header reads the header of CSV, and returns what follows it in its chunk.
func (c *chunker) header(d *dialect) (names []string, rest []byte, err error) {
	for {
		chunk, err := c.next()
		switch {
		case errors.Is(err, io.EOF) && c.line == 0:
			return nil, nil, feature.Errorf(feature.CodeInvalidArgument, "", "", "the file is empty (expected a header)")
		case errors.Is(err, io.EOF):
			return nil, nil, feature.Errorf(feature.CodeInvalidArgument, "", "", "the file has no header, only empty lines")
		case err != nil:
			return nil, nil, err
		}
		if names, rest, err = d.header(chunk); err != nil {
			return nil, nil, feature.Errorf(feature.CodeInvalidArgument, "", "", "%w", err)
		}
		if names != nil {
			return names, rest, nil
		}
	}
}

// lineAt returns the line, from 1, of a place in the chunk that is read.
func (c *chunker) lineAt(buf []byte, at int) int64 {
	return c.line + int64(bytes.Count(buf[:at], newline)) + 1
}

// fill reads until buf has want bytes or the stream ends.
func (c *chunker) fill(buf []byte, want int) ([]byte, error) {
	if cap(buf) < want {
		buf = append(make([]byte, 0, want), buf...)
	}
	for !c.eof && len(buf) < want {
		n, err := c.r.Read(buf[len(buf):want])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) {
			c.eof = true
		} else if err != nil {
			return nil, err
		}
	}
	return buf, nil
}

func (c *chunker) get() []byte {
	if b, ok := c.pool.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, c.size)
}

// put gives a chunk back.
func (c *chunker) put(chunk []byte) { c.pool.Put(&chunk) }
