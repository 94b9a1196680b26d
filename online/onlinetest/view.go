package onlinetest

import (
	"fmt"
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
func MakeView(t testing.TB, id feature.ViewID, keys, features []string) View {
	t.Helper()
	v := &feature.BoundView{View: feature.View{Name: "f"}, Project: "test", ID: id}
	for _, k := range keys {
		name, typ := column(t, k)
		v.Keys = append(v.Keys, feature.JoinKey{Name: name, Type: typ})
	}
	for i, f := range features {
		name, typ := column(t, f)
		v.Features = append(v.Features, feature.Feature{Name: name, Type: typ})
		v.Slots = append(v.Slots, i)
		v.SlotTypes = append(v.SlotTypes, typ)
	}
	return View{BoundView: v, Layout: online.NewLayout(v)}
}

func column(t testing.TB, text string) (string, feature.Type) {
	t.Helper()
	name, typeText, ok := strings.Cut(text, " ")
	require.True(t, ok, "column %q (expected a name and a type)", text)
	typ, err := feature.ParseType(typeText)
	require.NoError(t, err)
	return name, typ
}

// Key encodes the key of an entity.
func (v View) Key(t testing.TB, values ...feature.Value) feature.EntityKey {
	t.Helper()
	key, err := feature.MakeEntityKey(v.Keys, values)
	require.NoError(t, err)
	return key
}

// Row packs a row.
func (v View) Row(t testing.TB, key feature.EntityKey, event, created feature.Timestamp, values ...feature.Value) online.Row {
	t.Helper()
	packed, err := v.Append(nil, event, created, values)
	require.NoError(t, err)
	return online.Row{Key: key, Packed: packed}
}

// At returns a time of 2024-01-01 UTC, such as "10:00" or "10:00:01.5", or any
// timestamp that is written whole.
func At(t testing.TB, text string) feature.Timestamp {
	t.Helper()
	if !strings.Contains(text, "-") {
		text = "2024-01-01T" + text
	}
	ts, err := feature.ParseTimestamp(text)
	require.NoError(t, err)
	return ts
}

// Dump returns every row that Read finds for the keys, as text.
func Dump(t testing.TB, s online.Store, v View, keys []feature.EntityKey) string {
	t.Helper()
	var rows online.Rows
	require.NoError(t, s.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: keys}}, &rows))
	var b strings.Builder
	for i, key := range keys {
		values, err := key.Values(v.Keys)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%v %s\n", values, show(t, v, rows.Row(0, i)))
	}
	return b.String()
}

// show returns a packed row as text, or "none".
func show(t testing.TB, v View, packed []byte) string {
	t.Helper()
	if packed == nil {
		return "none"
	}
	version, err := online.VersionOf(packed)
	require.NoError(t, err)
	var b strings.Builder
	fmt.Fprintf(&b, "event=%s created=%s", version.Event, version.Created)
	for i, f := range v.Features {
		value, err := v.Value(packed, v.Slots[i])
		require.NoError(t, err)
		fmt.Fprintf(&b, " %s=%s", f.Name, value)
	}
	return b.String()
}
