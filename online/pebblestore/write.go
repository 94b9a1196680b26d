package pebblestore

import (
	"context"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// servedGeneration is the one generation of rows that there is until views are
// loaded in bulk.
const servedGeneration online.Generation = 0

// maxBatchBytes is the most that one Write may hold; the engine ends at four
// times as much.
const maxBatchBytes = 1 << 30

// Write implements online.Writer.
func (s *Store) Write(ctx context.Context, view feature.ViewID, rows []online.Row) (online.WriteStats, error) {
	const op = "online.Write"
	if err := online.CheckRows(op, rows); err != nil {
		return online.WriteStats{}, err
	}
	size := int64(0)
	for i := range rows {
		size += int64(len(rows[i].Key) + len(rows[i].Packed))
	}
	if size > maxBatchBytes {
		return online.WriteStats{}, feature.Errorf(feature.CodeTooLarge, op, "", "%d bytes of rows in one write, more than %d", size, maxBatchBytes)
	}
	var stats online.WriteStats
	err := s.commit(ctx, op, view, size, func(b *pebble.Batch) error {
		var err error
		stats, err = s.stage(b, view, rows)
		return err
	})
	if err != nil {
		return online.WriteStats{}, err
	}
	s.count.wrote(stats)
	return stats, nil
}

// stage puts those of the rows into the batch that are not older than what is
// there; the view's turn is held.
func (s *Store) stage(b *pebble.Batch, view feature.ViewID, rows []online.Row) (online.WriteStats, error) {
	var stats online.WriteStats
	sc, _ := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	sc.keys = ordered(sc.keys, len(rows), func(a, b int32) int {
		return strings.Compare(string(rows[a].Key), string(rows[b].Key))
	})
	iter, err := s.db.NewIter(&iterOptions)
	if err != nil {
		return stats, err
	}
	sc.key = online.AppendRowPrefix(sc.key[:0], view, servedGeneration)
	prefix := len(sc.key)
	for n := 0; n < len(sc.keys) && err == nil; {
		same := sameKey(rows, sc.keys[n:])
		n += len(same)
		sc.key = append(sc.key[:prefix], rows[same[0]].Key...)
		err = stageKey(b, iter, sc.key, rows, same, &stats)
	}
	return stats, closeIter(iter, err)
}

// sameKey returns the beginning of order, whose rows have one key.
func sameKey(rows []online.Row, order []int32) []int32 {
	n := 1
	for n < len(order) && rows[order[n]].Key == rows[order[0]].Key {
		n++
	}
	return order[:n]
}

// stageKey takes the rows of one key in turn and stages the last that replaces.
func stageKey(b *pebble.Batch, iter *pebble.Iterator, key []byte, rows []online.Row, same []int32, stats *online.WriteStats) error {
	stored, err := seek(iter, key)
	if err != nil {
		return err
	}
	best, staged := stored, false
	for _, i := range same {
		replaces, err := online.Replaces(rows[i].Packed, best)
		switch {
		case err != nil:
			return feature.Errorf(feature.CodeDataLoss, "", showKey(key), "%w", err)
		case replaces:
			best, staged = rows[i].Packed, true
			stats.Written++
		default:
			stats.Superseded++
		}
	}
	if staged {
		return b.Set(key, best, nil)
	}
	return nil
}

// SetMark implements online.Writer.
func (s *Store) SetMark(ctx context.Context, view feature.ViewID, m online.Mark) error {
	return s.commit(ctx, "online.SetMark", view, 0, func(b *pebble.Batch) error {
		return b.Set(online.AppendMarkKey(nil, view), online.AppendMark(nil, m), nil)
	})
}

// DeleteEntities implements online.Writer. It is allowed on a full disk: it is
// how room is made.
func (s *Store) DeleteEntities(ctx context.Context, view feature.ViewID, keys []feature.EntityKey) (int64, error) {
	var deleted int64
	err := s.commit(ctx, "online.DeleteEntities", view, -s.minFree, func(b *pebble.Batch) error {
		var err error
		deleted, err = s.stageDeletes(b, view, keys)
		return err
	})
	if err != nil {
		return 0, err
	}
	return deleted, nil
}

// stageDeletes puts the deletion of the keys that are there into the batch.
func (s *Store) stageDeletes(b *pebble.Batch, view feature.ViewID, keys []feature.EntityKey) (int64, error) {
	iter, err := s.db.NewIter(&iterOptions)
	if err != nil {
		return 0, err
	}
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	var deleted int64
	for _, key := range slices.Compact(sorted) {
		at := online.AppendRowKey(nil, view, servedGeneration, key)
		stored, err := seek(iter, at)
		if err == nil && stored != nil {
			deleted++
			err = b.Delete(at, nil)
		}
		if err != nil {
			return 0, closeIter(iter, err)
		}
	}
	return deleted, iter.Close()
}

// DeleteView implements online.Writer by one range delete. It is allowed on a
// full disk.
func (s *Store) DeleteView(ctx context.Context, view feature.ViewID) error {
	return s.commit(ctx, "online.DeleteView", view, -s.minFree, func(b *pebble.Batch) error {
		start, end := online.ViewSpan(view)
		return b.DeleteRange(start, end, nil)
	})
}

// commit makes one batch durable: stage fills it while the view's turn is held,
// so that nobody writes between what it reads and what it stages.
//
// The turn ends when others can see the batch, not when it is durable, so that
// the writers of one view share the sync of the log. A writer must then not be
// told that its row is superseded by one that a crash may still undo; so a
// batch that stages nothing while others wait for their sync waits with them.
func (s *Store) commit(ctx context.Context, op string, view feature.ViewID, size int64, stage func(*pebble.Batch) error) error {
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.life.RUnlock()
	if err := s.writable(op, size); err != nil {
		return err
	}
	turn := &s.views[view%stripes]
	b := s.db.NewBatch()
	applied, err := s.apply(turn, b, stage)
	if applied {
		if err = b.SyncWait(); err != nil {
			s.fail(err, false)
		}
		turn.unsynced.Add(-1)
	}
	if f := s.failed.Load(); f != nil && err == nil && applied {
		err = f.err // Pebble gave up on the batch and told only its log
	}
	if err != nil {
		return s.wrap(op, err)
	}
	return s.wrap(op, b.Close())
}

// apply stages a batch and shows it to others, in turn. It returns whether
// there is a sync to wait for.
func (s *Store) apply(turn *stripe, b *pebble.Batch, stage func(*pebble.Batch) error) (applied bool, err error) {
	turn.Lock()
	defer turn.Unlock()
	// Pebble panics, with its locks held, where it cannot begin a new log file.
	// Every later call would wait for ever: the store must know of it.
	defer func() {
		if p := recover(); p != nil {
			applied, err = false, gaveUp(p)
			s.fail(err, true)
		}
	}()
	if err := stage(b); err != nil {
		return false, err
	}
	if b.Empty() {
		if turn.unsynced.Load() == 0 {
			return false, nil
		}
		if err := b.LogData([]byte{0}, nil); err != nil {
			return false, err
		}
	}
	turn.unsynced.Add(1)
	if err := s.db.ApplyNoSyncWait(b, pebble.Sync); err != nil {
		turn.unsynced.Add(-1)
		return false, err
	}
	if f := s.failed.Load(); f != nil {
		turn.unsynced.Add(-1)
		return false, f.err
	}
	return true, nil
}
