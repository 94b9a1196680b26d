package offline

import (
	"fmt"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/internal/rowkey"
	"github.com/granary-ml/granary/offline/pit"
)

// spineChunks cuts a spine into chunks that fit into a budget. Nothing is
// copied: a large record is cut into slices.
type spineChunks struct {
	reader   array.RecordReader
	budget   int64
	rowBytes int64        // that a row needs beside itself
	rest     arrow.Record // of the record that did not fit
}

// next returns the records of the next chunk, none at the end.
func (s *spineChunks) next() ([]arrow.Record, error) {
	var out []arrow.Record
	left := s.budget
	rows := int64(0)
	for {
		if s.rest == nil {
			if !s.reader.Next() {
				return out, s.reader.Err()
			}
			s.rest = s.reader.Record()
			s.rest.Retain()
		}
		n := s.rest.NumRows()
		if n == 0 {
			s.release()
			continue
		}
		perRow := s.rowBytes + gather.Bytes(s.rest)/n
		fits := min(left/perRow, math.MaxInt32-rows)
		if fits == 0 && len(out) > 0 {
			return out, nil
		}
		fits = min(max(fits, 1), n)
		out = append(out, s.rest.NewSlice(0, fits))
		rows += fits
		left -= fits * perRow
		if fits == n {
			s.release()
			continue
		}
		rest := s.rest.NewSlice(fits, n)
		s.release()
		s.rest = rest
	}
}

func (s *spineChunks) release() {
	if s.rest != nil {
		s.rest.Release()
		s.rest = nil
	}
}

// keySpine is a chunk of the spine as package pit takes it, for one set of join
// keys.
type keySpine struct {
	keys  rowkey.Keys // distinct, sorted: the index is the ordinal
	spine pit.Spine
	rows  []int32 // by row of the pit spine, the row of the chunk
	// first and last are the least and the greatest time.
	first, last int64
}

// makeKeySpine sorts the rows of a chunk that have a key and a time.
func (h *historical) makeKeySpine(records []arrow.Record, set keySet) (*keySpine, error) {
	var (
		cols []rowkey.Columns
		base int32
	)
	total := 0
	for _, rec := range records {
		total += int(rec.NumRows())
	}
	at, rows := make([]int64, 0, total), make([]int32, 0, total)
	for _, rec := range records {
		arrays, err := castKeys(rec, set)
		if err != nil {
			return nil, err
		}
		c, err := rowkey.MakeColumns(set.keys, arrays, int(rec.NumRows()))
		if err != nil {
			return nil, feature.Errorf(feature.CodeInternal, "offline.Historical", "", "%w", err)
		}
		cols = append(cols, c)
		rows, at, err = h.appendRows(rec, arrays, base, rows, at)
		if err != nil {
			return nil, err
		}
		base += int32(rec.NumRows()) //nolint:gosec // a chunk has fewer rows
	}
	numbering := rowkey.Number(cols)
	numbers := numbering.Numbers
	if len(rows) < len(numbers) {
		numbers = make([]uint64, len(rows))
		for i, row := range rows {
			numbers[i] = numbering.Numbers[row]
		}
	}
	order := rowkey.Order(numbers, at, nil)
	return sortedSpine(numbering, numbers, at, rows, order)
}

// sortedSpine lays the rows out in order and gives the keys their ordinals.
func sortedSpine(numbering rowkey.Numbering, numbers []uint64, at []int64, rows, order []int32) (*keySpine, error) {
	out := &keySpine{rows: make([]int32, len(order)), first: math.MaxInt64, last: math.MinInt64}
	times := make([]int64, len(order))
	var begins []int32
	for i, from := range order {
		if i == 0 || numbers[from] != numbers[order[i-1]] {
			begins = append(begins, int32(i))
			numbering.AppendKey(&out.keys, numbers[from])
		}
		t := at[from]
		out.rows[i], times[i] = rows[from], t
		out.first, out.last = min(out.first, t), max(out.last, t)
	}
	begins = append(begins, int32(len(order))) //nolint:gosec // rows of a chunk
	spine, err := pit.MakeSpine(begins, times)
	if err != nil {
		return nil, feature.Errorf(feature.CodeInternal, "offline.Historical", "", "%w", err)
	}
	out.spine = spine
	return out, nil
}

// appendRows appends the rows of a record that have a key and a time, counted
// from base, and their times.
func (h *historical) appendRows(rec arrow.Record, keys []arrow.Array, base int32, rows []int32, at []int64) ([]int32, []int64, error) {
	times := rec.Column(h.time)
	if times.DataType().ID() == arrow.NULL {
		return rows, at, nil
	}
	if micros, ok := rowkey.Int64s(times); ok && allValid(micros) && !someNull(times, keys) {
		for i := range micros {
			rows = append(rows, base+int32(i))
		}
		return rows, append(at, micros...), nil
	}
	instant, err := instants(times)
	if err != nil {
		return nil, nil, h.rowFault(h.time, 0, err)
	}
	for i := range int(rec.NumRows()) {
		if isNull(times, i) || anyNull(keys, i) {
			continue
		}
		t, err := instant(i)
		if err != nil {
			return nil, nil, h.rowFault(h.time, int(base)+i, err)
		}
		rows, at = append(rows, base+int32(i)), append(at, int64(t))
	}
	return rows, at, nil
}

// allValid tells whether all are times, as those of a column mostly are.
func allValid(micros []int64) bool {
	least, greatest := int64(0), int64(0)
	for _, t := range micros {
		least, greatest = min(least, t), max(greatest, t)
	}
	return feature.Timestamp(least).Valid() && feature.Timestamp(greatest).Valid()
}

func someNull(times arrow.Array, keys []arrow.Array) bool {
	for _, k := range keys {
		if k.NullN() > 0 {
			return true
		}
	}
	return times.NullN() > 0
}

func anyNull(arrays []arrow.Array, i int) bool {
	for _, a := range arrays {
		if a.IsNull(i) {
			return true
		}
	}
	return false
}

func (h *historical) rowFault(column, row int, err error) error {
	return feature.Invalid("offline.Historical", "", []feature.Fault{{
		Field: fmt.Sprintf("spine.%s[%d]", h.spine.Field(column).Name, row), Detail: err.Error(),
	}})
}

// castKeys gives the key columns of a record the types of the join keys. What
// such a key cannot be, a number that is too large, becomes null: it matches
// nothing.
func castKeys(rec arrow.Record, set keySet) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(set.keys))
	for i, k := range set.keys {
		arr := rec.Column(set.columns[i])
		cast, err := castKey(arr, k.Type)
		if err != nil {
			return nil, feature.Invalid("offline.Historical", "", []feature.Fault{{Field: "spine." + k.Name, Detail: err.Error()}})
		}
		out[i] = cast
	}
	return out, nil
}

// checkKey tells whether a column of the spine can be a join key.
func checkKey(dt arrow.DataType, t feature.Type) error {
	arr, err := emptyOf(dt)
	if err == nil {
		_, err = castKey(arr, t)
	}
	if err != nil {
		return fmt.Errorf("%s where %s is expected", dt, t)
	}
	return nil
}

// emptyOf returns an array without rows of a type that a key or a time may have
// in a spine, to try the type; others are an error.
func emptyOf(dt arrow.DataType) (arrow.Array, error) {
	of := dt
	if d, ok := dt.(*arrow.DictionaryType); ok {
		of = d.ValueType
	}
	switch of.ID() { //nolint:exhaustive // the others are neither keys nor times
	case arrow.NULL, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW, arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY,
		arrow.TIMESTAMP, arrow.DATE32, arrow.DATE64:
		b := array.NewBuilder(memory.DefaultAllocator, of)
		defer b.Release()
		return b.NewArray(), nil
	default:
		return nil, fmt.Errorf("%s is neither a key nor a time", dt)
	}
}

func castKey(arr arrow.Array, t feature.Type) (arrow.Array, error) {
	want := columns.DataType(t)
	if arr.DataType().ID() == arrow.NULL {
		return array.MakeArrayOfNull(memory.DefaultAllocator, want, arr.Len()), nil
	}
	if arrow.TypeEqual(arr.DataType(), want) {
		return arr, nil
	}
	if d, ok := arr.(*array.Dictionary); ok {
		return castDictionary(d, t)
	}
	wrong := fmt.Errorf("%s where %s is expected", arr.DataType(), t)
	switch t.Kind {
	case feature.KindInt32, feature.KindInt64:
		return castInts(arr, t, wrong)
	case feature.KindString:
		text, err := texts(arr)
		if err != nil {
			return nil, wrong
		}
		return build(array.NewStringBuilder(memory.DefaultAllocator), arr, func(b *array.StringBuilder, i int) { b.Append(text(i)) }), nil
	case feature.KindBytes:
		raw, err := binaries(arr)
		if err != nil {
			return nil, wrong
		}
		return build(array.NewBinaryBuilder(memory.DefaultAllocator, arrow.BinaryTypes.Binary), arr, func(b *array.BinaryBuilder, i int) { b.Append(raw(i)) }), nil
	case feature.KindBool:
		if a, ok := arr.(*array.Boolean); ok {
			return a, nil
		}
	case feature.KindTimestamp:
		return castTimes(arr, wrong)
	case feature.KindFloat32, feature.KindFloat64, feature.KindInvalid:
	}
	return nil, wrong
}

func castInts(arr arrow.Array, t feature.Type, wrong error) (arrow.Array, error) {
	if a, ok := arr.(*array.Uint64); ok {
		return castInts(build(array.NewInt64Builder(memory.DefaultAllocator), arr, func(b *array.Int64Builder, i int) {
			appendIf(b, a.Value(i) <= math.MaxInt64, int64(a.Value(i))) //nolint:gosec // checked
		}), t, wrong)
	}
	ints, err := integers(arr)
	if err != nil {
		return nil, wrong
	}
	if t.Kind == feature.KindInt32 {
		return build(array.NewInt32Builder(memory.DefaultAllocator), arr, func(b *array.Int32Builder, i int) {
			if v := ints(i); v == int64(int32(v)) { //nolint:gosec // this is the check
				b.Append(int32(v)) //nolint:gosec // checked
			} else {
				b.AppendNull()
			}
		}), nil
	}
	return build(array.NewInt64Builder(memory.DefaultAllocator), arr, func(b *array.Int64Builder, i int) { b.Append(ints(i)) }), nil
}

func appendIf(b *array.Int64Builder, ok bool, v int64) {
	if ok {
		b.Append(v)
	} else {
		b.AppendNull()
	}
}

func castTimes(arr arrow.Array, wrong error) (arrow.Array, error) {
	times, err := instants(arr)
	if err != nil {
		return nil, wrong
	}
	return build(array.NewTimestampBuilder(memory.DefaultAllocator, columns.Timestamp), arr, func(b *array.TimestampBuilder, i int) {
		if t, err := times(i); err == nil {
			b.Append(arrow.Timestamp(t))
		} else {
			b.AppendNull()
		}
	}), nil
}

// castDictionary casts the few values, and then points the rows at them.
func castDictionary(d *array.Dictionary, t feature.Type) (arrow.Array, error) {
	values, err := castKey(d.Dictionary(), t)
	if err != nil {
		return nil, err
	}
	refs := make([]gather.Ref, d.Len())
	for i := range refs {
		refs[i] = gather.None()
		if d.IsValid(i) {
			refs[i] = gather.Ref{Row: int32(d.GetValueIndex(i))} //nolint:gosec // a dictionary is not larger
		}
	}
	return gather.Take(columns.DataType(t), []arrow.Array{values}, refs)
}

// isNull tells whether a row is null, itself or as a value of its dictionary.
func isNull(arr arrow.Array, i int) bool {
	if d, ok := arr.(*array.Dictionary); ok && d.IsValid(i) {
		return d.Dictionary().IsNull(d.GetValueIndex(i))
	}
	return arr.IsNull(i)
}
