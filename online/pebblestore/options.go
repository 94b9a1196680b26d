package pebblestore

import (
	"log/slog"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Options of a store; the zero value is good.
type Options struct {
	// CacheBytes is the size of the block cache. Default 256 MiB; the rows in
	// use should fit. Raising it costs that much memory and saves reads of
	// files.
	CacheBytes int64
	// MemTableBytes is how much is gathered in memory before it goes to a file,
	// twice over. Default 64 MiB. Raising it makes bulk writes faster and
	// opening after a crash slower.
	MemTableBytes uint64
	// MinFreeBytes is the room that must be left on the disk after a write; what
	// would leave less is refused with CodeResourceExhausted. Default 256 MiB;
	// negative is no limit. It must hold what compactions write meanwhile.
	MinFreeBytes int64
	// FS is the file system; nil is that of the machine. For tests.
	FS vfs.FS
	// Log takes the events of the engine; nil discards them.
	Log *slog.Logger
}

// withDefaults returns the options with every field set.
func (o Options) withDefaults() Options {
	if o.CacheBytes <= 0 {
		o.CacheBytes = 256 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 64 << 20
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = 256 << 20
	}
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// formatMajorVersion is the format of the engine's files. Raising it makes
// directories that older programs cannot open.
const formatMajorVersion = pebble.FormatTableFormatV6

const (
	// bloomBits per key let one key in a hundred through that is not there.
	bloomBits = 10
	// blockBytes is what a lookup that misses the cache reads and decompresses.
	// Once cached, large blocks are found faster: a batch of sorted keys enters
	// fewer of them.
	blockBytes = 16 << 10
	// indexBytes is large, so that the index of a file is one block.
	indexBytes = 256 << 10
)

// engineOptions returns the options of the engine.
func (s *Store) engineOptions(o Options) *pebble.Options {
	e := &pebble.Options{
		Cache:                       s.cache,
		Comparer:                    comparer(),
		EventListener:               &pebble.EventListener{},
		FormatMajorVersion:          formatMajorVersion,
		FS:                          o.FS,
		Lock:                        s.lock,
		Logger:                      engineLog{store: s},
		MemTableSize:                o.MemTableBytes,
		MemTableStopWritesThreshold: 4,
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       1000,
		LBaseMaxBytes:               int64(o.MemTableBytes), //nolint:gosec // a size of memory
		CompactionConcurrencyRange:  func() (lower, upper int) { return 1, 2 },
	}
	e.TargetFileSizes[0] = 8 << 20
	for i := range e.Levels {
		e.Levels[i].BlockSize = blockBytes
		e.Levels[i].IndexBlockSize = indexBytes
		e.Levels[i].FilterPolicy = bloom.FilterPolicy(bloomBits)
	}
	return e
}
