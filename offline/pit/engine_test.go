package pit_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/pit"
	"github.com/granary-ml/granary/offline/pit/pittest"
)

// engine answers scripts by the join alone: it does in plain code what package
// offline does in columns.
type engine struct {
	loads map[string][][]feature.Row // by view, in the order of writing
}

func (e *engine) Load(_ *testing.T, v *feature.BoundView, rows []feature.Row) error {
	e.loads[v.Name] = append(e.loads[v.Name], rows)
	return nil
}

// asked is a row of the spine that has a key and a time.
type asked struct {
	key feature.EntityKey
	at  int64
	row int
}

func (e *engine) Join(t *testing.T, j pittest.Join) (pittest.Answer, error) {
	t.Helper()
	out := pittest.Answer{Rows: make([][]feature.Value, len(j.Rows)), Notes: make([]string, len(j.Rows))}
	for _, f := range j.Selection.Features {
		out.Names = append(out.Names, f.Name(j.FullNames))
		answers := e.answers(t, f.View, j)
		for i := range j.Rows {
			a := answers[i]
			v := feature.Null(f.Type())
			if a.status == pit.Found {
				v = a.row.Values[f.Index]
			}
			out.Rows[i] = append(out.Rows[i], v)
			out.Notes[i] = a.note
		}
	}
	return out, nil
}

type answer struct {
	status pit.Status
	row    feature.Row
	note   string
}

// answers joins one view to the spine.
func (e *engine) answers(t *testing.T, v *feature.BoundView, j pittest.Join) []answer {
	t.Helper()
	rows := askedRows(t, v, j)
	var keys []feature.EntityKey
	var first []int32
	at := make([]int64, len(rows))
	for i, r := range rows {
		if i == 0 || r.key != rows[i-1].key {
			keys, first = append(keys, r.key), append(first, int32(i))
		}
		at[i] = r.at
	}
	spine, err := pit.MakeSpine(append(first, int32(len(rows))), at)
	require.NoError(t, err)
	join := pit.NewJoin(spine, pit.Rule{TTL: v.TTL, KnownAt: j.KnownAt})
	var history []feature.Row // by position
	for _, load := range e.loads[v.Name] {
		sorted := sortRows(load)
		b := block(sorted, keys, int64(len(history)))
		require.NoError(t, b.Check())
		join.Add(b)
		history = append(history, sorted...)
	}
	out := make([]answer, len(j.Rows))
	for i := range out {
		out[i].note = pit.NotFound.String()
	}
	for i, r := range rows {
		position, event, status := join.Row(i)
		a := answer{status: status, note: status.String()}
		if status == pit.Found {
			a.row = history[position]
			a.note = fmt.Sprintf("age=%s", feature.TTL(time.Duration(r.at-int64(event))*time.Microsecond))
		}
		out[r.row] = a
	}
	return out
}

func askedRows(t *testing.T, v *feature.BoundView, j pittest.Join) []asked {
	t.Helper()
	var out []asked
	for i, row := range j.Rows {
		values := make([]feature.Value, len(v.Keys))
		var at feature.Value
		for c, column := range j.Columns {
			if column.Name == pittest.TimeColumn {
				at = row[c]
			}
			for k := range v.Keys {
				if v.Keys[k].Name == column.Name {
					values[k] = row[c]
				}
			}
		}
		key, err := feature.MakeEntityKey(v.Keys, values)
		if err == nil && !at.IsNull() {
			out = append(out, asked{key: key, at: at.Int(), row: i})
		}
	}
	slices.SortStableFunc(out, func(a, b asked) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.at, b.at)) })
	return out
}

func sortRows(rows []feature.Row) []feature.Row {
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b feature.Row) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), a.Version().Compare(b.Version()))
	})
	return out
}

// block makes a block of sorted rows.
func block(rows []feature.Row, keys []feature.EntityKey, position int64) pit.Block {
	b := pit.Block{Position: position}
	for i, r := range rows {
		b.Event, b.Created = append(b.Event, int64(r.Event)), append(b.Created, int64(r.Created))
		k, known := slices.BinarySearch(keys, r.Key)
		if !known {
			continue
		}
		if n := len(b.Groups); n > 0 && b.Groups[n-1].Key == int32(k) {
			b.Groups[n-1].End++
		} else {
			b.Groups = append(b.Groups, pit.Group{Key: int32(k), Start: int32(i), End: int32(i) + 1})
		}
	}
	return b
}

func TestScripts(t *testing.T) {
	for _, folder := range []string{"testdata/engine", "testdata/status"} {
		pittest.Run(t, folder, func(*testing.T) pittest.Engine { return &engine{loads: map[string][][]feature.Row{}} })
	}
}
