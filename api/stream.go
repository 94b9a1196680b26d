package api

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/granary-ml/granary/offline/parquetio"
)

// headBytes is how much of an answer of rows is held back: what fails before
// that much is written still becomes a problem document.
const headBytes = 64 << 10

// recordWriter writes records in a format.
type recordWriter interface {
	Write(rec arrow.Record) error
	Close() error
}

// writeRecords writes all records of a reader as one answer. The first record
// is read before the first byte is written, so that a retrieval that cannot
// begin is told as an error.
func (s *Server) writeRecords(ctx context.Context, w *answer, media string, records array.RecordReader) error {
	more := records.Next()
	if err := readError(records); err != nil {
		return err
	}
	paced := s.paced(w)
	buf := bufio.NewWriterSize(paced, headBytes)
	out, err := newRecordWriter(buf, media, records.Schema())
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", media)
	for ; more; more = records.Next() {
		if err := ctx.Err(); err != nil {
			return errors.Join(err, out.Close())
		}
		if err := out.Write(records.Record()); err != nil {
			return err
		}
		if media == mediaArrow {
			if err := sendBatch(buf, paced); err != nil {
				return err
			}
		}
	}
	if err := readError(records); err != nil {
		return err // without the end of the stream
	}
	if err := out.Close(); err != nil {
		return err
	}
	return buf.Flush()
}

// sendBatch lets a client work on a batch while the next one is made.
func sendBatch(buf *bufio.Writer, paced *pacedWriter) error {
	if err := buf.Flush(); err != nil {
		return err
	}
	if err := paced.Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	return nil
}

// readError returns why a reader has ended, if not at its end.
func readError(records array.RecordReader) error {
	if err := records.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

func newRecordWriter(w io.Writer, media string, schema *arrow.Schema) (recordWriter, error) {
	if media == mediaParquet {
		p, err := parquetio.NewWriter(w, schema, parquetio.WriterOptions{})
		return parquetWriter{p}, err
	}
	return ipc.NewWriter(w, ipc.WithSchema(schema)), nil
}

// parquetWriter drops the summary that the Parquet writer gives at its end.
type parquetWriter struct{ *parquetio.Writer }

// Close ends the file.
func (p parquetWriter) Close() error {
	_, err := p.Writer.Close()
	return err
}
