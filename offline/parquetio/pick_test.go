package parquetio

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
)

// pickColumn picks rows of a column into slots from the first on.
func pickColumn(tb testing.TB, f *File, group int, column string, rows []int32) (arrow.Array, error) {
	tb.Helper()
	node, err := f.column(column)
	require.NoError(tb, err)
	picks := make([]Pick, len(rows))
	for i, row := range rows {
		picks[i] = Pick{Row: row, Slot: int32(i)}
	}
	values := make([]byte, len(rows)*node.leaf.width())
	nulls, err := f.PickRows(tb.Context(), group, []string{column}, picks, [][]byte{values})
	if err != nil {
		return nil, err
	}
	valid := make([]byte, bitutil.BytesForBits(int64(len(rows))))
	bitutil.SetBitsTo(valid, 0, int64(len(rows)), true)
	for _, slot := range nulls[0] {
		bitutil.ClearBit(valid, int(slot))
	}
	data := array.NewData(node.typ, len(rows), []*memory.Buffer{memory.NewBufferBytes(valid), memory.NewBufferBytes(values)}, nil, len(nulls[0]), 0)
	return array.MakeFromData(data), nil
}

// tryPicks picks from a damaged row group.
func tryPicks(tb testing.TB, f *File, group int) {
	tb.Helper()
	for _, field := range f.Schema().Fields() {
		if !f.Pickable(field.Name) {
			continue
		}
		if _, err := pickColumn(tb, f, group, field.Name, []int32{0, 0, 5, 1 << 30}); err != nil {
			requireFault(tb, err)
		}
	}
}

// requirePicks holds that picked values are those of a row group that was read,
// whichever rows are picked.
func requirePicks(tb testing.TB, f *File, group int, rec arrow.Record) {
	tb.Helper()
	r := rand.New(rand.NewPCG(1, uint64(rec.NumRows())))
	var rows []int32
	for row := range int32(rec.NumRows()) {
		for range r.IntN(8) / 6 * (1 + r.IntN(2)) {
			rows = append(rows, row)
		}
	}
	all := make([]int32, rec.NumRows())
	for i := range all {
		all[i] = int32(i)
	}
	for i, field := range rec.Schema().Fields() {
		if !f.Pickable(field.Name) {
			continue
		}
		for _, rows := range [][]int32{rows, all, nil} {
			got, err := pickColumn(tb, f, group, field.Name, rows)
			require.NoError(tb, err, field.Name)
			for k, row := range rows {
				require.Equal(tb, rec.Column(i).ValueStr(int(row)), got.ValueStr(k), "%s, row %d", field.Name, row)
			}
		}
	}
}

func TestPickRows(t *testing.T) {
	for name, o := range map[string]WriterOptions{
		"snappy": {Codec: Snappy}, "zstd": {}, "plain": {Codec: Uncompressed}, "groups": {RowGroupRows: 700},
	} {
		t.Run(name, func(t *testing.T) {
			rec := randomRecord(7, 40_000)
			data, _ := write(t, rec.Schema(), o, rec)
			f := open(t, data)
			picked := 0
			for _, field := range f.Schema().Fields() {
				if f.Pickable(field.Name) {
					picked++
				}
			}
			require.GreaterOrEqual(t, picked, 5)
			for g := range min(f.RowGroups(), 3) {
				rec, err := f.ReadRowGroup(t.Context(), g, nil)
				require.NoError(t, err)
				requirePicks(t, f, g, rec)
			}
		})
	}
}

func TestPickRowsRefuses(t *testing.T) {
	rec := randomRecord(7, 100)
	data, _ := write(t, rec.Schema(), WriterOptions{}, rec)
	f := open(t, data)
	at := slices.IndexFunc(f.Schema().Fields(), func(field arrow.Field) bool { return f.Pickable(field.Name) })
	name := f.Schema().Field(at).Name
	_, err := pickColumn(t, f, 0, name, []int32{1, 100})
	require.ErrorContains(t, err, "row 100 is asked for, and it has 100")
	_, err = f.PickRows(t.Context(), 0, []string{name, name}, nil, make([][]byte, 2))
	require.ErrorContains(t, err, "a column is asked for twice")
	require.False(t, f.Pickable("no such column"))
}
