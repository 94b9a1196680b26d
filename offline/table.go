package offline

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strconv"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/delta"
	"github.com/granary-ml/granary/offline/parquetio"
)

// Tags of the files of a table, see docs/format/delta.md.
const (
	// tagPart is the place of a file within the append that wrote its rows.
	tagPart = "granary.part"
	// tagOrder is the version whose append wrote the rows of a file, where that
	// is not the version that added it: a rewritten file stands where its rows
	// stood, so that ties are decided as before.
	tagOrder = "granary.order"
)

// table is the table of a view at one version.
type table struct {
	view    *feature.BoundView
	schema  *arrow.Schema // columns.TableSchema of the view
	bucket  bucket.Bucket
	prefix  string
	snap    *delta.Snapshot // nil: there is no table
	files   []tableFile     // in the order of writing
	opened  []*dataFile     // by file; those that have been read from
	limit   int64           // bytes of one piece of a file
	fixedAt map[string]bool // partition columns
}

// tableFile is a file of a table with the place of its rows in the order of
// writing.
type tableFile struct {
	delta.File
	written int64 // the version whose append wrote the rows
	part    int64
}

// open pins the table of a view. Without a table, and without a version or time
// that is asked for, it is one without files.
func (s *Store) open(ctx context.Context, v *feature.BoundView, asOf wire.AsOf) (*table, error) {
	t := &table{
		view: v, schema: columns.TableSchema(v), bucket: s.bucket, prefix: TablePath(v),
		limit: s.o.MemoryLimit / pieces,
	}
	snap, err := s.snapshot(ctx, v, asOf)
	if err != nil {
		if feature.CodeOf(err) == feature.CodeNotFound && asOf == (wire.AsOf{}) {
			return t, nil
		}
		return nil, err
	}
	t.snap = snap
	t.fixedAt = make(map[string]bool, len(snap.Metadata.PartitionColumns))
	for _, name := range snap.Metadata.PartitionColumns {
		t.fixedAt[name] = true
	}
	t.files = inWritingOrder(snap.Files)
	return t, nil
}

func (s *Store) snapshot(ctx context.Context, v *feature.BoundView, asOf wire.AsOf) (*delta.Snapshot, error) {
	log := s.log(v)
	switch {
	case asOf.Version != nil && asOf.Time != nil:
		return nil, feature.Invalid("offline.Open", v.Subject(), []feature.Fault{{Field: "as_of", Detail: "a version and a time are given, and only one can hold"}})
	case asOf.Version != nil:
		return log.At(ctx, *asOf.Version)
	case asOf.Time != nil:
		return log.AsOf(ctx, *asOf.Time)
	}
	return log.Snapshot(ctx)
}

func inWritingOrder(files []delta.File) []tableFile {
	out := make([]tableFile, len(files))
	for i, f := range files {
		out[i] = tableFile{File: f, written: numberTag(f, tagOrder, f.Version), part: numberTag(f, tagPart, 0)}
	}
	slices.SortStableFunc(out, func(a, b tableFile) int {
		return cmp.Or(cmp.Compare(a.written, b.written), cmp.Compare(a.part, b.part))
	})
	return out
}

func numberTag(f delta.File, tag string, otherwise int64) int64 {
	if v, err := strconv.ParseInt(f.Tags[tag], 10, 64); err == nil {
		return v
	}
	return otherwise
}

// version returns the version, -1 without a table.
func (t *table) version() int64 {
	if t.snap == nil {
		return -1
	}
	return t.snap.Version
}

// sortedBy names the columns by which our files are sorted.
func sortedBy(v *feature.BoundView) []string { return v.Columns()[:len(v.Keys)+2] }

// orderColumns are the places of the columns that a file is sorted by.
func (t *table) orderColumns() []int { return upTo(len(t.view.Keys) + 2) }

func upTo(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// file opens a file of the table: its footer is read.
func (t *table) file(ctx context.Context, i int) (*dataFile, error) {
	f := t.files[i]
	key := path.Join(t.prefix, f.Path)
	src := bucket.NewReaderAt(ctx, t.bucket, key, f.Size)
	pq, err := parquetio.Open(src, f.Size, key, parquetio.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	out := &dataFile{table: t, tableFile: f, pq: pq, column: make([]int, t.schema.NumFields())}
	for c, field := range t.schema.Fields() {
		at := pq.Schema().FieldIndices(field.Name)
		out.column[c] = absent
		if len(at) > 0 {
			out.column[c] = at[0]
		}
	}
	out.sorted = slices.Equal(pq.SortedBy(), sortedBy(t.view))
	return out, nil
}
