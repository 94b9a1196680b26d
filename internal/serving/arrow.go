package serving

import (
	"context"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/online"
)

// Suffixes of the columns that tell about a feature column beside it.
const (
	suffixStatus = ".status"
	suffixEvent  = ".event_timestamp"
	suffixAge    = ".age_seconds"
)

// OnlineRecord answers a lookup by one Arrow batch: the columns of the JSON
// answer by the same names, each followed by what the request includes about
// it under its name and a suffix (.status, .event_timestamp, .age_seconds).
// The revision stands in the schema's metadata.
func (s *Service) OnlineRecord(ctx context.Context, project string, body []byte) (arrow.Record, error) {
	k := s.takeScratch()
	defer s.giveScratch(k)
	if err := s.lookup(ctx, k, project, body); err != nil {
		return nil, err
	}
	b := &recordBuilder{scratch: k}
	for i, key := range k.plan.keys {
		if err := b.key(key, &k.columns[i]); err != nil {
			return nil, err
		}
	}
	for i := range k.plan.columns {
		if err := b.feature(&k.plan.columns[i]); err != nil {
			return nil, err
		}
	}
	s.stats.lookup(k.n, b.tally)
	revision := arrow.MetadataFrom(map[string]string{"revision": strconv.FormatInt(k.plan.revision, 10)})
	return array.NewRecord(arrow.NewSchema(b.fields, &revision), b.arrays, int64(k.n)), nil
}

type recordBuilder struct {
	*scratch

	fields []arrow.Field
	arrays []arrow.Array
	tally  tally
}

func (b *recordBuilder) add(name string, values array.Builder) {
	b.fields = append(b.fields, arrow.Field{Name: name, Type: values.Type(), Nullable: true})
	b.arrays = append(b.arrays, values.NewArray())
}

func (b *recordBuilder) key(key feature.JoinKey, c *keyColumn) error {
	out := array.NewBuilder(memory.DefaultAllocator, columns.DataType(key.Type))
	for row := range c.rows {
		if c.null(row) {
			out.AppendNull()
			continue
		}
		values, err := feature.EntityKey(c.segment(row)).Values([]feature.JoinKey{key})
		if err != nil {
			return feature.Errorf(feature.CodeInternal, opOnline, "join key "+key.Name, "%w", err)
		}
		columns.Append(out, values[0])
	}
	b.add(key.Name, out)
	return nil
}

func (b *recordBuilder) feature(c *planColumn) error {
	cells := b.cells[c.view*b.n : (c.view+1)*b.n]
	layout := b.plan.views[c.view].layout
	values := array.NewBuilder(memory.DefaultAllocator, columns.DataType(c.typ))
	for row := range cells {
		status := cells[row].statusOf(c.slot)
		b.tally[status]++
		if status != online.Present {
			values.AppendNull()
			continue
		}
		v, err := layout.Value(cells[row].packed, c.slot)
		if err != nil {
			return err
		}
		columns.Append(values, v)
	}
	b.add(c.name, values)
	if b.include&includeStatus != 0 {
		b.statuses(c, cells)
	}
	if b.include&includeEvent != 0 {
		b.events(c, cells)
	}
	if b.include&includeAge != 0 {
		b.ages(c, cells)
	}
	return nil
}

func (b *recordBuilder) statuses(c *planColumn, cells []cell) {
	out := array.NewStringBuilder(memory.DefaultAllocator)
	for row := range cells {
		out.Append(cells[row].statusOf(c.slot).String())
	}
	b.add(c.name+suffixStatus, out)
}

func (b *recordBuilder) events(c *planColumn, cells []cell) {
	out := array.NewTimestampBuilder(memory.DefaultAllocator, columns.Timestamp)
	for row := range cells {
		if cells[row].status == online.NotFound {
			out.AppendNull()
			continue
		}
		out.Append(arrow.Timestamp(cells[row].event))
	}
	b.add(c.name+suffixEvent, out)
}

func (b *recordBuilder) ages(c *planColumn, cells []cell) {
	out := array.NewFloat64Builder(memory.DefaultAllocator)
	for row := range cells {
		if cells[row].status == online.NotFound {
			out.AppendNull()
			continue
		}
		out.Append(ageSeconds(cells[row].event, b.now))
	}
	b.add(c.name+suffixAge, out)
}
