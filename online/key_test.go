package online_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// rowKey is what a key of a row is made of.
type rowKey struct {
	view       feature.ViewID
	generation online.Generation
	entity     feature.EntityKey
}

func drawKey(t *rapid.T) rowKey {
	return rowKey{
		view:       feature.ViewID(rapid.Uint32().Draw(t, "view")),
		generation: online.Generation(rapid.Uint32Range(0, 2).Draw(t, "generation")),
		entity:     feature.EntityKey(rapid.SliceOf(rapid.Byte()).Draw(t, "entity")),
	}
}

func (k rowKey) bytes() []byte { return online.AppendRowKey(nil, k.view, k.generation, k.entity) }

// TestRowKey: keys come back, stand in the order of what they are made of, and
// lie in the range of their view and of no other.
func TestRowKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := drawKey(rt), drawKey(rt)
		view, generation, entity, ok := online.ParseRowKey(a.bytes())
		require.True(rt, ok)
		back := rowKey{view, generation, entity}
		require.Equal(rt, a, back)
		order := cmp.Or(cmp.Compare(a.view, b.view), cmp.Compare(a.generation, b.generation), strings.Compare(string(a.entity), string(b.entity)))
		require.Equal(rt, order, bytes.Compare(a.bytes(), b.bytes()))
		for _, k := range [][]byte{a.bytes(), online.AppendMarkKey(nil, a.view)} {
			start, end := online.ViewSpan(b.view)
			inside := bytes.Compare(start, k) <= 0 && bytes.Compare(k, end) < 0
			require.Equal(rt, a.view == b.view, inside)
		}
		_, _, _, ok = online.ParseRowKey(online.AppendMarkKey(nil, a.view))
		require.False(rt, ok)
	})
}
