package offline

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/offline/internal/gather"
	"github.com/granary-ml/granary/offline/parquetio"
	"github.com/granary-ml/granary/offline/pit"
)

// taken is what a view gives to a chunk. Columns of fixed width, whose place in
// the answer is known before they are read, are made at once; of the others the
// rows that were taken are kept by row group, each once, and for each row of the
// chunk which of them is its answer.
type taken struct {
	direct []arrow.Array // by column wanted; nil: among the others
	rest   []int         // the others, by place among the columns wanted
	schema *arrow.Schema // of the others
	pools  []arrow.Record
	refs   []gather.Ref // by row of the chunk; nil if there are no others
}

// nothing is what a view gives that has no row for a chunk.
func nothing(w *viewJoin, rows int) taken {
	out := taken{direct: make([]arrow.Array, len(w.cols))}
	for i := range w.cols {
		out.direct[i] = array.MakeArrayOfNull(memory.DefaultAllocator, w.out.Field(i).Type, rows)
	}
	return out
}

// features returns some rows of the chunk, a column for each one wanted.
func (t *taken) features(ctx context.Context, start, end int64) ([]arrow.Array, error) {
	out := make([]arrow.Array, len(t.direct))
	for i, arr := range t.direct {
		if arr != nil {
			out[i] = array.NewSlice(arr, start, end)
		}
	}
	if len(t.rest) == 0 {
		return out, nil
	}
	rec, err := gather.Record(ctx, t.schema, t.pools, t.refs[start:end])
	if err != nil {
		return nil, err
	}
	for at, i := range t.rest {
		out[i] = rec.Column(at)
	}
	return out, nil
}

// winnersByUnit sorts the rows that have an answer by where it lies: by unit,
// and in it by row.
func winnersByUnit(s *keySpine, join *pit.Join, units int) (winners []parquetio.Pick, starts []int32) {
	starts = make([]int32, units+1)
	for i := range s.rows {
		if at, _, status := join.Row(i); status == pit.Found {
			starts[at>>rowBits+1]++
		}
	}
	for u := range units {
		starts[u+1] += starts[u]
	}
	winners = make([]parquetio.Pick, starts[units])
	next := slices.Clone(starts)
	for i, row := range s.rows {
		if at, _, status := join.Row(i); status == pit.Found {
			u := at >> rowBits
			winners[next[u]] = parquetio.Pick{Slot: row, Row: int32(at & math.MaxUint32)} //nolint:gosec // a row of a unit
			next[u]++
		}
	}
	return winners, starts
}

// second is the second pass over a view.
type second struct {
	w       *viewJoin
	units   []unit             // of which a row was taken
	winners [][]parquetio.Pick // of each
	picked  []picked
	rest    []int // columns of the table that are not picked
	out     taken
	found   []byte // bitmap of the rows that were given one; nil: all were
	rows    int
}

// picked is a column that is read value by value into its place.
type picked struct {
	at    int // among the columns wanted
	dst   []byte
	mu    *sync.Mutex
	nulls []int32
}

// takeWinners is the second pass: it reads the features of the row groups of
// which a row was taken.
func takeWinners(ctx context.Context, w *viewJoin, s *keySpine, units []unit, join *pit.Join, rows int) (taken, error) {
	winners, starts := winnersByUnit(s, join, len(units))
	p := &second{w: w, rows: rows, out: taken{direct: make([]arrow.Array, len(w.cols))}}
	for u := range units {
		if starts[u] < starts[u+1] {
			p.units = append(p.units, units[u])
			p.winners = append(p.winners, winners[starts[u]:starts[u+1]])
		}
	}
	p.layout()
	if len(winners) < rows {
		p.found = make([]byte, bitutil.BytesForBits(int64(rows)))
		for _, win := range winners {
			bitutil.SetBit(p.found, int(win.Slot))
		}
	}
	take := func(ctx context.Context, i int) (arrow.Record, error) { return p.unit(ctx, i) }
	err := inOrder(ctx, len(p.units), take, func(i int, rec arrow.Record) error {
		if len(p.rest) > 0 {
			p.out.pools[i] = rec
		}
		return nil
	})
	if err != nil {
		return taken{}, err
	}
	for i := range p.picked {
		p.finish(&p.picked[i])
	}
	return p.out, nil
}

// layout decides which columns are picked.
func (p *second) layout() {
	var fields []arrow.Field
	seen := map[int]bool{}
	for i, c := range p.w.cols {
		field := p.w.out.Field(i)
		if width, ok := p.pickable(c, field); ok && !seen[c] {
			seen[c] = true
			p.picked = append(p.picked, picked{at: i, dst: make([]byte, p.rows*width), mu: &sync.Mutex{}})
			continue
		}
		p.out.rest = append(p.out.rest, i)
		p.rest = append(p.rest, c)
		fields = append(fields, field)
	}
	if len(p.rest) == 0 {
		return
	}
	p.out.schema = arrow.NewSchema(fields, nil)
	p.out.pools = make([]arrow.Record, len(p.units))
	p.out.refs = make([]gather.Ref, p.rows)
	for i := range p.out.refs {
		p.out.refs[i] = gather.None()
	}
}

// pickable tells whether a column can be picked from all units, and how wide it
// is. A file without the column has nulls in it.
func (p *second) pickable(col int, field arrow.Field) (width int, ok bool) {
	t, fixed := field.Type.(arrow.FixedWidthDataType)
	if !fixed || !field.Nullable {
		return 0, false
	}
	for _, u := range p.units {
		f := u.file
		if at := f.column[col]; at != absent {
			if !arrow.TypeEqual(f.pq.Schema().Field(at).Type, field.Type) || !f.pq.Pickable(field.Name) {
				return 0, false
			}
		} else if f.table.fixedAt[field.Name] || t.ID() == arrow.BOOL || t.ID() == arrow.FIXED_SIZE_LIST {
			return 0, false
		}
		if !f.sorted {
			return 0, false
		}
	}
	return t.Bytes(), true
}

// unit reads what was taken of a unit.
func (p *second) unit(ctx context.Context, i int) (arrow.Record, error) {
	u, winners := p.units[i], p.winners[i]
	// Mostly they are ascending already.
	byRow := func(a, b parquetio.Pick) int { return cmp.Compare(a.Row, b.Row) }
	if !slices.IsSortedFunc(winners, byRow) {
		slices.SortFunc(winners, byRow)
	}
	if err := p.pick(ctx, u, winners); err != nil {
		return nil, err
	}
	if len(p.rest) == 0 {
		return nil, nil
	}
	return u.take(ctx, p.rest, p.out.schema, p.distinctRows(winners, int32(i))) //nolint:gosec // fewer than units
}

// pick reads the picked columns of a unit.
func (p *second) pick(ctx context.Context, u unit, winners []parquetio.Pick) error {
	var (
		names []string
		dst   [][]byte
		cols  []*picked
	)
	for i := range p.picked {
		c := &p.picked[i]
		if u.file.column[p.w.cols[c.at]] == absent {
			c.addSlots(winners)
			continue
		}
		cols = append(cols, c)
		names = append(names, p.w.out.Field(c.at).Name)
		dst = append(dst, c.dst)
	}
	if len(cols) == 0 {
		return nil
	}
	nulls, err := u.file.pq.PickRows(ctx, u.group, names, winners, dst)
	if err != nil {
		return err
	}
	for i, c := range cols {
		c.add(nulls[i])
	}
	return nil
}

func (c *picked) add(nulls []int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.nulls = append(c.nulls, nulls...)
}

func (c *picked) addSlots(winners []parquetio.Pick) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, win := range winners {
		c.nulls = append(c.nulls, win.Slot)
	}
}

// finish makes the array of a picked column. The rows without an answer are null
// in all of them, so that columns without other nulls share the bitmap.
func (p *second) finish(c *picked) {
	valid := p.found
	if len(c.nulls) > 0 {
		if valid == nil {
			valid = make([]byte, bitutil.BytesForBits(int64(p.rows)))
			bitutil.SetBitsTo(valid, 0, int64(p.rows), true)
		} else {
			valid = slices.Clone(valid)
		}
		for _, slot := range c.nulls {
			bitutil.ClearBit(valid, int(slot))
		}
	}
	buffers := []*memory.Buffer{nil, memory.NewBufferBytes(c.dst)}
	nulls := 0
	if valid != nil {
		buffers[0] = memory.NewBufferBytes(valid)
		nulls = p.rows - bitutil.CountSetBits(valid, 0, p.rows)
	}
	data := array.NewData(p.w.out.Field(c.at).Type, p.rows, buffers, nil, nulls, 0)
	defer data.Release()
	p.out.direct[c.at] = array.MakeFromData(data)
}

// distinctRows lists the rows that winners were given, ascending, each once, and
// points the winners at them.
func (p *second) distinctRows(winners []parquetio.Pick, pool int32) []int32 {
	var rows []int32
	for _, win := range winners {
		if len(rows) == 0 || rows[len(rows)-1] != win.Row {
			rows = append(rows, win.Row)
		}
		p.out.refs[win.Slot] = gather.Ref{Source: pool, Row: int32(len(rows) - 1)} //nolint:gosec // rows of a unit
	}
	return rows
}
