package bucket

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"

	"github.com/granary-ml/granary/feature"
)

// files is a bucket in a local folder. It is our own and not gocloud's, whose
// driver neither syncs what it writes nor keeps its temporary files on the
// file system of the folder.
//
// An object is written to a file in tempDir, synced, and only then given its
// name: by link(2), which fails if the name is taken, or by rename(2), which
// replaces; both are atomic. The folder is synced before the commit returns, so
// that the name survives a loss of power as the bytes do.
type files struct {
	root string
	log  *slog.Logger
	ops  diskOps

	// synced holds the folders whose own names are known to be durable; all
	// those above them are, too.
	synced sync.Map
	sweep  sync.Once
}

func openFiles(root string, o Options) (Bucket, error) {
	const op = "bucket.Open"
	if root == "" {
		return nil, feature.Errorf(feature.CodeInvalidArgument, op, "", "the path is empty")
	}
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, fileError(op, root, err)
	}
	f := &files{root: root, log: o.Log, ops: realDisk}
	info, err := os.Stat(root)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !o.MustExist:
		err = f.makeRoot()
	case err == nil && !info.IsDir():
		return nil, feature.Errorf(feature.CodeFailedPrecondition, op, root, "it is a file (expected a folder)")
	}
	if err != nil {
		return nil, fileError(op, root, err)
	}
	return f, nil
}

// makeRoot makes the folder of the bucket and those above it, and makes their
// names durable.
func (f *files) makeRoot() error {
	above := f.root
	for {
		if _, err := os.Stat(above); err == nil || above == filepath.Dir(above) {
			break
		}
		above = filepath.Dir(above)
	}
	if err := makeFolders(f.root); err != nil {
		return err
	}
	return f.syncAbove(f.root, above)
}

// syncAbove syncs the folders above dir up to top, so that the names on the way
// are durable.
func (f *files) syncAbove(dir, top string) error {
	for dir != top {
		dir = filepath.Dir(dir)
		if err := f.ops.syncDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// ensureDir makes the folder of an object durably. The syncs are paid once for
// each folder in the life of a process: another process may have made the
// folder a moment ago, and not have synced it yet.
func (f *files) ensureDir(dir string) error {
	if _, ok := f.synced.Load(dir); ok {
		return nil
	}
	if err := makeFolders(dir); err != nil {
		return err
	}
	if err := f.syncAbove(dir, f.root); err != nil {
		return err
	}
	f.synced.Store(dir, struct{}{})
	return nil
}

func (f *files) path(key string) string { return filepath.Join(f.root, filepath.FromSlash(key)) }

// open opens an object for reading; a folder is not an object.
func (f *files) open(op, key string) (*os.File, fs.FileInfo, error) {
	file, err := os.Open(f.path(key))
	if err != nil {
		return nil, nil, fileError(op, key, err)
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = file.Close()
		return nil, nil, fileError(op, key, err)
	}
	return file, info, nil
}

// Get implements Bucket.
func (f *files) Get(ctx context.Context, key string) ([]byte, error) {
	const op = "bucket.Get"
	if err := check(ctx, op, key); err != nil {
		return nil, err
	}
	file, info, err := f.open(op, key)
	if err != nil {
		return nil, err
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(file, data) // an object never changes its size: it is replaced
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, fileError(op, key, err)
	}
	return data, nil
}

// Stat implements Bucket.
func (f *files) Stat(ctx context.Context, key string) (Object, error) {
	const op = "bucket.Stat"
	if err := check(ctx, op, key); err != nil {
		return Object{}, err
	}
	info, err := os.Stat(f.path(key))
	if err == nil && info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return Object{}, fileError(op, key, err)
	}
	return Object{Key: key, Size: info.Size(), ModTime: info.ModTime()}, nil
}

// ReadRange implements Bucket.
func (f *files) ReadRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	const op = "bucket.ReadRange"
	if err := checkRange(ctx, op, key, off); err != nil {
		return nil, err
	}
	file, info, err := f.open(op, key)
	if err != nil {
		return nil, err
	}
	if length < 0 {
		length = max(info.Size()-off, 0)
	}
	return &fileReader{SectionReader: io.NewSectionReader(file, off, length), file: file, key: key, ended: ctx.Err}, nil
}

type fileReader struct {
	*io.SectionReader

	file  *os.File
	key   string
	ended func() error // of the context
}

// Read implements io.ReadCloser.
func (r *fileReader) Read(p []byte) (int, error) {
	if err := r.ended(); err != nil {
		return 0, fileError("bucket.Read", r.key, err)
	}
	n, err := r.SectionReader.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, fileError("bucket.Read", r.key, err)
}

// Close implements io.ReadCloser.
func (r *fileReader) Close() error { return fileError("bucket.Read", r.key, r.file.Close()) }

// PutIfAbsent implements Bucket.
func (f *files) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	const op = "bucket.PutIfAbsent"
	if err := check(ctx, op, key); err != nil {
		return err
	}
	// A lost race is common and a sync is dear: look first.
	if info, err := os.Stat(f.path(key)); err == nil && !info.IsDir() {
		return fileError(op, key, fs.ErrExist)
	}
	w, err := f.Create(ctx, key, CreateOptions{IfAbsent: true})
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return errors.Join(err, w.Abort())
	}
	return w.Commit()
}

// Delete implements Bucket.
func (f *files) Delete(ctx context.Context, key string) error {
	const op = "bucket.Delete"
	if err := check(ctx, op, key); err != nil {
		return err
	}
	path := f.path(key)
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err == nil {
		err = f.ops.syncDir(filepath.Dir(path))
	}
	if err = fileError(op, key, err); err != nil && feature.CodeOf(err) == feature.CodeNotFound {
		return nil
	}
	return err
}

// Close implements Bucket.
func (f *files) Close() error { return nil }
