package gather

import (
	"context"
	"fmt"
	"math"
	"runtime"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"golang.org/x/sync/errgroup"
)

// Ref names a row of one of several sources. A negative Source is no row: the
// result is null there.
type Ref struct {
	Source, Row int32
}

// None is the Ref of no row.
func None() Ref { return Ref{Source: -1} }

// Record gathers whole rows of records that all have the schema. Columns are
// built in parallel where it pays.
func Record(ctx context.Context, schema *arrow.Schema, sources []arrow.Record, refs []Ref) (arrow.Record, error) {
	out := make([]arrow.Array, schema.NumFields())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelism(len(refs)))
	for c := range out {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			arrays := make([]arrow.Array, len(sources))
			for s, rec := range sources {
				arrays[s] = rec.Column(c)
			}
			arr, err := Take(schema.Field(c).Type, arrays, refs)
			if err != nil {
				return fmt.Errorf("column %s: %w", schema.Field(c).Name, err)
			}
			out[c] = arr
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return array.NewRecord(schema, out, int64(len(refs))), nil
}

// parallelism is how many columns of that many rows are built at a time.
func parallelism(rows int) int {
	const fewRows = 4096 // cheaper than a goroutine
	if rows < fewRows {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// Take gathers rows of arrays of type dt into one array of that type. It fails
// if dt is not the type of a feature, or if text or lists become larger than
// Arrow's 32-bit offsets can say.
func Take(dt arrow.DataType, sources []arrow.Array, refs []Ref) (arrow.Array, error) {
	t := taker{dt: dt, sources: sources, refs: refs}
	t.takeValidity()
	switch dt.ID() { //nolint:exhaustive // the types of features; others are refused
	case arrow.BOOL:
		return t.takeBool(), nil
	case arrow.INT32, arrow.FLOAT32:
		return takeFixed[uint32](&t), nil
	case arrow.INT64, arrow.FLOAT64, arrow.TIMESTAMP:
		return takeFixed[uint64](&t), nil
	case arrow.STRING, arrow.BINARY:
		return t.takeText()
	case arrow.LIST:
		return t.takeList()
	case arrow.FIXED_SIZE_LIST:
		return t.takeVector()
	default:
		return nil, fmt.Errorf("arrow type %s is not that of a feature", dt)
	}
}

// taker is the state of one Take.
type taker struct {
	dt      arrow.DataType
	sources []arrow.Array
	refs    []Ref
	valid   *memory.Buffer // nil: no nulls
	nulls   int
}

// bitmap is the validity of an array; without bits, all rows are valid.
type bitmap struct {
	bits   []byte
	offset int
}

func validity(arr arrow.Array) bitmap {
	if arr.NullN() == 0 {
		return bitmap{}
	}
	return bitmap{bits: arr.NullBitmapBytes(), offset: arr.Data().Offset()}
}

func (b bitmap) valid(row int) bool { return b.bits == nil || bitutil.BitIsSet(b.bits, b.offset+row) }

// takeValidity gathers the validity, and leaves it out where nothing is null.
func (t *taker) takeValidity() {
	bitmaps := make([]bitmap, len(t.sources))
	anyNull := false
	for s, arr := range t.sources {
		bitmaps[s] = validity(arr)
		anyNull = anyNull || bitmaps[s].bits != nil
	}
	if !anyNull && !missing(t.refs) {
		return
	}
	bits := make([]byte, bitutil.BytesForBits(int64(len(t.refs))))
	for i, r := range t.refs {
		if r.Source < 0 || !bitmaps[r.Source].valid(int(r.Row)) {
			t.nulls++
			continue
		}
		bits[i>>3] |= 1 << (i & 7)
	}
	t.valid = memory.NewBufferBytes(bits)
}

func missing(refs []Ref) bool {
	for _, r := range refs {
		if r.Source < 0 {
			return true
		}
	}
	return false
}

// make builds the array of what was gathered.
func (t *taker) make(buffers []*memory.Buffer, children ...arrow.ArrayData) arrow.Array {
	data := array.NewData(t.dt, len(t.refs), append([]*memory.Buffer{t.valid}, buffers...), children, t.nulls, 0)
	defer data.Release()
	return array.MakeFromData(data)
}

func takeFixed[T uint32 | uint64](t *taker) arrow.Array {
	values := make([][]T, len(t.sources))
	for s, arr := range t.sources {
		values[s] = arrow.GetValues[T](arr.Data(), 1)
	}
	out := make([]T, len(t.refs))
	if len(values) == 1 && t.valid == nil {
		only := values[0]
		for i, r := range t.refs {
			out[i] = only[r.Row]
		}
	} else {
		for i, r := range t.refs {
			if r.Source >= 0 {
				out[i] = values[r.Source][r.Row]
			}
		}
	}
	return t.make([]*memory.Buffer{memory.NewBufferBytes(arrow.GetBytes(out))})
}

func (t *taker) takeBool() arrow.Array {
	values := make([]bitmap, len(t.sources))
	for s, arr := range t.sources {
		if arr.Len() > 0 {
			values[s] = bitmap{bits: arr.Data().Buffers()[1].Bytes(), offset: arr.Data().Offset()}
		}
	}
	bits := make([]byte, bitutil.BytesForBits(int64(len(t.refs))))
	for i, r := range t.refs {
		if r.Source >= 0 && values[r.Source].valid(int(r.Row)) {
			bits[i>>3] |= 1 << (i & 7)
		}
	}
	return t.make([]*memory.Buffer{memory.NewBufferBytes(bits)})
}

// text is the values of an array of strings or bytes. The value of row i lies
// between offsets i and i+1.
type text struct {
	offsets []int32
	data    []byte
}

func textOf(arr arrow.Array) text {
	if arr.Len() == 0 {
		return text{}
	}
	out := text{offsets: arrow.GetOffsets[int32](arr.Data(), 1)}
	if data := arr.Data().Buffers()[2]; data != nil {
		out.data = data.Bytes()
	}
	return out
}

func (t *taker) takeText() (arrow.Array, error) {
	values := make([]text, len(t.sources))
	for s, arr := range t.sources {
		values[s] = textOf(arr)
	}
	offsets, err := t.offsets(func(r Ref) (start, end int32) {
		o := values[r.Source].offsets
		return o[r.Row], o[r.Row+1]
	})
	if err != nil {
		return nil, err
	}
	data := make([]byte, 0, offsets[len(t.refs)])
	for i, r := range t.refs {
		if offsets[i] != offsets[i+1] {
			v := &values[r.Source]
			data = append(data, v.data[v.offsets[r.Row]:v.offsets[r.Row+1]]...)
		}
	}
	return t.make([]*memory.Buffer{memory.NewBufferBytes(arrow.GetBytes(offsets)), memory.NewBufferBytes(data)}), nil
}

// offsets lays values of the given extents one after the other; nulls have none.
func (t *taker) offsets(extent func(Ref) (start, end int32)) ([]int32, error) {
	out := make([]int32, len(t.refs)+1)
	total := int64(0)
	for i, r := range t.refs {
		if r.Source >= 0 && (t.valid == nil || bitutil.BitIsSet(t.valid.Bytes(), i)) {
			start, end := extent(r)
			total += int64(end - start)
		}
		if total > math.MaxInt32 {
			return nil, fmt.Errorf("%d rows hold more than %d bytes or elements", i, math.MaxInt32)
		}
		out[i+1] = int32(total)
	}
	return out, nil
}
