package pebblestore

import (
	"log/slog"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options of a store; the zero value is good.
type Options struct {
	// CacheBytes is the size of the block cache. Default 256 MiB; the rows in
	// use should fit. Raising it costs that much memory and saves reads of
	// files.
	CacheBytes int64
	// FS is the file system; nil is that of the machine. For tests.
	FS vfs.FS
	// Log takes the events of the engine; nil discards them.
	Log *slog.Logger
}
