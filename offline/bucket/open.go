package bucket

import (
	"context"
	"log/slog"
	"net/url"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob://
	_ "gocloud.dev/blob/gcsblob"   // gs://
	"gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob" // s3://

	"github.com/granary-ml/granary/feature"
)

// Open opens a bucket by its address:
//
//	/data, ./data, file:///data     a local folder, made if it is not there
//	mem://                          memory, a new and empty one each time
//	s3://bucket/some/prefix?region=eu-west-1
//	gs://bucket/some/prefix
//	azblob://container/some/prefix
//
// The path of a cloud address is a prefix that every key gets. Its query goes
// to the driver, such as endpoint, use_path_style and disable_https for a
// private S3 server; credentials come from the environment as each cloud's own
// tools take them. An address that is not understood is CodeInvalidArgument.
func Open(ctx context.Context, address string, o Options) (Bucket, error) {
	const op = "bucket.Open"
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	scheme, _, isURL := strings.Cut(address, "://")
	if !isURL {
		return openFiles(address, o)
	}
	u, err := url.Parse(address)
	if err != nil {
		// The parser's own message repeats the address, which may hold secrets.
		return nil, feature.Errorf(feature.CodeInvalidArgument, op, scheme+"://…", "the address is not a URL")
	}
	subject := u.Scheme + "://" + u.Host + u.Path
	switch u.Scheme {
	case "file":
		if u.Host != "" && u.Host != "localhost" {
			return nil, feature.Errorf(feature.CodeInvalidArgument, op, subject, "a file address has no host (expected file:///path)")
		}
		return openFiles(u.Path, o)
	case "mem":
		return withURLPrefix(&cloud{b: memblob.OpenBucket(&memblob.Options{NoMD5: true})}, u)
	case "s3", "gs", "azblob":
		return openCloud(ctx, u, subject)
	}
	return nil, feature.Errorf(feature.CodeInvalidArgument, op, subject,
		"no such kind of storage: %q (expected a path, file, mem, s3, gs or azblob)", u.Scheme)
}

func openCloud(ctx context.Context, u *url.URL, subject string) (Bucket, error) {
	bare := *u
	bare.Path, bare.RawPath = "", ""
	b, err := blob.OpenBucket(ctx, bare.String())
	if err != nil {
		return nil, cloudError("bucket.Open", subject, err)
	}
	return withURLPrefix(&cloud{b: b}, u)
}

// withURLPrefix keeps everything below the path of an address.
func withURLPrefix(b Bucket, u *url.URL) (Bucket, error) {
	prefix := strings.Trim(u.Path, "/")
	if prefix == "" {
		return b, nil
	}
	if err := CheckKey("bucket.Open", prefix); err != nil {
		return nil, err
	}
	return WithPrefix(b, prefix), nil
}
