package ingest

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// coercer turns a foreign column into one of the type that a view declares. The
// rules are those for text: nothing that the values and their type say is lost.
// What fits by its type as a whole is taken as it is, without a copy.
type coercer struct {
	typ feature.Type
	// bad is told the rows whose value the type does not take; it is null then.
	bad func(row int, reason string)
}

var (
	errRange    = errors.New("out of range")
	errIntegral = errors.New("not a whole number")
	errInexact  = errors.New("an integer that the float type cannot hold exactly")
)

// coerce returns arr as an array of columns.DataType(c.typ). Its error tells
// that no value of the type of arr is a value of c.typ.
func (c *coercer) coerce(arr arrow.Array) (arrow.Array, error) {
	if d, ok := arr.(*array.Dictionary); ok {
		return c.dictionary(d)
	}
	if e, ok := arr.(array.ExtensionArray); ok {
		return c.coerce(e.Storage())
	}
	switch {
	case arr.DataType().ID() == arrow.NULL:
		return array.MakeArrayOfNull(memory.DefaultAllocator, columns.DataType(c.typ), arr.Len()), nil
	case !c.typ.IsScalar():
		return c.list(arr)
	}
	switch c.typ.Kind {
	case feature.KindBool:
		if _, ok := arr.(*array.Boolean); ok {
			return arr, nil
		}
	case feature.KindInt32:
		return c.int32s(arr)
	case feature.KindInt64:
		return c.int64s(arr)
	case feature.KindFloat32:
		return c.float32s(arr)
	case feature.KindFloat64:
		return c.float64s(arr)
	case feature.KindString:
		return c.strings(arr)
	case feature.KindBytes:
		return c.binaries(arr)
	case feature.KindTimestamp:
		return c.timestamps(arr)
	case feature.KindInvalid:
	}
	return nil, c.mismatch(arr)
}

func (c *coercer) mismatch(arr arrow.Array) error {
	return fmt.Errorf("a column of type %s where %s is expected", arr.DataType(), c.typ)
}

// errNull is what a value is that is null where it is looked up.
var errNull = errors.New("null")

// dictionary coerces the values of a dictionary, and then gives each row its
// own.
func (c *coercer) dictionary(d *array.Dictionary) (arrow.Array, error) {
	reasons := map[int]string{}
	inner := coercer{typ: c.typ, bad: func(at int, reason string) { reasons[at] = reason }}
	values, err := inner.coerce(d.Dictionary())
	if err != nil {
		return nil, err
	}
	// at returns where the value of row i is, or why it is none.
	at := func(i int) (int, error) {
		k := d.GetValueIndex(i)
		if reason, ok := reasons[k]; ok {
			return k, errors.New(reason)
		}
		if values.IsNull(k) {
			return k, errNull
		}
		return k, nil
	}
	switch v := values.(type) {
	case *array.String:
		return c.copyBytes(d, lookup(at, func(k int) []byte { return []byte(v.Value(k)) })), nil
	case *array.Binary:
		return c.copyBytes(d, lookup(at, v.Value)), nil
	case *array.Int32:
		return convert(c, d, lookup(at, v.Value)), nil
	case *array.Int64:
		return convert(c, d, lookup(at, v.Value)), nil
	case *array.Float32:
		return convert(c, d, lookup(at, v.Value)), nil
	case *array.Float64:
		return convert(c, d, lookup(at, v.Value)), nil
	case *array.Timestamp:
		return convert(c, d, lookup(at, v.Value)), nil
	}
	return nil, fmt.Errorf("a dictionary of %s is not read", c.typ)
}

func lookup[T any](at func(i int) (int, error), get func(k int) T) func(i int) (T, error) {
	return func(i int) (out T, err error) {
		k, err := at(i)
		if err != nil {
			return out, err
		}
		return get(k), nil
	}
}

// number is a reader of one kind of number, in the forms that the targets take.
type numberArray struct {
	int   func(i int) (int64, error)
	float func(i, bits int) (float64, error)
}

// numbersOf returns how the numbers of an array are read; false if it has none.
func numbersOf(arr arrow.Array) (numberArray, bool) {
	switch a := arr.(type) {
	case *array.Int8:
		return signed(func(i int) int64 { return int64(a.Value(i)) }), true
	case *array.Int16:
		return signed(func(i int) int64 { return int64(a.Value(i)) }), true
	case *array.Int32:
		return signed(func(i int) int64 { return int64(a.Value(i)) }), true
	case *array.Int64:
		return signed(a.Value), true
	case *array.Uint8:
		return signed(func(i int) int64 { return int64(a.Value(i)) }), true
	case *array.Uint16:
		return signed(func(i int) int64 { return int64(a.Value(i)) }), true
	case *array.Uint32:
		return signed(func(i int) int64 { return int64(a.Value(i)) }), true
	case *array.Uint64:
		return byText(func(i int) string { return strconv.FormatUint(a.Value(i), 10) }), true
	case *array.Float16:
		return floating(func(i int) float64 { return float64(a.Value(i).Float32()) }), true
	case *array.Float32:
		return floating(func(i int) float64 { return float64(a.Value(i)) }), true
	case *array.Float64:
		return floating(a.Value), true
	case *array.Decimal128:
		if t, ok := a.DataType().(arrow.DecimalType); ok {
			return byText(func(i int) string { return decimalText(a.Value(i).ToString(t.GetScale()), t) }), true
		}
	case *array.Decimal256:
		if t, ok := a.DataType().(arrow.DecimalType); ok {
			return byText(func(i int) string { return decimalText(a.Value(i).ToString(t.GetScale()), t) }), true
		}
	}
	return numberArray{}, false
}

// decimalText makes the text of a decimal one that the rules take for rounded,
// as all decimals are: with a point.
func decimalText(text string, t arrow.DecimalType) string {
	if t.GetScale() <= 0 {
		return text + ".0"
	}
	return text
}

func signed(get func(i int) int64) numberArray {
	return numberArray{
		int: func(i int) (int64, error) { return get(i), nil },
		float: func(i, bits int) (float64, error) {
			v := get(i)
			if !feature.IntFitsFloat(v, bits) {
				return 0, fmt.Errorf("%d: %w", v, errInexact)
			}
			return float64(v), nil
		},
	}
}

func floating(get func(i int) float64) numberArray {
	return numberArray{
		int: func(i int) (int64, error) {
			f := get(i)
			switch {
			case math.Trunc(f) != f: // NaN, too
				return 0, fmt.Errorf("%v: %w", f, errIntegral)
			case f < math.MinInt64 || f >= -math.MinInt64:
				return 0, fmt.Errorf("%v: %w", f, errRange)
			}
			return int64(f), nil
		},
		float: func(i, bits int) (float64, error) {
			f := get(i)
			if bits == 32 && math.IsInf(float64(float32(f)), 0) && !math.IsInf(f, 0) {
				return 0, fmt.Errorf("%v: %w (expected float32)", f, errRange)
			}
			return f, nil
		},
	}
}

func byText(get func(i int) string) numberArray {
	return numberArray{
		int:   func(i int) (int64, error) { return feature.ParseInt(get(i), 64) },
		float: func(i, bits int) (float64, error) { return feature.ParseFloat(get(i), bits) },
	}
}

func (c *coercer) int64s(arr arrow.Array) (arrow.Array, error) {
	if _, ok := arr.(*array.Int64); ok {
		return arr, nil
	}
	from, ok := numbersOf(arr)
	if !ok {
		return nil, c.mismatch(arr)
	}
	return convert(c, arr, from.int), nil
}

func (c *coercer) int32s(arr arrow.Array) (arrow.Array, error) {
	if _, ok := arr.(*array.Int32); ok {
		return arr, nil
	}
	from, ok := numbersOf(arr)
	if !ok {
		return nil, c.mismatch(arr)
	}
	return convert(c, arr, func(i int) (int32, error) {
		v, err := from.int(i)
		if err == nil && (v < math.MinInt32 || v > math.MaxInt32) {
			return 0, fmt.Errorf("%d: %w (expected int32)", v, errRange)
		}
		return int32(v), err //nolint:gosec // checked above
	}), nil
}

func (c *coercer) float64s(arr arrow.Array) (arrow.Array, error) {
	if _, ok := arr.(*array.Float64); ok {
		return arr, nil
	}
	from, ok := numbersOf(arr)
	if !ok {
		return nil, c.mismatch(arr)
	}
	return convert(c, arr, func(i int) (float64, error) { return from.float(i, 64) }), nil
}

func (c *coercer) float32s(arr arrow.Array) (arrow.Array, error) {
	if _, ok := arr.(*array.Float32); ok {
		return arr, nil
	}
	from, ok := numbersOf(arr)
	if !ok {
		return nil, c.mismatch(arr)
	}
	return convert(c, arr, func(i int) (float32, error) {
		v, err := from.float(i, 32)
		return float32(v), err
	}), nil
}

// convert makes an array of the values that get returns.
func convert[T arrow.FixedWidthType](c *coercer, arr arrow.Array, get func(i int) (T, error)) arrow.Array {
	values := make([]T, arr.Len())
	var valid validity
	for i := range values {
		if arr.IsNull(i) {
			valid.clear(i, len(values))
			continue
		}
		v, err := get(i)
		if err != nil {
			c.refuse(i, err)
			valid.clear(i, len(values))
			continue
		}
		values[i] = v
	}
	return fixedArray(columns.DataType(c.typ), values, &valid)
}

// refuse tells why a row has no value, unless it is null.
func (c *coercer) refuse(row int, err error) {
	if err != errNull { //nolint:errorlint // never wrapped
		c.bad(row, err.Error())
	}
}

// micros returns how timestamps of a unit are made microseconds: floored, so
// that no row is moved forward.
func micros(unit arrow.TimeUnit) func(v int64) (feature.Timestamp, bool) {
	times := func(factor int64) func(v int64) (feature.Timestamp, bool) {
		return func(v int64) (feature.Timestamp, bool) {
			us := feature.Timestamp(v * factor)
			return us, int64(us)/factor == v
		}
	}
	switch unit {
	case arrow.Second:
		return times(1e6)
	case arrow.Millisecond:
		return times(1e3)
	case arrow.Nanosecond:
		return func(v int64) (feature.Timestamp, bool) { return feature.FromNanos(v), true }
	case arrow.Microsecond:
	}
	return times(1)
}

var errTimestampRange = errors.New("timestamp outside 0001-01-01 to 9999-12-31T23:59:59.999999Z")

func (c *coercer) timestamps(arr arrow.Array) (arrow.Array, error) {
	const day = 24 * 3600
	switch a := arr.(type) {
	case *array.Timestamp:
		unit := arrow.Microsecond
		if t, ok := a.DataType().(*arrow.TimestampType); ok {
			unit = t.Unit
		}
		return c.instants(arr, unit, func(i int) int64 { return int64(a.Value(i)) }), nil
	case *array.Date32:
		return c.instants(arr, arrow.Second, func(i int) int64 { return int64(a.Value(i)) * day }), nil
	case *array.Date64:
		return c.instants(arr, arrow.Millisecond, func(i int) int64 { return int64(a.Value(i)) }), nil
	}
	text, ok := textOf(arr)
	if !ok {
		return nil, c.mismatch(arr)
	}
	return convert(c, arr, func(i int) (arrow.Timestamp, error) {
		if t, ok := fastTimestamp(text(i)); ok {
			return arrow.Timestamp(t), nil
		}
		t, err := feature.ParseTimestamp(string(text(i)))
		return arrow.Timestamp(t), err
	}), nil
}

func (c *coercer) instants(arr arrow.Array, unit arrow.TimeUnit, get func(i int) int64) arrow.Array {
	us := micros(unit)
	return convert(c, arr, func(i int) (arrow.Timestamp, error) {
		t, ok := us(get(i))
		if !ok || !t.Valid() {
			return 0, errTimestampRange
		}
		return arrow.Timestamp(t), nil
	})
}

// textOf returns how the text of an array is read; false if it is no text.
func textOf(arr arrow.Array) (func(i int) []byte, bool) {
	switch a := arr.(type) {
	case *array.String:
		return func(i int) []byte { return []byte(a.Value(i)) }, true
	case *array.LargeString:
		return func(i int) []byte { return []byte(a.Value(i)) }, true
	case *array.StringView:
		return func(i int) []byte { return []byte(a.Value(i)) }, true
	}
	return nil, false
}

// bytesOf is textOf for bytes, which text in old Parquet files is, too.
func bytesOf(arr arrow.Array) (func(i int) []byte, bool) {
	switch a := arr.(type) {
	case *array.Binary:
		return a.Value, true
	case *array.LargeBinary:
		return a.Value, true
	case *array.BinaryView:
		return a.Value, true
	case *array.FixedSizeBinary:
		return a.Value, true
	}
	return nil, false
}

func (c *coercer) strings(arr arrow.Array) (arrow.Array, error) {
	if a, ok := arr.(*array.String); ok && wholeUTF8(a) {
		return arr, nil
	}
	get, ok := textOf(arr)
	if !ok {
		if get, ok = bytesOf(arr); !ok {
			return nil, c.mismatch(arr)
		}
	}
	return c.copyBytes(arr, func(i int) ([]byte, error) {
		if v := get(i); utf8.Valid(v) {
			return v, nil
		}
		return nil, errUTF8
	}), nil
}

// wholeUTF8 tells whether the text of all values is UTF-8 at one look: the
// bytes as a whole are, and no value begins within a character.
func wholeUTF8(a *array.String) bool {
	data := a.ValueBytes()
	if !utf8.Valid(data) {
		return false
	}
	for i := range a.Len() {
		if at := a.ValueOffset(i) - a.ValueOffset(0); at < len(data) && !utf8.RuneStart(data[at]) {
			return false
		}
	}
	return true
}

func (c *coercer) binaries(arr arrow.Array) (arrow.Array, error) {
	if _, ok := arr.(*array.Binary); ok {
		return arr, nil
	}
	get, ok := bytesOf(arr)
	if !ok {
		return nil, c.mismatch(arr)
	}
	return c.copyBytes(arr, func(i int) ([]byte, error) { return get(i), nil }), nil
}

var errTooMuchText = errors.New("more than 2 GiB of text in one batch")

// copyBytes makes an array of text or bytes of what get returns.
func (c *coercer) copyBytes(arr arrow.Array, get func(i int) ([]byte, error)) arrow.Array {
	var data []byte
	var valid validity
	offsets := make([]int32, arr.Len()+1)
	for i := range arr.Len() {
		if arr.IsNull(i) {
			valid.clear(i, arr.Len())
		} else {
			v, err := get(i)
			if err == nil && len(data)+len(v) > math.MaxInt32 {
				err = errTooMuchText
			}
			if err != nil {
				c.refuse(i, err)
				valid.clear(i, arr.Len())
			} else {
				data = append(data, v...)
			}
		}
		offsets[i+1] = int32(len(data)) //nolint:gosec // checked above
	}
	return newArray(columns.DataType(c.typ), arr.Len(), &valid, arrow.GetBytes(offsets), data)
}

// list coerces the elements as a column of their own; an element that cannot be
// taken is a fault of the row that it is in.
func (c *coercer) list(arr arrow.Array) (arrow.Array, error) {
	from, ok := arr.(array.ListLike)
	if !ok {
		return nil, c.mismatch(arr)
	}
	badElement := map[int]string{}
	inner := coercer{typ: c.typ.Elem(), bad: func(i int, reason string) { badElement[i] = reason }}
	elems, err := inner.coerce(from.ListValues())
	if err != nil {
		return nil, fmt.Errorf("elements: %w", err)
	}
	rows := make([]listRow, arr.Len())
	for i := range rows {
		if arr.IsNull(i) {
			rows[i].null = true
			continue
		}
		start, end := from.ValueOffsets(i)
		rows[i] = listRow{start: int(start), end: int(end)}
		if reason := c.listFault(elems, rows[i], badElement); reason != "" {
			c.bad(i, reason)
			rows[i].null = true
		}
	}
	return c.build(elems, rows)
}

// listRow is where the elements of one row lie.
type listRow struct {
	start, end int
	null       bool
}

func (c *coercer) listFault(elems arrow.Array, row listRow, badElement map[int]string) string {
	if c.typ.IsVector() && row.end-row.start != int(c.typ.Dim) {
		return fmt.Sprintf("%d elements where %s is expected", row.end-row.start, c.typ)
	}
	if len(badElement) == 0 && elems.NullN() == 0 {
		return ""
	}
	for i := row.start; i < row.end; i++ {
		if reason, ok := badElement[i]; ok {
			return fmt.Sprintf("element %d: %s", i-row.start, reason)
		}
		if c.typ.IsVector() && elems.IsNull(i) {
			return fmt.Sprintf("element %d is null, and the elements of %s are not", i-row.start, c.typ)
		}
	}
	return ""
}

// build makes the list or vector array of rows over elems.
func (c *coercer) build(elems arrow.Array, rows []listRow) (arrow.Array, error) {
	var valid validity
	var runs []arrow.Array
	offsets := make([]int32, len(rows)+1)
	total := 0
	run := listRow{}
	flush := func() {
		if run.end > run.start {
			runs = append(runs, array.NewSlice(elems, int64(run.start), int64(run.end)))
		}
	}
	blank := array.MakeArrayOfNull(memory.DefaultAllocator, elems.DataType(), int(c.typ.Dim))
	for i, row := range rows {
		switch {
		case row.null:
			valid.clear(i, len(rows))
			if c.typ.IsVector() { // a null vector has its place
				flush()
				run = listRow{}
				runs = append(runs, blank)
				total += int(c.typ.Dim)
			}
		case row.start == run.end:
			run.end = row.end
			total += row.end - row.start
		default:
			flush()
			run = row
			total += row.end - row.start
		}
		if total > math.MaxInt32 {
			return nil, errors.New("more than 2 Gi elements in one batch")
		}
		offsets[i+1] = int32(total)
	}
	flush()
	values := array.NewSlice(elems, 0, 0)
	if len(runs) > 0 {
		var err error
		if values, err = array.Concatenate(runs, memory.DefaultAllocator); err != nil {
			return nil, err
		}
	}
	return c.wrap(values, len(rows), offsets, &valid), nil
}

func (c *coercer) wrap(values arrow.Array, n int, offsets []int32, valid *validity) arrow.Array {
	buffers := make([]*memory.Buffer, 1, 2)
	if valid.nulls > 0 {
		buffers[0] = memory.NewBufferBytes(valid.bits)
	}
	if !c.typ.IsVector() {
		buffers = append(buffers, memory.NewBufferBytes(arrow.GetBytes(offsets)))
	}
	data := array.NewData(columns.DataType(c.typ), n, buffers, []arrow.ArrayData{values.Data()}, valid.nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}
