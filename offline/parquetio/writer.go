package parquetio

import (
	"errors"
	"io"

	"github.com/apache/arrow/go/v17/arrow"
)

// Writer writes one file.
type Writer struct{}

// NewWriter starts a file.
func NewWriter(_ io.Writer, _ *arrow.Schema, _ WriterOptions) (*Writer, error) {
	return nil, errors.ErrUnsupported
}

// Write appends the rows of a record.
func (w *Writer) Write(_ arrow.Record) error { return errors.ErrUnsupported }

// Close writes the footer.
func (w *Writer) Close() (Summary, error) { return Summary{}, errors.ErrUnsupported }
