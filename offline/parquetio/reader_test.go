package parquetio

import (
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
)

func TestReadRowGroupTakesColumnsInTheOrderAsked(t *testing.T) {
	f := open(t, foreign(t, "plain"))
	for _, names := range [][]string{{"k"}, {"s", "b"}, {"l", "k", "l"}, {}} {
		rec, err := f.ReadRowGroup(t.Context(), 1, names)
		require.NoError(t, err)
		require.EqualValues(t, 15, rec.NumRows())
		require.EqualValues(t, len(names), rec.NumCols())
		for i, name := range names {
			require.Equal(t, name, rec.ColumnName(i))
			require.Equal(t, 15, rec.Column(i).Len())
		}
	}
	_, err := f.ReadRowGroup(t.Context(), 0, []string{"K"})
	require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	require.ErrorContains(t, err, `no column "K" (there are b, i, k, f, d, s, y, t, l)`)
}

func TestRecordsStopsAndChooses(t *testing.T) {
	f := open(t, foreign(t, "plain"))
	seen := 0
	for rec, err := range f.Records(t.Context(), ScanOptions{RowGroups: []int{2, 0}, Columns: []string{"k"}, BatchRows: 6}) {
		require.NoError(t, err)
		if seen == 0 {
			require.Equal(t, "[7 7 8 8 8 8]", rec.Column(0).String(), "the last group first")
		}
		if seen++; seen == 3 {
			break
		}
	}
	require.Equal(t, 3, seen)
	for _, err := range f.Records(t.Context(), ScanOptions{Columns: []string{"nope"}}) {
		require.Equal(t, feature.CodeNotFound, feature.CodeOf(err))
	}
}

// TestColumnsOfOneName reads a file whose column name occurs twice: by position
// both are there, by name neither.
func TestColumnsOfOneName(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "a", Type: arrow.PrimitiveTypes.Int64},
		{Name: "a", Type: arrow.PrimitiveTypes.Int64},
		{Name: "b", Type: arrow.PrimitiveTypes.Int64},
	}, nil)
	elements := []schemaElement{{name: "root", children: 3, converted: -1}}
	for _, f := range schema.Fields() {
		elements = append(elements, schemaElement{name: f.Name, typ: physicalInt64, isLeaf: true, converted: -1, children: -1})
	}
	columns, leaves, err := buildSchema(elements)
	require.NoError(t, err)
	f := &File{name: "twice", columns: columns, leaves: leaves, schema: schema, footer: &footer{}}
	nodes, all, err := f.choose(nil)
	require.NoError(t, err)
	require.Len(t, nodes, 3)
	require.Equal(t, 3, all.NumFields())
	_, _, err = f.choose([]string{"b"})
	require.NoError(t, err)
	_, _, err = f.choose([]string{"a"})
	require.ErrorContains(t, err, "two columns of this name")
}

func TestRowGroupBytes(t *testing.T) {
	data := foreign(t, "plain")
	f := open(t, data)
	all, sum := f.RowGroupBytes(0, nil), int64(0)
	for _, field := range f.Schema().Fields() {
		sum += f.RowGroupBytes(0, []string{field.Name})
	}
	require.Positive(t, all)
	require.Equal(t, all, sum)
	require.Less(t, f.RowGroupBytes(0, nil)+f.RowGroupBytes(1, nil)+f.RowGroupBytes(2, nil), int64(len(data)))
	require.Zero(t, f.RowGroupBytes(0, []string{"nope"}))
	require.Zero(t, f.RowGroupBytes(0, []string{}))
}

// TestSchemasThatLie builds trees from element lists that do not close.
func TestSchemasThatLie(t *testing.T) {
	group := func(children int32) schemaElement { return schemaElement{name: "g", children: children, converted: -1} }
	leaf := schemaElement{name: "x", typ: physicalInt32, isLeaf: true, converted: -1, children: -1}
	deep := []schemaElement{group(1)}
	for range 200 {
		deep = append(deep, group(1))
	}
	odd := leaf
	odd.repetition = 9
	for name, tt := range map[string]struct {
		elements []schemaElement
		says     string
	}{
		"nothing":             {nil, "no schema"},
		"a leaf as root":      {[]schemaElement{leaf}, "no schema"},
		"more fields":         {[]schemaElement{group(3), leaf}, "more than there are"},
		"fewer fields":        {[]schemaElement{group(1), leaf, leaf}, "belong to no group"},
		"a group of none":     {[]schemaElement{group(1), group(0)}, "has no fields"},
		"deep":                {append(deep, leaf), "nested more than 100 deep"},
		"unknown repetition":  {[]schemaElement{group(1), odd}, "unknown repetition 9"},
		"fields beyond count": {[]schemaElement{group(1 << 30), leaf}, "more than there are"},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := buildSchema(tt.elements)
			require.ErrorContains(t, err, tt.says)
		})
	}
}
