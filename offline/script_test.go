package offline_test

import (
	"testing"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/pit/pittest"
)

// tables answers scripts by real tables in a bucket.
type tables struct{ store *offline.Store }

func (e *tables) Load(t *testing.T, v *feature.BoundView, rows []feature.Row) error {
	t.Helper()
	_, err := tryLoad(t, e.store, v, rows, offline.AppendOptions{})
	return err
}

func (e *tables) Join(t *testing.T, j pittest.Join) (pittest.Answer, error) {
	t.Helper()
	reader, err := e.store.Historical(t.Context(), offline.HistoricalRequest{
		Spine: spineOf(t, j.Columns, j.Rows, 3), TimeColumn: pittest.TimeColumn,
		Selection: j.Selection, FullNames: j.FullNames, KnownAt: j.KnownAt,
	})
	if err != nil {
		return pittest.Answer{}, err
	}
	var out pittest.Answer
	types := make([]feature.Type, 0, len(j.Columns)+len(j.Selection.Features))
	for _, c := range j.Columns {
		types = append(types, c.Type)
	}
	for i, f := range j.Selection.Features {
		types = append(types, f.Type())
		out.Names = append(out.Names, reader.Schema().Field(len(j.Columns)+i).Name)
	}
	rows, err := tryDrain(t, reader, types)
	for _, row := range rows {
		out.Rows = append(out.Rows, row[len(j.Columns):])
	}
	return out, err
}

// TestScripts holds tables to the scripts of the join, and to some about names,
// under stores that read in one piece and in many.
func TestScripts(t *testing.T) {
	for name, o := range map[string]offline.Options{
		"defaults":                  {},
		"little memory":             {MemoryLimit: 1 << 10},
		"tiny row groups and files": {RowGroupRows: 1, FileRows: 2},
	} {
		open := func(t *testing.T) pittest.Engine {
			t.Helper()
			return &tables{store: openStore(t, memBucket(t), o)}
		}
		t.Run(name, func(t *testing.T) {
			pittest.Run(t, "pit/testdata/engine", open)
			pittest.Run(t, "testdata/historical", open)
		})
	}
}
