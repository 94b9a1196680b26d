package runs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"syscall"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/granary-ml/granary/feature"
)

const fileBuffer = 1 << 20

// writeRun writes batches as one run. It is not synced: a run is worth nothing
// after a crash.
func writeRun(path string, schema *arrow.Schema, batches iter.Seq2[arrow.Record, error]) (err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600) //nolint:gosec // a name of our own
	if err != nil {
		return spillError(err)
	}
	defer func() { err = errors.Join(err, spillError(file.Close())) }()
	buffered := bufio.NewWriterSize(file, fileBuffer)
	w := ipc.NewWriter(buffered, ipc.WithSchema(schema))
	for rec, err := range batches {
		if err != nil {
			return err
		}
		err = w.Write(rec)
		rec.Release()
		if err != nil {
			return spillError(err)
		}
	}
	if err := w.Close(); err != nil {
		return spillError(err)
	}
	return spillError(buffered.Flush())
}

// runReader reads a run.
type runReader struct {
	file *os.File
	ipc  *ipc.Reader
}

func openRun(path string) (*runReader, error) {
	file, err := os.Open(path) //nolint:gosec // a name of our own
	if err != nil {
		return nil, spillError(err)
	}
	reader, err := ipc.NewReader(bufio.NewReaderSize(file, fileBuffer))
	if err != nil {
		return nil, errors.Join(spillError(err), file.Close())
	}
	return &runReader{file: file, ipc: reader}, nil
}

// next returns the next batch, nil at the end.
func (r *runReader) next() (arrow.Record, error) {
	for r.ipc.Next() {
		rec := r.ipc.Record()
		if rec.NumRows() > 0 {
			rec.Retain()
			return rec, nil
		}
	}
	if err := r.ipc.Err(); err != nil && !errors.Is(err, io.EOF) {
		return nil, spillError(err)
	}
	return nil, nil
}

func (r *runReader) close() error {
	r.ipc.Release()
	return r.file.Close()
}

// spillError gives an error of the local disk its code.
func spillError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return feature.Errorf(feature.CodeResourceExhausted, "runs.Sort", "",
			"no space left for sorted runs (set a folder for temporary files with room for the batch): %w", err)
	}
	return feature.Errorf(feature.CodeInternal, "runs.Sort", "", "sorted run: %w", err)
}

func removeAll(paths []string) error {
	for _, p := range paths {
		if err := os.Remove(p); err != nil {
			return fmt.Errorf("sorted run: %w", err)
		}
	}
	return nil
}
