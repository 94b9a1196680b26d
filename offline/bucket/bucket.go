package bucket

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"time"
)

// Object describes a stored object.
type Object struct {
	Key     string
	Size    int64     // bytes
	ModTime time.Time // when the store says it was written; never trusted for order
}

// Writer receives the bytes of one object. It belongs to one goroutine.
// Exactly one of Commit and Abort ends it; an Abort after a Commit does nothing,
// so it may be deferred.
type Writer interface {
	io.Writer
	// Commit makes the object visible, whole and durable. With IfAbsent, a key
	// that is taken by then is CodeAlreadyExists. After CodeUnavailable it is
	// unknown whether the object is there.
	Commit() error
	// Abort drops what was written; nothing becomes visible.
	Abort() error
}

// CreateOptions says how an object is created; the zero value replaces what is
// there.
type CreateOptions struct {
	// IfAbsent refuses to replace: of many writers of one key, one wins.
	IfAbsent bool
}

// Bucket is a flat store of objects under keys. Keys are paths of UTF-8
// segments joined by "/"; see CheckKey. Implementations are safe for concurrent
// use, by many processes too. Bytes handed in are not kept, bytes handed out
// belong to the caller.
type Bucket interface {
	// Get returns a whole object, which should be small; CodeNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// Stat describes an object; CodeNotFound.
	Stat(ctx context.Context, key string) (Object, error)
	// ReadRange reads length bytes from off; a negative length reads to the
	// end. What lies beyond the end is not there: the reader ends early. The
	// context covers the reads, too. CodeNotFound comes from ReadRange itself.
	ReadRange(ctx context.Context, key string, off, length int64) (io.ReadCloser, error)
	// Create starts an object of any size. The context covers the Writer, too:
	// once it is done, Commit fails.
	Create(ctx context.Context, key string, o CreateOptions) (Writer, error)
	// PutIfAbsent stores a small object if the key is free, durably and
	// atomically; CodeAlreadyExists if it is not.
	PutIfAbsent(ctx context.Context, key string, data []byte) error
	// List yields the objects whose keys begin with prefix and are larger than
	// after, in the byte order of keys. The sequence ends after an error. An
	// object that comes or goes meanwhile may be in it or not.
	List(ctx context.Context, prefix, after string) iter.Seq2[Object, error]
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, key string) error
	// Close releases connections. Nothing else may be called after it.
	Close() error
}

// Options configures Open. The zero value is good.
type Options struct {
	// Log receives what is odd but harmless, such as left-over temporary files.
	// The default drops it.
	Log *slog.Logger
	// MustExist refuses a local folder that is not there with CodeNotFound,
	// instead of making it.
	MustExist bool
}
