package bucket

import (
	"context"

	"github.com/granary-ml/granary/feature"
)

// Open opens a bucket by its address: a plain path or file:///path, mem://,
// s3://bucket/prefix, gs://bucket/prefix, azblob://container/prefix.
func Open(_ context.Context, url string, _ Options) (Bucket, error) {
	return nil, feature.Errorf(feature.CodeInternal, "bucket.Open", url, "not built in")
}

// WithPrefix returns the part of a bucket that lies under a prefix.
func WithPrefix(b Bucket, _ string) Bucket { return b }
