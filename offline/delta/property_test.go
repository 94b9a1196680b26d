package delta_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
)

// TestLogEqualsModel draws transactions of several writers, some computed from
// old snapshots, over a table that writes many checkpoints, and holds every
// version, read by every writer and by new ones, to a plain list.
func TestLogEqualsModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{t: rt, ctxT: t, apps: []map[string]int64{{}}, files: [][]string{{}}}
		b, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
		require.NoError(rt, err)
		every := rapid.IntRange(1, 4).Draw(rt, "every")
		for range 3 {
			m.logs = append(m.logs, delta.New(b, "t", delta.Options{CheckpointEvery: every}))
		}
		_, err = m.logs[0].Create(t.Context(), delta.Metadata{Fields: columns()})
		require.NoError(rt, err)
		m.reads = make([]*delta.Snapshot, len(m.logs))
		for range rapid.IntRange(1, 15).Draw(rt, "steps") {
			m.step(rapid.IntRange(0, len(m.logs)-1).Draw(rt, "writer"))
		}
		fresh := delta.New(b, "t", delta.Options{})
		for v := range m.files {
			for _, l := range []*delta.Log{fresh, m.logs[v%len(m.logs)]} {
				snap, err := l.At(t.Context(), int64(v))
				require.NoError(rt, err)
				m.require(snap)
			}
		}
	})
}

type model struct {
	t     *rapid.T
	ctxT  *testing.T
	logs  []*delta.Log
	reads []*delta.Snapshot
	files [][]string         // by version
	apps  []map[string]int64 // by version
	names int
}

func (m *model) require(snap *delta.Snapshot) {
	want := m.files[snap.Version]
	require.Equal(m.t, want, paths(snap), "version %d", snap.Version)
	for id := range 3 {
		app := strconv.Itoa(id)
		version, ok := snap.App(app)
		wantVersion, wantOK := m.apps[snap.Version][app]
		require.Equal(m.t, wantOK, ok)
		require.Equal(m.t, wantVersion, version)
	}
}

func (m *model) step(w int) {
	l, ctx := m.logs[w], m.ctxT.Context()
	if rapid.Bool().Draw(m.t, "read") || m.reads[w] == nil {
		snap, err := l.Snapshot(ctx)
		require.NoError(m.t, err)
		m.require(snap)
		require.Len(m.t, m.files, int(snap.Version)+1, "a look for news sees them")
		m.reads[w] = snap
	}
	var tx delta.Transaction
	for range rapid.IntRange(0, 2).Draw(m.t, "adds") {
		m.names++
		tx.Add = append(tx.Add, file(fmt.Sprintf("%d/%s", m.names%3, strconv.Itoa(m.names)), 1))
	}
	if rapid.Bool().Draw(m.t, "removes") && len(m.reads[w].Files) > 0 {
		tx.Read = m.reads[w]
		tx.Remove = []delta.File{rapid.SampledFrom(tx.Read.Files).Draw(m.t, "removed")}
	}
	if rapid.Bool().Draw(m.t, "app") {
		tx.Apps = []delta.AppTransaction{{ID: strconv.Itoa(rapid.IntRange(0, 2).Draw(m.t, "id")), Version: rapid.Int64Range(0, 5).Draw(m.t, "to")}}
	}
	v, err := l.Commit(ctx, tx)
	m.settle(tx, v, err)
}

// settle applies to the model what must have happened.
func (m *model) settle(tx delta.Transaction, v int64, err error) {
	last := len(m.files) - 1
	apps := maps.Clone(m.apps[last])
	for _, app := range tx.Apps {
		if landed, ok := apps[app.ID]; ok && landed >= app.Version {
			require.Error(m.t, err)
			return // which of two reasons comes first is not said
		}
		apps[app.ID] = app.Version
	}
	files := slices.Clone(m.files[last])
	for _, f := range tx.Remove {
		i := slices.Index(files, f.Path)
		if i < 0 {
			require.Equal(m.t, feature.CodeConflict, feature.CodeOf(err))
			return
		}
		files = slices.Delete(files, i, i+1)
	}
	if feature.CodeOf(err) == feature.CodeConflict && len(tx.Apps) > 0 {
		return // somebody else moved the application from below the one that was read
	}
	require.NoError(m.t, err)
	require.EqualValues(m.t, last+1, v)
	for _, f := range tx.Add {
		files = append(files, f.Path)
	}
	m.files, m.apps = append(m.files, files), append(m.apps, apps)
}
