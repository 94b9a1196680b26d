package pebblestore

import (
	"sync/atomic"

	"github.com/granary-ml/granary/online"
)

// Metrics are counts since Open, and sizes now.
type Metrics struct {
	Reads          int64 // calls of Read
	RowsSought     int64 // different keys of each lookup
	RowsFound      int64
	RowsWritten    int64
	RowsSuperseded int64

	DiskBytes         int64 // of all files
	MemTableBytes     int64
	LogBytes          int64
	CacheBytes        int64
	CacheHits         int64 // blocks
	CacheMisses       int64
	FilterHits        int64 // files that a bloom filter spared
	FilterMisses      int64
	ReadAmplification int64 // files that a read of one key may look into
	CompactionDebt    int64 // bytes that compactions are behind
	Compactions       int64
	Flushes           int64
	Tables            int64 // files of rows
}

// counters count without a lock.
type counters struct{ reads, sought, found, written, superseded atomic.Int64 }

func (c *counters) read(r *reader) {
	c.reads.Add(1)
	c.sought.Add(r.sought)
	c.found.Add(r.hit)
}

func (c *counters) wrote(s online.WriteStats) {
	c.written.Add(s.Written)
	c.superseded.Add(s.Superseded)
}

// Metrics returns a snapshot; the sizes of a closed store are zero.
func (s *Store) Metrics() Metrics {
	m := Metrics{
		Reads: s.count.reads.Load(), RowsSought: s.count.sought.Load(), RowsFound: s.count.found.Load(),
		RowsWritten: s.count.written.Load(), RowsSuperseded: s.count.superseded.Load(),
	}
	s.life.RLock()
	defer s.life.RUnlock()
	if f := s.failed.Load(); s.closed || f != nil && f.stuck {
		return m
	}
	e := s.db.Metrics()
	total := e.Total()
	m.DiskBytes = int64(e.DiskSpaceUsage())           //nolint:gosec // far below 8 EiB
	m.MemTableBytes = int64(e.MemTable.Size)          //nolint:gosec // as above
	m.LogBytes = int64(e.WAL.Size)                    //nolint:gosec // as above
	m.CompactionDebt = int64(e.Compact.EstimatedDebt) //nolint:gosec // as above
	m.CacheBytes, m.CacheHits, m.CacheMisses = e.BlockCache.Size, e.BlockCache.Hits, e.BlockCache.Misses
	m.FilterHits, m.FilterMisses = e.Filter.Hits, e.Filter.Misses
	m.ReadAmplification = int64(e.ReadAmp())
	m.Compactions, m.Flushes, m.Tables = e.Compact.Count, e.Flush.Count, total.TablesCount
	return m
}
