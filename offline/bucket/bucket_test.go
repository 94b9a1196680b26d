package bucket_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/bucket/buckettest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, address string) bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), address, bucket.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	return b
}

func TestAcceptance(t *testing.T) {
	plain := func(b bucket.Bucket) bucket.Bucket { return b }
	for name, c := range map[string]struct {
		address string // {} is a new folder
		wrap    func(b bucket.Bucket) bucket.Bucket
	}{
		"files":      {"{}", plain},
		"files-url":  {"file://{}/a%20b", plain},
		"memory":     {"mem://", plain},
		"mem-prefix": {"mem://x/deep/prefix", plain},
		"prefix":     {"{}", func(b bucket.Bucket) bucket.Bucket { return bucket.WithPrefix(b, "deep/prefix/") }},
		"faults":     {"{}", func(b bucket.Bucket) bucket.Bucket { return buckettest.NewFaults(b, 1) }},
		"stack": {"mem://", func(b bucket.Bucket) bucket.Bucket {
			return bucket.WithPrefix(buckettest.NewFaults(bucket.WithPrefix(b, "a"), 1), "b")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			buckettest.Run(t, func(t *testing.T) bucket.Bucket {
				t.Helper()
				return c.wrap(open(t, strings.Replace(c.address, "{}", t.TempDir(), 1)))
			})
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, c := range []struct {
		address string
		o       bucket.Options
		code    feature.Code
		says    string
	}{
		{"", bucket.Options{}, feature.CodeInvalidArgument, "empty"},
		{"ftp://host/x", bucket.Options{}, feature.CodeInvalidArgument, `"ftp"`},
		{"file://host/x", bucket.Options{}, feature.CodeInvalidArgument, "no host"},
		{"mem://x/a/../b", bucket.Options{}, feature.CodeInvalidArgument, `".."`},
		{"s3://bad host?secret=1", bucket.Options{}, feature.CodeInvalidArgument, "not a URL"},
		{file, bucket.Options{}, feature.CodeFailedPrecondition, "it is a file"},
		{file + "/below", bucket.Options{}, feature.CodeNotFound, "below"},
		{filepath.Join(t.TempDir(), "none"), bucket.Options{MustExist: true}, feature.CodeNotFound, "none"},
	} {
		_, err := bucket.Open(t.Context(), c.address, c.o)
		require.Error(t, err, c.address)
		require.Equal(t, c.code, feature.CodeOf(err), "%s: %v", c.address, err)
		require.ErrorContains(t, err, c.says)
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestFaultsSurface(t *testing.T) {
	f := buckettest.NewFaults(open(t, "mem://"), 1,
		buckettest.Fault{Op: buckettest.PutIfAbsent, Key: "*.json", Nth: 2, After: true},
		buckettest.Fault{Op: buckettest.Get, Key: "dir/*", Nth: 1, Times: 2},
		buckettest.Fault{Op: buckettest.Mutation, Key: "end", Kill: true})
	ctx := t.Context()
	require.NoError(t, f.PutIfAbsent(ctx, "a/1.json", nil))
	require.Error(t, f.PutIfAbsent(ctx, "a/2.json", nil))
	_, err := f.Get(ctx, "a/2.json")
	require.NoError(t, err, "the effect happened, the answer was lost")
	require.NoError(t, f.PutIfAbsent(ctx, "dir/x", nil))
	for range 2 {
		_, err = f.Get(ctx, "dir/x")
		require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
	}
	_, err = f.Get(ctx, "dir/x")
	require.NoError(t, err)
	require.Zero(t, f.Surfaced(2))
	require.Error(t, f.Delete(ctx, "end"))
	_, err = f.Get(ctx, "dir/x")
	require.Error(t, err, "a killed process does nothing more")
	require.Equal(t, 2, f.Surfaced(1))
	require.Equal(t, 4, f.Calls(buckettest.Mutation))
	f.RequireSurfaced(t)
}
