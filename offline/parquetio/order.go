package parquetio

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
)

// orderChecker verifies that rows come in the order of some columns.
//
// Row by row and column by column within, each comparison would go through the
// column's type. It goes column by column instead: ties[i] says that row i and
// the row before it are equal in all columns so far, and only these are compared
// in the next. Most files tie rarely after the first column.
type orderChecker struct {
	columns []int
	names   []string
	last    []arrow.Array // one row: the last of the record before
	ties    []bool
}

func newOrderChecker(schema *arrow.Schema, names []string) (*orderChecker, error) {
	out := &orderChecker{names: names}
	for _, name := range names {
		at := schema.FieldIndices(name)
		if len(at) != 1 {
			return nil, feature.Errorf(feature.CodeInvalidArgument, "parquetio.NewWriter", "column "+name, "sorted by a column that the schema has %d times", len(at))
		}
		if comparer(schema.Field(at[0]).Type) == nil {
			return nil, feature.Errorf(feature.CodeInvalidArgument, "parquetio.NewWriter", "column "+name, "sorted by a column of type %s, which has no order here", schema.Field(at[0]).Type)
		}
		out.columns = append(out.columns, at[0])
	}
	return out, nil
}

// check verifies a record; before is the number of rows before it, for messages.
func (o *orderChecker) check(rec arrow.Record, before int64) error {
	n := int(rec.NumRows())
	if len(o.columns) == 0 || n == 0 {
		return nil
	}
	o.ties = o.ties[:0]
	for range n {
		o.ties = append(o.ties, true)
	}
	o.ties[0] = o.last != nil
	for c, at := range o.columns {
		compare := comparer(rec.Column(at).DataType())
		if o.ties[0] {
			sign := compare(o.last[c], 0, rec.Column(at), 0)
			if sign > 0 {
				return o.fault(c, before)
			}
			o.ties[0] = sign == 0
		}
		if bad := checkTies(rec.Column(at), compare, o.ties); bad > 0 {
			return o.fault(c, before+int64(bad))
		}
	}
	o.last = o.last[:0]
	for _, at := range o.columns {
		o.last = append(o.last, array.NewSlice(rec.Column(at), int64(n-1), int64(n)))
	}
	return nil
}

func (o *orderChecker) fault(column int, row int64) error {
	return feature.Errorf(feature.CodeInternal, "parquetio.Write", "column "+o.names[column],
		"row %d is out of the order (%s) that the file claims", row, strings.Join(o.names, ", "))
}

// checkTies compares each row that ties with the row before it, and returns the
// first that is smaller, or 0.
func checkTies(arr arrow.Array, compare compareFunc, ties []bool) int {
	if arr.NullN() == 0 {
		switch a := arr.(type) {
		case *array.Int64:
			return checkSlice(a.Int64Values(), ties)
		case *array.Timestamp:
			return checkSlice(a.TimestampValues(), ties)
		case *array.Int32:
			return checkSlice(a.Int32Values(), ties)
		}
	}
	for i := 1; i < len(ties); i++ {
		if !ties[i] {
			continue
		}
		sign := compare(arr, i-1, arr, i)
		if sign > 0 {
			return i
		}
		ties[i] = sign == 0
	}
	return 0
}

func checkSlice[T cmp.Ordered](values []T, ties []bool) int {
	for i := 1; i < len(ties); i++ {
		if !ties[i] {
			continue
		}
		if values[i] < values[i-1] {
			return i
		}
		ties[i] = values[i] == values[i-1]
	}
	return 0
}

// compareFunc compares row i of a with row j of b, nulls first.
type compareFunc func(a arrow.Array, i int, b arrow.Array, j int) int

// comparer returns the order of a type, that of feature.Value.Compare; nil if
// it has none.
func comparer(t arrow.DataType) compareFunc {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return nullsFirst(func(a, b *array.Boolean, i, j int) int {
			return boolRank(a.Value(i)) - boolRank(b.Value(j))
		})
	case *arrow.Int32Type:
		return nullsFirst(func(a, b *array.Int32, i, j int) int { return cmp.Compare(a.Value(i), b.Value(j)) })
	case *arrow.Int64Type:
		return nullsFirst(func(a, b *array.Int64, i, j int) int { return cmp.Compare(a.Value(i), b.Value(j)) })
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond {
			return nullsFirst(func(a, b *array.Timestamp, i, j int) int { return cmp.Compare(a.Value(i), b.Value(j)) })
		}
	case *arrow.StringType:
		return nullsFirst(func(a, b *array.String, i, j int) int { return strings.Compare(a.Value(i), b.Value(j)) })
	case *arrow.BinaryType:
		return nullsFirst(func(a, b *array.Binary, i, j int) int { return bytes.Compare(a.Value(i), b.Value(j)) })
	}
	return nil
}

func nullsFirst[A arrow.Array](compare func(a, b A, i, j int) int) compareFunc {
	return func(a arrow.Array, i int, b arrow.Array, j int) int {
		if a.IsNull(i) || b.IsNull(j) {
			return boolRank(a.IsValid(i)) - boolRank(b.IsValid(j))
		}
		x, ok := a.(A)
		y, same := b.(A)
		if !ok || !same {
			return strings.Compare(fmt.Sprintf("%T", a), fmt.Sprintf("%T", b))
		}
		return compare(x, y, i, j)
	}
}

func boolRank(b bool) int {
	if b {
		return 1
	}
	return 0
}
