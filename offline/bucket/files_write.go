package bucket

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/granary-ml/granary/feature"
)

// diskOps are the calls that durability hangs on; tests make them fail, and
// stop the world between them.
type diskOps struct {
	write    func(f *os.File, p []byte) (int, error)
	syncFile func(f *os.File) error
	link     func(from, to string) error
	rename   func(from, to string) error
	syncDir  func(dir string) error
}

var realDisk = diskOps{
	write:    (*os.File).Write,
	syncFile: (*os.File).Sync,
	link:     os.Link,
	rename:   os.Rename,
	syncDir:  syncDir,
}

// syncDir makes the names in a folder durable. Windows has no such call: it
// writes its directories through.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir) //nolint:gosec // a folder of the bucket
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func makeFolders(dir string) error {
	return os.MkdirAll(dir, 0o777) //nolint:gosec // other engines read the tables: the umask decides
}

func createTemp(dir string) (*os.File, error) {
	name := filepath.Join(dir, rand.Text())
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // as above
}

// Create implements Bucket.
func (f *files) Create(ctx context.Context, key string, o CreateOptions) (Writer, error) {
	const op = "bucket.Create"
	if err := check(ctx, op, key); err != nil {
		return nil, err
	}
	temp, err := f.temp()
	if err != nil {
		return nil, fileWriteError(op, key, err)
	}
	return &fileWriter{files: f, temp: temp, key: key, ifAbsent: o.IfAbsent, ended: ctx.Err}, nil
}

// temp makes a temporary file, and the first time sweeps away what killed
// writers have left.
func (f *files) temp() (*os.File, error) {
	dir := filepath.Join(f.root, tempDir)
	temp, err := createTemp(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = makeFolders(dir); err == nil {
			temp, err = createTemp(dir)
		}
	}
	if err != nil {
		return nil, err
	}
	f.sweep.Do(func() { f.sweepTemp(dir, temp) })
	return temp, nil
}

// tempAge is how long a temporary file may be left unwritten before it is taken
// for that of a dead writer.
const tempAge = 24 * time.Hour

// sweepTemp removes temporary files that are much older than one just made:
// both times come from the file system, so no clock can be wrong.
func (f *files) sweepTemp(dir string, fresh *os.File) {
	now, err := fresh.Stat()
	if err != nil {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || now.ModTime().Sub(info.ModTime()) < tempAge {
			continue
		}
		if os.Remove(filepath.Join(dir, e.Name())) == nil {
			f.log.Info("removed a temporary file that its writer left", "file", e.Name(), "bytes", info.Size())
		}
	}
}

type fileWriter struct {
	files    *files
	temp     *os.File
	key      string
	ifAbsent bool
	done     bool
	ended    func() error // of the context
}

// Write implements Writer.
func (w *fileWriter) Write(p []byte) (int, error) {
	if err := w.ended(); err != nil {
		return 0, fileError("bucket.Write", w.key, err)
	}
	n, err := w.files.ops.write(w.temp, p)
	return n, fileError("bucket.Write", w.key, err)
}

// Commit syncs the bytes, gives them their name, and syncs the folder, in this
// order: a name never stands for bytes that a loss of power could take away.
func (w *fileWriter) Commit() error {
	const op = "bucket.Commit"
	if w.done {
		return errEnded(w.key)
	}
	w.done = true
	defer w.drop()
	if err := w.ended(); err != nil {
		return fileError(op, w.key, err)
	}
	ops := w.files.ops
	if err := errors.Join(ops.syncFile(w.temp), w.temp.Close()); err != nil {
		return fileError(op, w.key, err)
	}
	path := w.files.path(w.key)
	if err := w.place(path); err != nil {
		return err
	}
	if err := ops.syncDir(filepath.Dir(path)); err != nil {
		// The object is visible, and may be gone after a loss of power.
		return feature.Errorf(feature.CodeUnavailable, op, w.key, "the outcome is unknown: sync of the folder: %w", err)
	}
	return nil
}

// place gives the temporary file its name. The folder may have been removed
// since it was last seen: then it is made once more.
func (w *fileWriter) place(path string) error {
	const op = "bucket.Commit"
	dir := filepath.Dir(path)
	var err error
	for range 2 {
		if err = w.files.ensureDir(dir); err != nil {
			return fileWriteError(op, w.key, err)
		}
		if err = w.name(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		w.files.synced.Delete(dir)
	}
	switch {
	case err == nil:
		return nil
	case w.ifAbsent && (errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported)):
		return feature.Errorf(feature.CodeFailedPrecondition, op, w.key,
			"the file system has no hard links, which put-if-absent is made of: %w", err)
	}
	return fileWriteError(op, w.key, err)
}

func (w *fileWriter) name(path string) error {
	if !w.ifAbsent {
		return w.files.ops.rename(w.temp.Name(), path)
	}
	err := w.files.ops.link(w.temp.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		if info, statErr := os.Lstat(path); statErr == nil && info.IsDir() {
			return &fs.PathError{Op: "link", Path: path, Err: syscall.EISDIR}
		}
	}
	return err
}

// Abort implements Writer.
func (w *fileWriter) Abort() error {
	if !w.done {
		w.done = true
		w.drop()
	}
	return nil
}

// drop removes the temporary name; after a rename there is none.
func (w *fileWriter) drop() {
	_ = w.temp.Close()
	_ = os.Remove(w.temp.Name())
}
