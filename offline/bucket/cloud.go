package bucket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"

	gcs "cloud.google.com/go/storage"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"

	"github.com/granary-ml/granary/feature"
)

// cloud is a bucket behind a driver of gocloud.dev.
type cloud struct{ b *blob.Bucket }

// Get implements Bucket.
func (c *cloud) Get(ctx context.Context, key string) ([]byte, error) {
	const op = "bucket.Get"
	if err := check(ctx, op, key); err != nil {
		return nil, err
	}
	data, err := c.b.ReadAll(ctx, key)
	return data, cloudError(op, key, err)
}

// Stat implements Bucket.
func (c *cloud) Stat(ctx context.Context, key string) (Object, error) {
	const op = "bucket.Stat"
	if err := check(ctx, op, key); err != nil {
		return Object{}, err
	}
	a, err := c.b.Attributes(ctx, key)
	if err != nil {
		return Object{}, cloudError(op, key, err)
	}
	return Object{Key: key, Size: a.Size, ModTime: a.ModTime}, nil
}

// ReadRange implements Bucket.
func (c *cloud) ReadRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	const op = "bucket.ReadRange"
	if err := checkRange(ctx, op, key, off); err != nil {
		return nil, err
	}
	r, err := c.b.NewRangeReader(ctx, key, off, length, nil)
	switch {
	case err == nil:
		return &cloudReader{r: r, key: key}, nil
	case httpStatus(err) == http.StatusRequestedRangeNotSatisfiable:
		// The range begins at or beyond the end, where there is nothing.
		return io.NopCloser(bytes.NewReader(nil)), nil
	}
	return nil, cloudError(op, key, err)
}

// check refuses a key that no store takes, and a context that is done.
func check(ctx context.Context, op, key string) error {
	if err := ctx.Err(); err != nil {
		return feature.Errorf(feature.CodeOf(err), op, key, "%w", err)
	}
	return CheckKey(op, key)
}

func checkRange(ctx context.Context, op, key string, off int64) error {
	if off < 0 {
		return feature.Errorf(feature.CodeInvalidArgument, op, key, "offset %d is negative", off)
	}
	return check(ctx, op, key)
}

type cloudReader struct {
	r   *blob.Reader
	key string
}

// Read implements io.ReadCloser.
func (r *cloudReader) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	if err == nil || errors.Is(err, io.EOF) {
		return n, err
	}
	return n, cloudError("bucket.Read", r.key, err)
}

// Close implements io.ReadCloser.
func (r *cloudReader) Close() error { return cloudError("bucket.Read", r.key, r.r.Close()) }

// Create implements Bucket.
func (c *cloud) Create(ctx context.Context, key string, o CreateOptions) (Writer, error) {
	const op = "bucket.Create"
	if err := check(ctx, op, key); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w, err := c.b.NewWriter(ctx, key, writerOptions(o.IfAbsent))
	if err != nil {
		cancel()
		return nil, cloudError(op, key, err)
	}
	return &cloudWriter{w: w, cancel: cancel, key: key, ifAbsent: o.IfAbsent}, nil
}

// writerOptions names a content type, so that the driver does not hold the
// first bytes back to guess one.
func writerOptions(ifAbsent bool) *blob.WriterOptions {
	return &blob.WriterOptions{ContentType: "application/octet-stream", IfNotExist: ifAbsent}
}

// cloudWriter ends an upload either way: the driver completes it on Close, and
// drops it on a Close under a cancelled context.
type cloudWriter struct {
	w        *blob.Writer
	cancel   context.CancelFunc
	key      string
	ifAbsent bool
	done     bool
}

// Write implements Writer.
func (w *cloudWriter) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	return n, w.wrap("bucket.Write", err)
}

// Commit implements Writer.
func (w *cloudWriter) Commit() error {
	if w.done {
		return errEnded(w.key)
	}
	w.done = true
	defer w.cancel()
	return w.wrap("bucket.Commit", w.w.Close())
}

// Abort implements Writer.
func (w *cloudWriter) Abort() error {
	if w.done {
		return nil
	}
	w.done = true
	w.cancel()
	_ = w.w.Close() // the upload ends with the cancellation that was asked for
	return nil
}

func (w *cloudWriter) wrap(op string, err error) error {
	if w.ifAbsent {
		return cloudPutError(op, w.key, err)
	}
	return cloudError(op, w.key, err)
}

func errEnded(key string) error {
	return feature.Errorf(feature.CodeFailedPrecondition, "bucket.Commit", key, "the writer has ended already")
}

// putAttempts bounds how often a put is tried again after a 409
// ConditionalRequestConflict: another conditional put of the same key is under
// way, and one of the two will win within a round trip or two.
const putAttempts = 10

// PutIfAbsent implements Bucket.
func (c *cloud) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	const op = "bucket.PutIfAbsent"
	if err := check(ctx, op, key); err != nil {
		return err
	}
	var err error
	for range putAttempts {
		err = c.b.WriteAll(ctx, key, data, writerOptions(true))
		if httpStatus(err) != http.StatusConflict {
			break
		}
	}
	return cloudPutError(op, key, err)
}

// listPage is the number of objects per request.
const listPage = 1000

// List implements Bucket.
func (c *cloud) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		token := blob.FirstPageToken
		for token != nil {
			page, next, err := c.b.ListPage(ctx, token, listPage, listOptions(prefix, after))
			if err = errors.Join(err, ctx.Err()); err != nil { // memory does not ask the context
				yield(Object{}, cloudError("bucket.List", prefix, err))
				return
			}
			for _, o := range page {
				// Not every driver can start where it is asked to.
				if o.Key <= after || o.IsDir {
					continue
				}
				if !yield(Object{Key: o.Key, Size: o.Size, ModTime: o.ModTime}, nil) {
					return
				}
			}
			token = next
		}
	}
}

// listOptions lets S3 and Google skip what is not asked for: the newest commits
// of a long log are found without listing all of it.
func listOptions(prefix, after string) *blob.ListOptions {
	o := &blob.ListOptions{Prefix: prefix}
	if after == "" {
		return o
	}
	o.BeforeList = func(as func(any) bool) error {
		var s3Input *s3.ListObjectsV2Input
		var query *gcs.Query
		switch {
		case as(&s3Input):
			s3Input.StartAfter = &after
		case as(&query):
			query.StartOffset = after
		}
		return nil
	}
	return o
}

// Delete implements Bucket.
func (c *cloud) Delete(ctx context.Context, key string) error {
	const op = "bucket.Delete"
	if err := check(ctx, op, key); err != nil {
		return err
	}
	err := cloudError(op, key, c.b.Delete(ctx, key))
	if err != nil && feature.CodeOf(err) == feature.CodeNotFound {
		return nil
	}
	return err
}

// Close implements Bucket.
func (c *cloud) Close() error { return cloudError("bucket.Close", "", c.b.Close()) }
