package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSidesAreEqual: all sides leave the same rows.
func TestSidesAreEqual(t *testing.T) {
	w := workload{Entities: 500, PerEntity: 7}
	records := w.records()
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	require.NoError(t, materialize(t.Context(), w, records, dirs[0]))
	require.NoError(t, setRows(w, records, dirs[1], false))
	require.NoError(t, setRows(w, records, dirs[2], true))
	want, err := hashRows(dirs[0])
	require.NoError(t, err)
	for _, dir := range dirs[1:] {
		got, err := hashRows(dir)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	empty := t.TempDir()
	require.NoError(t, setRows(w, nil, empty, false))
	got, err := hashRows(empty)
	require.NoError(t, err)
	require.NotEqual(t, want, got)
}
