package offline

import (
	"context"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// HistoricalRequest asks for the features of a spine.
type HistoricalRequest struct {
	// Spine are the entity rows with their times. It is read once, from the
	// call to the end of the answer, and stays the caller's to release.
	Spine array.RecordReader
	// TimeColumn names the spine's time column, "event_timestamp" if empty:
	// timestamps of any unit, which are floored to the microsecond, dates, or
	// text in RFC 3339.
	TimeColumn string
	Selection  feature.Selection
	// FullNames names feature columns view__feature.
	FullNames bool
	// KnownAt leaves out rows that were created after the spine's time.
	KnownAt bool
	AsOf    wire.AsOf
}

// Historical joins the features of a selection to a spine, point-in-time: n
// rows in, n rows out, in the spine's order, the spine's columns untouched and
// then the features. Each table is pinned to one version at the call. A spine
// row whose key or time is null, or whose key cannot be that of an entity,
// matches nothing and stays.
//
// What is wrong with the request is told at once, as CodeInvalidArgument: join
// keys or the time column that are missing or of a wrong type, and names that
// would occur twice. The reader holds memory until its end or its Release.
func (s *Store) Historical(ctx context.Context, req HistoricalRequest) (array.RecordReader, error) {
	h := &historical{store: s, req: req}
	if h.req.TimeColumn == "" {
		h.req.TimeColumn = feature.DefaultEventColumn
	}
	if err := h.check(); err != nil {
		return nil, err
	}
	if err := h.pin(ctx); err != nil {
		return nil, err
	}
	return newStream(h.schema, yieldTo(func(give func(arrow.Record) error) error { return h.run(ctx, give) })), nil
}

// historical is a retrieval that is being run.
type historical struct {
	store  *Store
	req    HistoricalRequest
	spine  *arrow.Schema
	schema *arrow.Schema // of the answer
	time   int           // column of the spine
	keys   []keySet
	views  []*viewJoin
	// place says where each feature of the answer comes from.
	place []featurePlace
}

// keySet is join keys that one or more views share.
type keySet struct {
	keys    []feature.JoinKey
	columns []int // of the spine
}

// viewJoin is the part of a retrieval that concerns one view.
type viewJoin struct {
	view  *feature.BoundView
	table *table
	keys  int           // index of its keySet
	cols  []int         // features wanted, by place in the table's schema
	out   *arrow.Schema // of these
}

type featurePlace struct {
	view, column int
}

// check finds every fault of the request, and lays the answer out.
func (h *historical) check() error {
	h.spine = h.req.Spine.Schema()
	var faults []feature.Fault
	fault := func(field, format string, args ...any) {
		faults = append(faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
	h.time = h.spineColumn(h.req.TimeColumn, "time column", fault)
	if h.time >= 0 {
		if dt := h.spine.Field(h.time).Type; !isTime(dt) {
			fault("spine."+h.req.TimeColumn, "%s is not a time (expected a timestamp, a date, or text in RFC 3339)", dt)
		}
	}
	keys, keyFaults := h.req.Selection.JoinKeys()
	faults = append(faults, keyFaults...)
	at := make(map[string]int, len(keys))
	for _, k := range keys {
		at[k.Name] = h.spineColumn(k.Name, "join key", fault)
		if at[k.Name] >= 0 {
			if err := checkKey(h.spine.Field(at[k.Name]).Type, k.Type); err != nil {
				fault("spine."+k.Name, "%v", err)
			}
		}
	}
	if h.req.AsOf.Version != nil && h.req.AsOf.Time != nil {
		fault("as_of", "a version and a time are given, and only one can hold")
	}
	h.layout(fault)
	if err := feature.Invalid("offline.Historical", "", faults); err != nil {
		return err
	}
	h.plan(at)
	return nil
}

// isTime tells whether the time column may have a type.
func isTime(dt arrow.DataType) bool {
	arr, err := emptyOf(dt)
	if err == nil && dt.ID() != arrow.NULL {
		_, err = instants(arr)
	}
	return err == nil
}

// spineColumn finds a column of the spine, -1 if it is not there.
func (h *historical) spineColumn(name, what string, fault func(field, format string, args ...any)) int {
	at := h.spine.FieldIndices(name)
	if len(at) == 0 {
		fault("spine."+name, "the %s is missing", what)
		return -1
	}
	return at[0]
}

// layout makes the schema of the answer. No two columns have one name, because
// one would hide the other.
func (h *historical) layout(fault func(field, format string, args ...any)) {
	fields := append([]arrow.Field{}, h.spine.Fields()...)
	from := map[string]string{}
	taken := func(name, what string) {
		if other, ok := from[name]; ok {
			fault(name, "the name is that of %s and of %s (ask for full names, rename the feature in a service, or rename the column)", other, what)
			return
		}
		from[name] = what
	}
	for _, f := range fields {
		taken(f.Name, "a column of the spine")
	}
	for _, f := range h.req.Selection.Features {
		name := f.Name(h.req.FullNames)
		taken(name, "feature "+f.Ref().String())
		fields = append(fields, arrow.Field{Name: name, Type: columns.DataType(f.Type()), Nullable: true})
	}
	meta := h.spine.Metadata()
	h.schema = arrow.NewSchema(fields, &meta)
}

// plan groups the features by view, and the views by their join keys.
func (h *historical) plan(at map[string]int) {
	index := map[feature.ViewID]int{}
	for i, v := range h.req.Selection.Views() {
		index[v.ID] = i
		h.views = append(h.views, &viewJoin{view: v, keys: h.keySet(v, at)})
	}
	for _, f := range h.req.Selection.Features {
		v := index[f.View.ID]
		w := h.views[v]
		h.place = append(h.place, featurePlace{view: v, column: len(w.cols)})
		w.cols = append(w.cols, len(w.view.Keys)+2+f.Index)
	}
	for _, w := range h.views {
		schema := columns.TableSchema(w.view)
		fields := make([]arrow.Field, len(w.cols))
		for i, c := range w.cols {
			fields[i] = schema.Field(c)
		}
		w.out = arrow.NewSchema(fields, nil)
	}
}

func (h *historical) keySet(v *feature.BoundView, at map[string]int) int {
	for i, k := range h.keys {
		if sameKeys(k.keys, v.Keys) {
			return i
		}
	}
	set := keySet{keys: v.Keys, columns: make([]int, len(v.Keys))}
	for i, k := range v.Keys {
		set.columns[i] = at[k.Name]
	}
	h.keys = append(h.keys, set)
	return len(h.keys) - 1
}

func sameKeys(a, b []feature.JoinKey) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// pin opens the table of each view at the version asked for.
func (h *historical) pin(ctx context.Context) error {
	for _, w := range h.views {
		t, err := h.store.open(ctx, w.view, h.req.AsOf)
		if err != nil {
			return err
		}
		w.table = t
	}
	return nil
}

// run answers the spine chunk by chunk. A chunk is as many rows as fit into the
// memory together with their answer.
func (h *historical) run(ctx context.Context, give func(arrow.Record) error) error {
	chunks := spineChunks{reader: h.req.Spine, budget: h.chunkBytes(), rowBytes: h.rowBytes()}
	defer chunks.release()
	for {
		records, err := chunks.next()
		if err != nil || len(records) == 0 {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err = h.answer(ctx, records, give)
		for _, rec := range records {
			rec.Release()
		}
		if err != nil {
			return err
		}
	}
}

// chunkBytes is the part of the memory that a chunk and its answer may take; the
// rest is for the pieces of files that are being read.
func (h *historical) chunkBytes() int64 { return h.store.o.MemoryLimit * 5 / 8 }

// rowBytes is what a row of the spine needs beside itself.
func (h *historical) rowBytes() int64 {
	const (
		join    = 3*8 + 8 + 4    // the state of one join, the time, the winner
		perKeys = 8 + 4          // time and row, sorted
		perView = 8              // reference to the row taken
		sorting = 2*24 + 3*8 + 4 // items of package rowkey, and what they are made of
	)
	answer := int64(0)
	for _, w := range h.views {
		for _, f := range w.out.Fields() {
			answer += typeBytes(f.Type)
		}
	}
	// Sorting is over before there are answers.
	return int64(join+len(h.keys)*perKeys+len(h.views)*perView) + max(answer, sorting)
}
