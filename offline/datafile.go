package offline

import (
	"context"
	"iter"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/internal/rowkey"
	"github.com/granary-ml/granary/offline/parquetio"
	"github.com/granary-ml/granary/offline/pit"
)

// pieces is how many pieces of files fit into the memory of a read.
const pieces = 8

const absent = -1

// dataFile is an open file of a table. Its columns are asked for by their place
// in the table's schema, whatever the file calls or orders them.
type dataFile struct {
	tableFile
	table  *table
	pq     *parquetio.File
	column []int // by place in the table's schema, the place in the file's
	sorted bool  // by the columns of sortedBy, as its writer verified
}

// piece is neighbouring rows of a row group, in the order of sortedBy.
type piece struct {
	rec   arrow.Record
	first int64 // row of the group
}

// small tells whether columns of a row group are read as one piece.
func (f *dataFile) small(group int, cols []int) bool {
	return f.sorted && f.pieceRows(group, cols) >= f.pq.RowGroupRows(group)
}

// pieceRows returns how many rows of a group make a piece of the memory that
// there is for one. A file that must be sorted is always cut the same way,
// whatever the columns, because a place in the sorted piece is a position.
func (f *dataFile) pieceRows(group int, cols []int) int64 {
	if !f.sorted {
		cols = upTo(f.table.schema.NumFields())
	}
	rows := max(f.pq.RowGroupRows(group), 1)
	width := int64(1)
	for _, c := range cols {
		width += typeBytes(f.table.schema.Field(c).Type)
	}
	width = max(width, f.pq.RowGroupBytes(group, f.names(cols))/rows)
	return max(f.table.limit/width, 1)
}

// typeBytes is about what a value of a type takes in memory.
func typeBytes(dt arrow.DataType) int64 {
	const text, elems = 24, 8
	switch t := dt.(type) {
	case *arrow.FixedSizeListType:
		return int64(t.Len()) * typeBytes(t.Elem())
	case *arrow.ListType:
		return 4 + elems*typeBytes(t.Elem())
	case arrow.FixedWidthDataType:
		return int64(t.BitWidth()+7) / 8
	}
	return text
}

// names returns the file's columns among those asked for.
func (f *dataFile) names(cols []int) []string {
	out := make([]string, 0, len(cols))
	for _, c := range cols {
		if f.column[c] != absent {
			out = append(out, f.table.schema.Field(c).Name)
		}
	}
	return out
}

// read yields columns of a row group in pieces, in order.
func (f *dataFile) read(ctx context.Context, group int, cols []int) iter.Seq2[piece, error] {
	return func(yield func(piece, error) bool) {
		if f.small(group, cols) {
			yield(f.readSmall(ctx, group, cols))
			return
		}
		wanted := cols
		if !f.sorted {
			wanted = f.withOrder(cols)
		}
		options := parquetio.ScanOptions{
			RowGroups: []int{group}, Columns: f.names(wanted),
			BatchRows: int(min(f.pieceRows(group, wanted), parquetio.DefaultRowGroupRows)),
		}
		first := int64(0)
		for raw, err := range f.pq.Records(ctx, options) {
			if err != nil {
				yield(piece{}, err)
				return
			}
			p := piece{first: first}
			p.rec, err = f.conform(raw, wanted)
			first += raw.NumRows()
			raw.Release()
			if err == nil && !f.sorted {
				p.rec, err = f.sort(ctx, p.rec, cols)
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
}

// readSmall reads columns of a row group that is one piece.
func (f *dataFile) readSmall(ctx context.Context, group int, cols []int) (piece, error) {
	names := f.names(cols)
	if len(names) == 0 {
		rec, err := f.absentRecord(cols, f.pq.RowGroupRows(group))
		return piece{rec: rec}, err
	}
	raw, err := f.pq.ReadRowGroup(ctx, group, names)
	if err != nil {
		return piece{}, err
	}
	defer raw.Release()
	rec, err := f.conform(raw, cols)
	return piece{rec: rec}, err
}

func (f *dataFile) absentRecord(cols []int, rows int64) (arrow.Record, error) {
	empty := array.NewRecord(arrow.NewSchema(nil, nil), nil, rows)
	return f.conform(empty, cols)
}

// withOrder puts the columns of the order before those asked for.
func (f *dataFile) withOrder(cols []int) []int {
	out := f.table.orderColumns()
	for _, c := range cols {
		if c >= len(out) {
			out = append(out, c)
		}
	}
	return out
}

// conform gives a record of the file the columns asked for and the types of the
// table. What the file does not have is the partition's value, or null.
func (f *dataFile) conform(raw arrow.Record, cols []int) (arrow.Record, error) {
	fields := make([]arrow.Field, len(cols))
	arrays := make([]arrow.Array, len(cols))
	at := 0
	for i, c := range cols {
		fields[i] = f.table.schema.Field(c)
		if f.column[c] == absent {
			arr, err := f.absentColumn(fields[i], int(raw.NumRows()))
			if err != nil {
				return nil, err
			}
			arrays[i] = arr
			continue
		}
		arr, err := conform(raw.Column(at), fields[i].Type)
		at++
		if err == nil && !fields[i].Nullable && arr.NullN() > 0 {
			err = feature.Errorf(feature.CodeDataLoss, "", "", "a null where none can be")
		}
		if err != nil {
			return nil, f.fault(fields[i].Name, err)
		}
		arrays[i] = arr
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, raw.NumRows()), nil
}

func (f *dataFile) fault(column string, err error) error {
	return feature.Errorf(feature.CodeDataLoss, "offline.Read", "file "+f.table.prefix+"/"+f.Path+", column "+column, "%w", err)
}

// absentColumn returns rows of a column that is not in the file: of a partition
// column its value, of a feature that the file does not know yet null.
func (f *dataFile) absentColumn(field arrow.Field, rows int) (arrow.Array, error) {
	text, given := f.PartitionValues[field.Name]
	switch {
	case f.table.fixedAt[field.Name] && given:
		typ := f.table.typeOf(field.Name)
		v, err := feature.ParseText(typ, text)
		if err != nil {
			return nil, f.fault(field.Name, err)
		}
		b := array.NewBuilder(memory.DefaultAllocator, field.Type)
		defer b.Release()
		columns.Append(b, v)
		return gather.Take(field.Type, []arrow.Array{b.NewArray()}, make([]gather.Ref, rows))
	case !field.Nullable:
		return nil, f.fault(field.Name, feature.Errorf(feature.CodeDataLoss, "", "", "the file does not have it"))
	}
	return array.MakeArrayOfNull(memory.DefaultAllocator, field.Type, rows), nil
}

// typeOf returns the type of a column of the view's table.
func (t *table) typeOf(name string) feature.Type {
	for _, k := range t.view.Keys {
		if k.Name == name {
			return k.Type
		}
	}
	if i := t.view.Index(name); i >= 0 {
		return t.view.Features[i].Type
	}
	return feature.TimestampType
}

// sort sorts a piece of a file whose order is not recorded. rec has the columns
// of the order first; the result has the columns asked for.
func (f *dataFile) sort(ctx context.Context, rec arrow.Record, cols []int) (arrow.Record, error) {
	o, err := f.order(rec)
	if err != nil {
		return nil, err
	}
	rows := rowkey.Order(rowkey.Number([]rowkey.Columns{o.keys}).Numbers, o.event, o.created)
	refs := make([]gather.Ref, len(rows))
	for i, row := range rows {
		refs[i].Row = row
	}
	all := f.withOrder(cols)
	fields, arrays := make([]arrow.Field, len(cols)), make([]arrow.Array, len(cols))
	for i, c := range cols {
		for at, have := range all {
			if have == c {
				fields[i], arrays[i] = rec.Schema().Field(at), rec.Column(at)
			}
		}
	}
	schema := arrow.NewSchema(fields, nil)
	return gather.Record(ctx, schema, []arrow.Record{array.NewRecord(schema, arrays, rec.NumRows())}, refs)
}

// ordered is the columns of the order, ready to compare.
type ordered struct {
	keys           rowkey.Columns
	event, created []int64
}

// order takes the columns of the order, the first ones of a record.
func (f *dataFile) order(rec arrow.Record) (ordered, error) {
	var out ordered
	keys := f.table.view.Keys
	cols, err := rowkey.MakeColumns(keys, rec.Columns()[:len(keys)], int(rec.NumRows()))
	if err != nil {
		return out, f.fault("of the key", err)
	}
	out.keys = cols
	var ok [2]bool
	out.event, ok[0] = rowkey.Int64s(rec.Column(len(keys)))
	out.created, ok[1] = rowkey.Int64s(rec.Column(len(keys) + 1))
	if !ok[0] || !ok[1] {
		return out, f.fault("of the time", feature.Errorf(feature.CodeInternal, "", "", "not a timestamp"))
	}
	return out, nil
}

// block finds the rows of wanted keys in a piece that has the columns of the
// order, and verifies the order: a file that lies would give wrong answers.
func (f *dataFile) block(p piece, wanted *rowkey.Keys) (pit.Block, error) {
	o, err := f.order(p.rec)
	if err != nil {
		return pit.Block{}, err
	}
	grouped := o.keys.Group()
	b := pit.Block{Groups: grouped.Match(wanted, o.keys.Len()), Event: o.event, Created: o.created, Position: p.first}
	if !grouped.Sorted() {
		return b, f.fault("of the key", feature.Errorf(feature.CodeDataLoss, "", "", "the rows are not in the order that the file records"))
	}
	if err := b.Check(); err != nil {
		return b, f.fault(f.table.view.EventColumn(), err)
	}
	return b, nil
}
