package bucket

import (
	"context"
	"io"
	"iter"
	"strings"
)

// WithPrefix returns the part of a bucket that lies in the folder prefix; an
// empty one is the bucket itself. Closing it closes the bucket.
func WithPrefix(b Bucket, prefix string) Bucket {
	prefix = strings.Trim(prefix, "/")
	if prefix == "" {
		return b
	}
	return &prefixed{b: b, prefix: prefix + "/"}
}

type prefixed struct {
	b      Bucket
	prefix string
}

func (p *prefixed) key(op, key string) (string, error) {
	return p.prefix + key, CheckKey(op, key)
}

func (p *prefixed) strip(o Object) Object {
	o.Key = strings.TrimPrefix(o.Key, p.prefix)
	return o
}

// Get implements Bucket.
func (p *prefixed) Get(ctx context.Context, key string) ([]byte, error) {
	full, err := p.key("bucket.Get", key)
	if err != nil {
		return nil, err
	}
	return p.b.Get(ctx, full)
}

// Stat implements Bucket.
func (p *prefixed) Stat(ctx context.Context, key string) (Object, error) {
	full, err := p.key("bucket.Stat", key)
	if err != nil {
		return Object{}, err
	}
	o, err := p.b.Stat(ctx, full)
	return p.strip(o), err
}

// ReadRange implements Bucket.
func (p *prefixed) ReadRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error) {
	full, err := p.key("bucket.ReadRange", key)
	if err != nil {
		return nil, err
	}
	return p.b.ReadRange(ctx, full, off, length)
}

// Create implements Bucket.
func (p *prefixed) Create(ctx context.Context, key string, o CreateOptions) (Writer, error) {
	full, err := p.key("bucket.Create", key)
	if err != nil {
		return nil, err
	}
	return p.b.Create(ctx, full, o)
}

// PutIfAbsent implements Bucket.
func (p *prefixed) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	full, err := p.key("bucket.PutIfAbsent", key)
	if err != nil {
		return err
	}
	return p.b.PutIfAbsent(ctx, full, data)
}

// List implements Bucket.
func (p *prefixed) List(ctx context.Context, prefix, after string) iter.Seq2[Object, error] {
	if after != "" {
		after = p.prefix + after
	}
	return func(yield func(Object, error) bool) {
		for o, err := range p.b.List(ctx, p.prefix+prefix, after) {
			if !yield(p.strip(o), err) {
				return
			}
		}
	}
}

// Delete implements Bucket.
func (p *prefixed) Delete(ctx context.Context, key string) error {
	full, err := p.key("bucket.Delete", key)
	if err != nil {
		return err
	}
	return p.b.Delete(ctx, full)
}

// Close implements Bucket.
func (p *prefixed) Close() error { return p.b.Close() }
