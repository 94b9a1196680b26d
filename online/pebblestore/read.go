package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// scratch is the memory of one read or write, used again by the next.
type scratch struct {
	views []int32 // lookups in the order of their views
	keys  []int32 // keys of one lookup in their order
	key   []byte  // the key being sought
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

// iterOptions ask the bloom filters of the last level, too: most keys that are
// not there are in no level, and each would cost a block.
var iterOptions = pebble.IterOptions{UseL6Filters: true}

// Read implements online.Reader. The keys are sought in their order by one
// iterator, which then finds most of them near the one before.
func (s *Store) Read(ctx context.Context, lookups []online.Lookup, out *online.Rows) error {
	const op = "online.Read"
	if err := s.begin(ctx, op); err != nil {
		return err
	}
	defer s.life.RUnlock()
	out.Reset(lookups)
	iter, err := s.db.NewIter(&iterOptions)
	if err != nil {
		return s.wrap(op, err)
	}
	sc, _ := scratches.Get().(*scratch)
	defer scratches.Put(sc)
	r := reader{iter: iter, out: out, sc: sc}
	err = r.read(ctx, lookups)
	s.count.read(&r)
	return s.wrap(op, closeIter(iter, err))
}

// reader is one read.
type reader struct {
	iter        *pebble.Iterator
	out         *online.Rows
	sc          *scratch
	sought, hit int64
}

func (r *reader) read(ctx context.Context, lookups []online.Lookup) error {
	r.sc.views = ordered(r.sc.views, len(lookups), func(a, b int32) int {
		return cmp.Compare(lookups[a].View, lookups[b].View)
	})
	var sorted []feature.EntityKey // whose order sc.keys is
	for _, i := range r.sc.views {
		if err := ctx.Err(); err != nil {
			return err
		}
		l := lookups[i]
		if !same(sorted, l.Keys) {
			sorted = l.Keys
			r.sc.keys = ordered(r.sc.keys, len(sorted), func(a, b int32) int {
				return strings.Compare(string(sorted[a]), string(sorted[b]))
			})
		}
		if err := r.lookup(int(i), l); err != nil {
			return err
		}
	}
	return nil
}

// lookup seeks the keys of one lookup in the order of sc.keys.
func (r *reader) lookup(i int, l online.Lookup) error {
	r.sc.key = online.AppendRowPrefix(r.sc.key[:0], l.View, servedGeneration)
	prefix := len(r.sc.key)
	var last []byte
	for n, j := range r.sc.keys {
		if n > 0 && l.Keys[j] == l.Keys[r.sc.keys[n-1]] {
			r.out.Share(i, int(j), last)
			continue
		}
		r.sc.key = append(r.sc.key[:prefix], l.Keys[j]...)
		packed, err := seek(r.iter, r.sc.key)
		if err != nil {
			return err
		}
		r.sought++
		last = nil
		if packed != nil {
			if err := online.Check(packed); err != nil {
				return feature.Errorf(feature.CodeDataLoss, "", showKey(r.sc.key), "%w", err)
			}
			last = r.out.Copy(i, int(j), packed)
			r.hit++
		}
	}
	return nil
}

// seek returns the value of a key until the iterator moves on; nil if there is
// none.
func seek(iter *pebble.Iterator, key []byte) ([]byte, error) {
	if !iter.SeekPrefixGE(key) {
		return nil, iter.Error()
	}
	if !bytes.Equal(iter.Key(), key) {
		return nil, nil
	}
	return iter.ValueAndErr()
}

// ordered returns 0…n-1 in the order of compare, in the memory of dst.
func ordered(dst []int32, n int, compare func(a, b int32) int) []int32 {
	dst = dst[:0]
	for i := range n {
		dst = append(dst, int32(i))
	}
	if !slices.IsSortedFunc(dst, compare) {
		slices.SortStableFunc(dst, compare)
	}
	return dst
}

// same tells whether two lists of keys are one and the same slice, as the
// lookups of several views of one entity are.
func same(a, b []feature.EntityKey) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// Mark implements online.Reader.
func (s *Store) Mark(ctx context.Context, view feature.ViewID) (online.Mark, bool, error) {
	const op = "online.Mark"
	if err := s.begin(ctx, op); err != nil {
		return online.Mark{}, false, err
	}
	defer s.life.RUnlock()
	value, closer, err := s.db.Get(online.AppendMarkKey(nil, view))
	if errors.Is(err, pebble.ErrNotFound) {
		return online.Mark{}, false, nil
	}
	if err != nil {
		return online.Mark{}, false, s.wrap(op, err)
	}
	m, err := online.ParseMark(value)
	if err := errors.Join(err, closer.Close()); err != nil {
		return online.Mark{}, false, s.wrap(op, err)
	}
	return m, true, nil
}
