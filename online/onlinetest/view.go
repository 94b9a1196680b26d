package onlinetest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// View is a bound view with its layout, for tests.
type View struct {
	*feature.BoundView
	*online.Layout
}

// MakeView returns the view f of a project with columns such as "k int64": the
// join keys, then the features, whose slots are in their order.
func MakeView(tb testing.TB, id feature.ViewID, keys, features []string) View {
	tb.Helper()
	v := &feature.BoundView{View: feature.View{Name: "f"}, Project: "test", ID: id}
	for _, k := range keys {
		name, typ := column(tb, k)
		v.Keys = append(v.Keys, feature.JoinKey{Name: name, Type: typ})
	}
	for i, f := range features {
		name, typ := column(tb, f)
		v.Features = append(v.Features, feature.Feature{Name: name, Type: typ})
		v.Slots = append(v.Slots, i)
		v.SlotTypes = append(v.SlotTypes, typ)
	}
	return View{BoundView: v, Layout: online.NewLayout(v)}
}

func column(tb testing.TB, text string) (string, feature.Type) {
	tb.Helper()
	name, typeText, ok := strings.Cut(text, " ")
	require.True(tb, ok, "column %q (expected a name and a type)", text)
	typ, err := feature.ParseType(typeText)
	require.NoError(tb, err)
	return name, typ
}

// Key encodes the key of an entity.
func (v View) Key(tb testing.TB, values ...feature.Value) feature.EntityKey {
	tb.Helper()
	key, err := feature.MakeEntityKey(v.Keys, values)
	require.NoError(tb, err)
	return key
}

// Row packs a row.
func (v View) Row(tb testing.TB, key feature.EntityKey, event, created feature.Timestamp, values ...feature.Value) online.Row {
	tb.Helper()
	packed, err := v.Append(nil, event, created, values)
	require.NoError(tb, err)
	return online.Row{Key: key, Packed: packed}
}

// At returns a time of 2024-01-01 UTC, such as "10:00" or "10:00:01.5", or any
// timestamp that is written whole.
func At(tb testing.TB, text string) feature.Timestamp {
	tb.Helper()
	if !strings.Contains(text, "-") {
		text = "2024-01-01T" + text
	}
	ts, err := feature.ParseTimestamp(text)
	require.NoError(tb, err)
	return ts
}
