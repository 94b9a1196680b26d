package bucket

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// List walks the folders in the order of keys, not of names: "a-b" is before
// "a/b", though folder "a" is before file "a-b". A folder is therefore sorted as
// its name with the "/". Links to files are files; links to folders are not
// followed, since they could lead in circles.
func (f *files) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		base := prefix[:strings.LastIndexByte(prefix, '/')+1]
		if base != "" && keyFault(strings.TrimSuffix(base, "/")) != "" {
			return // no key begins so
		}
		w := walk{files: f, ended: ctx.Err, prefix: prefix, after: after, yield: yield}
		w.folder(base)
	}
}

type walk struct {
	files  *files
	ended  func() error // of the context
	prefix string
	after  string
	yield  func(Object, error) bool
}

// node is an entry of a folder under its key; that of a folder ends in "/".
type node struct {
	key   string
	entry fs.DirEntry
}

// folder walks the folder whose key is base, which is empty or ends in "/". It
// tells whether to go on.
func (w *walk) folder(base string) bool {
	if err := w.ended(); err != nil {
		w.yield(Object{}, fileError("bucket.List", w.prefix, err))
		return false
	}
	entries, err := os.ReadDir(filepath.Join(w.files.root, filepath.FromSlash(base)))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	if err != nil {
		w.yield(Object{}, fileError("bucket.List", w.prefix, err))
		return false
	}
	for _, n := range w.wanted(base, entries) {
		if strings.HasSuffix(n.key, "/") {
			if !w.folder(n.key) {
				return false
			}
			continue
		}
		if !w.object(n) {
			return false
		}
	}
	return true
}

// wanted returns the entries that can hold what is asked for, in key order.
func (w *walk) wanted(base string, entries []fs.DirEntry) []node {
	nodes := make([]node, 0, len(entries))
	for _, e := range entries {
		key := base + e.Name()
		if keyFault(key) != "" {
			continue
		}
		if e.IsDir() {
			key += "/"
			if w.mayHold(key) {
				nodes = append(nodes, node{key: key, entry: e})
			}
		} else if strings.HasPrefix(key, w.prefix) && key > w.after {
			nodes = append(nodes, node{key: key, entry: e})
		}
	}
	slices.SortFunc(nodes, func(a, b node) int { return cmp.Compare(a.key, b.key) })
	return nodes
}

// mayHold tells whether a folder can hold keys under the prefix and after the
// start.
func (w *walk) mayHold(folder string) bool {
	return (strings.HasPrefix(folder, w.prefix) || strings.HasPrefix(w.prefix, folder)) &&
		(folder > w.after || strings.HasPrefix(w.after, folder))
}

func (w *walk) object(n node) bool {
	info, err := n.entry.Info()
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		info, err = os.Stat(w.files.path(n.key))
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true // it went meanwhile
	case err != nil:
		w.yield(Object{}, fileError("bucket.List", n.key, err))
		return false
	case !info.Mode().IsRegular():
		return true
	}
	return w.yield(Object{Key: n.key, Size: info.Size(), ModTime: info.ModTime()}, nil)
}
