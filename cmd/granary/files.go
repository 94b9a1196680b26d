package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/parquetio"
)

// formatOf returns the format that the name of a file tells, packed or not.
func formatOf(path string) (feature.Format, error) {
	name := strings.ToLower(filepath.Base(path))
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	formats := []struct {
		suffix string
		format feature.Format
	}{
		{".csv", feature.FormatCSV},
		{".ndjson", feature.FormatNDJSON},
		{".jsonl", feature.FormatNDJSON},
		{".json", feature.FormatJSON},
		{".parquet", feature.FormatParquet},
		{".arrow", feature.FormatArrow},
	}
	for _, f := range formats {
		if strings.HasSuffix(name, f.suffix) {
			return f.format, nil
		}
	}
	return "", feature.Errorf(feature.CodeInvalidArgument, "", path,
		"the name tells no format (expected .csv, .ndjson, .jsonl, .json, .parquet or .arrow, or --format)")
}

// checkFormat reads the value of --format.
func checkFormat(text string) (feature.Format, error) {
	f := feature.Format(text)
	known := []feature.Format{
		feature.FormatByName, feature.FormatCSV, feature.FormatNDJSON, feature.FormatJSON, feature.FormatParquet, feature.FormatArrow,
	}
	if !slices.Contains(known, f) {
		return "", usagef("--format: %q is not a format (expected csv, ndjson, json, parquet or arrow)", text)
	}
	return f, nil
}

// written is what was written to a file.
type written struct {
	Path  string `json:"path"`
	Rows  int64  `json:"rows"`
	Bytes int64  `json:"bytes"`
}

// recordWriter writes records in a file format.
type recordWriter interface {
	Write(rec arrow.Record) error
	Close() error
}

// writeRecords writes all records to a file whose name tells the format, .arrow
// or .parquet, or to standard output as an Arrow stream where the path is "-".
// The file appears when it is whole, or not at all.
func (a *app) writeRecords(ctx context.Context, path string, records array.RecordReader, each func(rows int64)) (written, error) {
	if path == "-" {
		out := &countingWriter{w: a.stdout}
		n, err := copyRecords(ctx, ipc.NewWriter(out, ipc.WithSchema(records.Schema())), records, each)
		return written{Path: path, Rows: n, Bytes: out.bytes}, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if pathErr, ok := errors.AsType[*os.PathError](err); ok {
		return written{}, feature.Errorf(feature.CodeInvalidArgument, "", path, "its folder cannot be written to: %w", pathErr.Err)
	}
	if err != nil {
		return written{}, err
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already if all went well
	out := &countingWriter{w: f}
	n, err := writeFile(ctx, path, out, records, each)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		return written{}, err
	}
	if err := os.Chmod(f.Name(), 0o644); err != nil { //nolint:gosec // as readable as any file that a command writes
		return written{}, err
	}
	return written{Path: path, Rows: n, Bytes: out.bytes}, os.Rename(f.Name(), path)
}

// checkOutput tells early whether a name is one that writeRecords can write.
func checkOutput(path string) error {
	switch {
	case path == "":
		return usagef("--out is missing: a .parquet or .arrow file, or - for an Arrow stream on standard output")
	case path == "-" || strings.HasSuffix(path, ".parquet") || strings.HasSuffix(path, ".arrow"):
		return nil
	}
	return usagef("--out: %s is neither a .parquet nor a .arrow file, nor -", path)
}

func writeFile(ctx context.Context, path string, out *countingWriter, records array.RecordReader, each func(int64)) (int64, error) {
	if strings.HasSuffix(path, ".parquet") {
		w, err := parquetio.NewWriter(out, records.Schema(), parquetio.WriterOptions{})
		if err != nil {
			return 0, err
		}
		return copyRecords(ctx, parquetWriter{w}, records, each)
	}
	w, err := ipc.NewFileWriter(out, ipc.WithSchema(records.Schema()))
	if err != nil {
		return 0, err
	}
	return copyRecords(ctx, w, records, each)
}

// parquetWriter drops the summary of a Parquet file.
type parquetWriter struct{ *parquetio.Writer }

// Close implements recordWriter.
func (p parquetWriter) Close() error {
	_, err := p.Writer.Close()
	return err
}

// copyRecords writes all records and closes the writer.
func copyRecords(ctx context.Context, w recordWriter, records array.RecordReader, each func(int64)) (int64, error) {
	var n int64
	for records.Next() {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		rec := records.Record()
		if err := w.Write(rec); err != nil {
			return n, err
		}
		n += rec.NumRows()
		each(n)
	}
	if err := records.Err(); err != nil {
		return n, err
	}
	return n, w.Close()
}

// countingWriter counts what goes through it. It is a seeker as far as the Arrow
// file writer needs one: it tells the place.
type countingWriter struct {
	w     io.Writer
	bytes int64
}

// Write implements io.Writer.
func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.bytes += int64(n)
	return n, err
}

// Seek implements io.Seeker for the place alone.
func (c *countingWriter) Seek(offset int64, whence int) (int64, error) {
	if offset != 0 || whence != io.SeekCurrent {
		return 0, errors.ErrUnsupported
	}
	return c.bytes, nil
}
