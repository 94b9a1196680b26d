package ingest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/bucket/buckettest"
)

// found returns the names of the inputs of addresses, below a folder.
func found(t *testing.T, dir string, open func(context.Context, string) (bucket.Bucket, error), addresses ...string) ([]string, error) {
	t.Helper()
	r := &resolver{baseDir: dir, format: feature.FormatCSV, openBucket: open}
	defer func() { require.NoError(t, r.Close()) }()
	inputs, err := r.resolve(t.Context(), addresses)
	var out []string
	for _, in := range inputs {
		out = append(out, strings.TrimPrefix(in.name, dir+"/"))
	}
	return out, err
}

func makeFiles(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(name), 0o600))
	}
}

// TestResolveFiles: what stands for files is a name, a folder or a pattern, in
// that order, whatever the folder is called that they are relative to.
func TestResolveFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[1] *?")
	makeFiles(t, dir, "b.csv", "a.csv", "_SUCCESS", ".hidden", "x[1].csv", "in/c.csv", "in/deep/d.csv", "in/_tmp/e.csv", "in/.f.csv", "100%25 é.csv")
	for _, c := range []struct {
		address string
		want    []string
	}{
		{"a.csv", []string{"a.csv"}},
		{"./in/../a.csv", []string{"a.csv"}},
		{"*.csv", []string{"100%25 é.csv", "a.csv", "b.csv", "x[1].csv"}},
		{"[ab].csv", []string{"a.csv", "b.csv"}},
		{"x[1].csv", []string{"x[1].csv"}},
		{`x\[1\].csv`, []string{"x[1].csv"}},
		{"*", []string{"100%25 é.csv", "a.csv", "b.csv", "x[1].csv"}},
		{"_*", []string{"_SUCCESS"}},
		{".hidden", []string{".hidden"}},
		{"in", []string{"in/c.csv", "in/deep/d.csv"}},
		{"in/", []string{"in/c.csv", "in/deep/d.csv"}},
		{"in/*", []string{"in/c.csv"}},
		{"in/*/*", []string{"in/deep/d.csv"}},
		{"in/_*/*", []string{"in/_tmp/e.csv"}},
		{"in/_tmp/", []string{"in/_tmp/e.csv"}},
		{dir + "/a.csv", []string{"a.csv"}},
		{"file://" + strings.NewReplacer("[", "%5B", "]", "%5D", " ", "%20", "?", "%3F").Replace(dir) + "/100%2525%20%C3%A9.csv", []string{"100%25 é.csv"}},
		{"file://localhost" + strings.NewReplacer("[", "%5B", "]", "%5D", " ", "%20", "?", "%3F").Replace(dir) + "/in/", []string{"in/c.csv", "in/deep/d.csv"}},
	} {
		got, err := found(t, dir, nil, c.address)
		require.NoError(t, err, c.address)
		require.Equal(t, c.want, got, c.address)
	}
	got, err := found(t, dir, nil, "b.csv", "*.csv", "./b.csv", dir+"/b.csv")
	require.NoError(t, err)
	require.Equal(t, []string{"b.csv", "100%25 é.csv", "a.csv", "x[1].csv"}, got, "each once, in the order of the addresses")

	for address, code := range map[string]feature.Code{
		"c.csv": feature.CodeNotFound, "in/*.parquet": feature.CodeNotFound, "in/de*": feature.CodeNotFound, "in/_tmp/_*": feature.CodeNotFound,
		"[": feature.CodeInvalidArgument, "file://elsewhere/a.csv": feature.CodeInvalidArgument, "file:///%zz": feature.CodeInvalidArgument,
	} {
		_, err := found(t, dir, nil, address)
		require.Equal(t, code, feature.CodeOf(err), "%s: %v", address, err)
		require.ErrorContains(t, err, address)
	}
}

// TestResolveLinks: a link to a file is a file, and a folder may be a link;
// a link within it that leads elsewhere, or back, is not followed.
func TestResolveLinks(t *testing.T) {
	dir := t.TempDir()
	makeFiles(t, dir, "real/a.csv", "b.csv")
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("../b.csv", filepath.Join(dir, "real", "b.csv")))
	require.NoError(t, os.Symlink("..", filepath.Join(dir, "real", "back")))
	for _, address := range []string{"link", "link/"} {
		got, err := found(t, dir, nil, address)
		require.NoError(t, err)
		require.Equal(t, []string{"link/a.csv", "link/b.csv"}, got)
	}
	require.NoError(t, os.Symlink("nowhere", filepath.Join(dir, "real", "c.csv")))
	_, err := found(t, dir, nil, "link")
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
}

// TestResolveObjects: the same in a bucket, where a prefix ends in a slash.
func TestResolveObjects(t *testing.T) {
	b := memBucket(t)
	for _, key := range []string{"a.csv", "b.csv", "in/c.csv", "in/deep/d.csv", "in/_tmp/e.csv", "in/_SUCCESS", "x[1].csv"} {
		require.NoError(t, b.PutIfAbsent(t.Context(), key, nil))
	}
	opened := map[string]int{}
	open := func(_ context.Context, url string) (bucket.Bucket, error) {
		opened[url]++
		return lent{b}, nil
	}
	for address, want := range map[string][]string{
		"mem://b/a.csv":         {"mem://b/a.csv"},
		"mem://b/*.csv":         {"mem://b/a.csv", "mem://b/b.csv", "mem://b/x[1].csv"},
		"mem://b/x[1].csv":      {"mem://b/x[1].csv"},
		"mem://b/in/":           {"mem://b/in/c.csv", "mem://b/in/deep/d.csv"},
		"mem://b/in/*":          {"mem://b/in/c.csv"},
		"mem://b/in/_*":         {"mem://b/in/_SUCCESS"},
		"mem://b/in/*/*":        {"mem://b/in/deep/d.csv"},
		"mem://b/in/_tmp/*":     {"mem://b/in/_tmp/e.csv"},
		"mem://b/in/_tmp/e.csv": {"mem://b/in/_tmp/e.csv"},
		"mem://b/":              {"mem://b/a.csv", "mem://b/b.csv", "mem://b/in/c.csv", "mem://b/in/deep/d.csv", "mem://b/x[1].csv"},
		"mem://b":               {"mem://b/a.csv", "mem://b/b.csv", "mem://b/in/c.csv", "mem://b/in/deep/d.csv", "mem://b/x[1].csv"},
		"mem://b/a.csv?x=y":     {"mem://b/a.csv"},
	} {
		got, err := found(t, "", open, address)
		require.NoError(t, err, address)
		require.Equal(t, want, got, address)
	}
	require.Contains(t, opened, "mem://b?x=y", "the query goes to the driver")

	clear(opened)
	_, err := found(t, "", open, "mem://b/a.csv", "mem://b/b.csv")
	require.NoError(t, err)
	require.Equal(t, map[string]int{"mem://b": 1}, opened, "a bucket is opened once")

	for address, code := range map[string]feature.Code{
		"mem://b/in": feature.CodeNotFound, "mem://b/none/": feature.CodeNotFound, "mem://b/*.parquet": feature.CodeNotFound, "mem://b/[": feature.CodeInvalidArgument,
	} {
		_, err := found(t, "", open, address)
		require.Equal(t, code, feature.CodeOf(err), "%s: %v", address, err)
		require.ErrorContains(t, err, address)
	}
}

func TestFormatOf(t *testing.T) {
	for name, want := range map[string]feature.Format{
		"a.csv": feature.FormatCSV, "A.CSV.GZ": feature.FormatCSV, "a.ndjson.zst": feature.FormatNDJSON, "a.jsonl": feature.FormatNDJSON,
		"a.json": feature.FormatJSON, "a.parquet": feature.FormatParquet, "a.pq": feature.FormatParquet, "a.arrow": feature.FormatArrow,
		"a.arrows": feature.FormatArrow, "a.feather": feature.FormatArrow, "a.ipc.gzip": feature.FormatArrow, "a.b.c/d.csv.zstd": feature.FormatCSV,
	} {
		got, err := formatOf(feature.FormatByName, name)
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	for _, name := range []string{"a", "csv", "a.csv.bz2", "a.gz", "a.csv/part-0", ".csv.txt"} {
		_, err := formatOf(feature.FormatByName, name)
		require.Equal(t, feature.CodeInvalidArgument, feature.CodeOf(err), name)
		got, err := formatOf(feature.FormatParquet, name)
		require.NoError(t, err)
		require.Equal(t, feature.FormatParquet, got)
	}
}

func TestFileErrors(t *testing.T) {
	for err, code := range map[error]feature.Code{
		fs.ErrNotExist: feature.CodeNotFound, fs.ErrPermission: feature.CodePermissionDenied,
		syscall.ENOSPC: feature.CodeResourceExhausted, syscall.EIO: feature.CodeInternal,
	} {
		require.Equal(t, code, feature.CodeOf(fileError("x", &fs.PathError{Op: "open", Path: "x", Err: err})))
	}
}

// TestFilesBucketRefuses: inputs whose bucket refuses or breaks off, at whichever
// call, keep the bucket's code and land nothing; the next run lands them.
func TestFilesBucketRefuses(t *testing.T) {
	rec := foreign(t, "k int64 [0, 1, 2]\nevent_timestamp timestamp[s] [1, 2, 3]\nv int64 [0, 1, 2]")
	for name, data := range map[string][]byte{
		"a.csv": counterCSV(2000), "a.csv.gz": pack(t, "gzip", counterCSV(2000)), "a.parquet": columnar(t, "parquet", rec),
		"a.arrow": columnar(t, "arrow", rec), "a.arrows": columnar(t, "stream", rec),
	} {
		for _, code := range []feature.Code{feature.CodeUnavailable, feature.CodePermissionDenied} {
			inputs := memBucket(t)
			require.NoError(t, inputs.PutIfAbsent(t.Context(), "in/"+name, data))
			for nth := 1; ; nth++ {
				require.Less(t, nth, 200)
				faults := buckettest.NewFaults(inputs, 1, buckettest.Fault{Nth: nth, Err: feature.Errorf(code, "bucket", "in/"+name, "not today")})
				w := newWorld(t)
				w.apply(t, counterYAML)
				w.o.OpenBucket = func(context.Context, string) (bucket.Bucket, error) { return lent{faults}, nil }
				v := w.view(t, "f")
				req := FileRequest{View: v, Inputs: []string{"mem://b/in/"}}
				_, err := w.ingester().Files(t.Context(), req)
				if faults.Surfaced(0) == 0 {
					require.NoError(t, err)
					require.Greater(t, nth, 2, name)
					break
				}
				require.Equal(t, code, feature.CodeOf(err), "%s, call %d: %v", name, nth, err)
				require.ErrorContains(t, err, name)
				require.Equal(t, "no rows\n", w.rows(t, v))
				sum, err := w.ingester().Files(t.Context(), req)
				require.NoError(t, err)
				require.Positive(t, sum.Accepted)
			}
		}
	}
}
