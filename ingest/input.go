package ingest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
)

// input is one file or object that is read.
type input struct {
	name   string // what messages and dead letters call it
	format feature.Format
	size   int64
	open   func(ctx context.Context) (blob, error)
}

// blob is an open input.
type blob interface {
	io.Reader
	io.ReaderAt
	io.Closer
}

// resolver finds the inputs that addresses stand for, and keeps the buckets
// that it opened for them.
type resolver struct {
	baseDir    string
	format     feature.Format
	openBucket func(ctx context.Context, url string) (bucket.Bucket, error)
	buckets    map[string]bucket.Bucket
}

// Close closes the buckets.
func (r *resolver) Close() error {
	errs := make([]error, 0, len(r.buckets))
	for _, b := range r.buckets {
		errs = append(errs, b.Close())
	}
	return errors.Join(errs...)
}

// resolve returns the inputs of all addresses in order, those of one glob or
// folder in the order of their names, none twice.
func (r *resolver) resolve(ctx context.Context, addresses []string) ([]*input, error) {
	var out []*input
	seen := map[string]bool{}
	for _, address := range addresses {
		found, err := r.find(ctx, address)
		if err != nil {
			return nil, err
		}
		for _, in := range found {
			if seen[in.name] {
				continue
			}
			seen[in.name] = true
			if in.format, err = formatOf(r.format, in.name); err != nil {
				return nil, err
			}
			out = append(out, in)
		}
	}
	return out, nil
}

// find finds the inputs of one address.
func (r *resolver) find(ctx context.Context, address string) ([]*input, error) {
	scheme, rest, isURL := strings.Cut(address, "://")
	if isURL && scheme != "file" {
		return r.findObjects(ctx, scheme, rest)
	}
	name, pattern := address, address
	if isURL {
		u, err := url.Parse(address)
		if err != nil || u.Host != "" && u.Host != "localhost" {
			return nil, feature.Errorf(feature.CodeInvalidArgument, "ingest", address, "not the address of a file (expected file:///path)")
		}
		name, pattern = u.Path, u.Path
	}
	if !filepath.IsAbs(name) {
		// Joining cleans, and what follows a trailing slash must be a folder.
		name, pattern = filepath.Join(r.baseDir, name)+trailingSlash(name), filepath.Join(literal(r.baseDir), name)
	}
	return findFiles(name, pattern, address)
}

func trailingSlash(name string) string {
	if strings.HasSuffix(name, "/") {
		return "/"
	}
	return ""
}

// literal makes a pattern of a path that matches nothing else.
func literal(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// findFiles finds local files: a file of that very name, those of a folder, or
// those that a pattern matches.
func findFiles(name, pattern, address string) ([]*input, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return filesBelow(name)
	case err == nil:
		return []*input{fileInput(name, info.Size())}, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fileError(name, err)
	}
	names, err := filepath.Glob(pattern)
	if err != nil {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "ingest", address, "the pattern cannot be read: %w", err)
	}
	slices.Sort(names)
	var out []*input
	for _, name := range names {
		if overlooks(pattern, name) {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return nil, fileError(name, err)
		}
		if info.Mode().IsRegular() {
			out = append(out, fileInput(name, info.Size()))
		}
	}
	if len(out) == 0 {
		return nil, feature.Errorf(feature.CodeNotFound, "ingest", address, "no such file, and as a pattern it matches none")
	}
	return out, nil
}

// filesBelow returns the files of a folder and its folders, but for the hidden.
// The folder itself and files may be links; a link to a folder within it is not
// followed, because it may lead back.
func filesBelow(folder string) ([]*input, error) {
	var out []*input
	root := strings.TrimRight(folder, "/") + "/" // with which a link is what it points to
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != root && hidden(entry.Name()):
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		case entry.IsDir():
			return nil
		}
		info, err := os.Stat(name)
		if err == nil && info.Mode().IsRegular() {
			out = append(out, fileInput(name, info.Size()))
		}
		return err
	})
	if err != nil {
		return nil, fileError(folder, err)
	}
	if len(out) == 0 {
		return nil, feature.Errorf(feature.CodeNotFound, "ingest", folder, "there are no files in the folder")
	}
	return out, nil
}

// hidden tells whether a name is by custom not data: .git, _SUCCESS, _delta_log.
func hidden(name string) bool { return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") }

// overlooks tells whether a name that a pattern matches has a hidden part where
// the pattern does not say so.
func overlooks(pattern, name string) bool {
	patterns, names := strings.Split(filepath.ToSlash(pattern), "/"), strings.Split(filepath.ToSlash(name), "/")
	for i := 1; i <= min(len(patterns), len(names)); i++ { // no part of a pattern matches a slash
		if hidden(names[len(names)-i]) && !hidden(patterns[len(patterns)-i]) {
			return true
		}
	}
	return false
}

func fileInput(name string, size int64) *input {
	return &input{name: name, size: size, open: func(context.Context) (blob, error) {
		f, err := os.Open(name) //nolint:gosec // the file that the user asked for
		if err != nil {
			return nil, fileError(name, err)
		}
		return f, nil
	}}
}

func fileError(name string, err error) error {
	code := feature.CodeInternal
	switch {
	case errors.Is(err, fs.ErrNotExist):
		code = feature.CodeNotFound
	case errors.Is(err, fs.ErrPermission):
		code = feature.CodePermissionDenied
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		code = feature.CodeResourceExhausted
	}
	return feature.Errorf(code, "ingest", name, "%w", err)
}

// findObjects finds objects of a bucket: one of that very key, those below a
// prefix that ends in "/", or those that a pattern matches.
func (r *resolver) findObjects(ctx context.Context, scheme, rest string) ([]*input, error) {
	rest, query, hasQuery := strings.Cut(rest, "?")
	host, key, _ := strings.Cut(rest, "/")
	address := scheme + "://" + host
	b, err := r.bucket(ctx, address, query, hasQuery)
	if err != nil {
		return nil, err
	}
	if key != "" && !strings.HasSuffix(key, "/") {
		switch o, err := b.Stat(ctx, key); {
		case err == nil:
			return []*input{objectInput(b, address, o)}, nil
		case feature.CodeOf(err) != feature.CodeNotFound:
			return nil, err
		}
	}
	var out []*input
	prefix := key
	if i := strings.IndexAny(key, `*[\`); i >= 0 {
		prefix = key[:i]
	}
	for o, err := range b.List(ctx, prefix, "") {
		if err != nil {
			return nil, err
		}
		ok, err := matches(key, o.Key)
		if err != nil {
			return nil, feature.Errorf(feature.CodeInvalidArgument, "ingest", address+"/"+key, "the pattern cannot be read: %w", err)
		}
		if ok {
			out = append(out, objectInput(b, address, o))
		}
	}
	if len(out) == 0 {
		return nil, feature.Errorf(feature.CodeNotFound, "ingest", address+"/"+key, "no object has this key, prefix or pattern")
	}
	return out, nil
}

// matches tells whether a key is one that the pattern stands for.
func matches(pattern, key string) (bool, error) {
	if pattern == "" || strings.HasSuffix(pattern, "/") {
		below := strings.TrimPrefix(key, pattern)
		return !slices.ContainsFunc(strings.Split(below, "/"), hidden) && !strings.HasSuffix(key, "/"), nil
	}
	ok, err := path.Match(pattern, key)
	return ok && !overlooks(pattern, key), err
}

func (r *resolver) bucket(ctx context.Context, address, query string, hasQuery bool) (bucket.Bucket, error) {
	if hasQuery {
		address += "?" + query
	}
	if b := r.buckets[address]; b != nil {
		return b, nil
	}
	b, err := r.openBucket(ctx, address)
	if err != nil {
		return nil, err
	}
	if r.buckets == nil {
		r.buckets = map[string]bucket.Bucket{}
	}
	r.buckets[address] = b
	return b, nil
}

func objectInput(b bucket.Bucket, address string, o bucket.Object) *input {
	return &input{name: address + "/" + o.Key, size: o.Size, open: func(ctx context.Context) (blob, error) {
		body, err := b.ReadRange(ctx, o.Key, 0, -1)
		if err != nil {
			return nil, err
		}
		return &object{ReadCloser: body, ReaderAt: bucket.NewReaderAt(ctx, b, o.Key, o.Size)}, nil
	}}
}

// object reads an object as a stream by one request, and at offsets by others.
type object struct {
	io.ReadCloser
	io.ReaderAt
}

// formatOf returns how an input is written: as it was said, else by its name.
func formatOf(said feature.Format, name string) (feature.Format, error) {
	base := strings.ToLower(path.Base(filepath.ToSlash(name)))
	for _, packed := range [...]string{".gz", ".gzip", ".zst", ".zstd"} {
		base = strings.TrimSuffix(base, packed)
	}
	switch said {
	case feature.FormatCSV, feature.FormatNDJSON, feature.FormatJSON, feature.FormatParquet, feature.FormatArrow:
		return said, nil
	case feature.FormatByName:
	default:
		return "", feature.Errorf(feature.CodeUnsupportedMediaType, "ingest", name, "%q is not a format (expected csv, ndjson, json, parquet or arrow)", said)
	}
	switch path.Ext(base) {
	case ".csv":
		return feature.FormatCSV, nil
	case ".ndjson", ".jsonl":
		return feature.FormatNDJSON, nil
	case ".json":
		return feature.FormatJSON, nil
	case ".parquet", ".pq":
		return feature.FormatParquet, nil
	case ".arrow", ".arrows", ".ipc", ".feather":
		return feature.FormatArrow, nil
	}
	return "", feature.Errorf(feature.CodeInvalidArgument, "ingest", name,
		"the name does not tell the format (expected .csv, .ndjson, .jsonl, .json, .parquet or .arrow, before .gz or .zst; or say the format)")
}
