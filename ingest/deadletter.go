package ingest

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/granary-ml/granary/feature"
)

// deadLetters writes rejections as NDJSON. The file is made with the first of
// them, under another name, and gets its own when all are written, so that it
// is never half of it.
type deadLetters struct {
	path string // empty: nobody wants them
	file *os.File
	buf  *bufio.Writer
	enc  *json.Encoder
}

// add writes rejections.
func (d *deadLetters) add(rejections []Rejection) error {
	if d.path == "" || len(rejections) == 0 {
		return nil
	}
	if d.file == nil {
		f, err := os.CreateTemp(filepath.Dir(d.path), filepath.Base(d.path)+".*")
		if err != nil {
			return d.fail(err)
		}
		d.file, d.buf = f, bufio.NewWriter(f)
		d.enc = json.NewEncoder(d.buf)
		d.enc.SetEscapeHTML(false)
	}
	for i := range rejections {
		if err := d.enc.Encode(&rejections[i]); err != nil {
			return d.fail(err)
		}
	}
	return nil
}

// keep makes the file durable and gives it its name, which it returns; empty if
// there was nothing to write.
func (d *deadLetters) keep() (string, error) {
	if d.file == nil {
		return "", nil
	}
	f := d.file
	d.file = nil
	err := errors.Join(d.buf.Flush(), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), d.path)
	}
	if err != nil {
		return "", d.fail(errors.Join(err, os.Remove(f.Name())))
	}
	return d.path, nil
}

// drop removes what was written, unless it was kept.
func (d *deadLetters) drop() {
	if d.file != nil {
		_ = d.file.Close()
		_ = os.Remove(d.file.Name())
		d.file = nil
	}
}

func (d *deadLetters) fail(err error) error {
	e := fileError(d.path, err)
	return feature.Errorf(feature.CodeOf(e), "ingest", "dead letters", "%w", e)
}
