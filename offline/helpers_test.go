package offline_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func memBucket(t *testing.T) bucket.Bucket {
	t.Helper()
	b, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
	require.NoError(t, err)
	return b
}

func openStore(t *testing.T, b bucket.Bucket, o offline.Options) *offline.Store {
	t.Helper()
	if o.Clock == nil {
		o.Clock = clock.NewManual(noon)
	}
	if o.TempDir == "" {
		o.TempDir = t.TempDir()
	}
	s, err := offline.Open(t.Context(), b, o)
	require.NoError(t, err)
	return s
}

// at is noon plus so many seconds.
func at(seconds int) feature.Timestamp {
	return feature.FromTime(noon.Add(time.Duration(seconds) * time.Second))
}

// makeView returns a view with one int64 key k.
func makeView(id feature.ViewID, features ...feature.Feature) *feature.BoundView {
	return &feature.BoundView{
		View:    feature.View{Name: fmt.Sprintf("v%d", id), Features: features},
		Project: "p", ID: id, Keys: []feature.JoinKey{{Name: "k", Type: feature.Int64}},
	}
}

func numbers(id feature.ViewID) *feature.BoundView {
	return makeView(id, feature.Feature{Name: "v", Type: feature.Int64})
}

// row makes a row of a view with one int64 key.
func row(t *testing.T, v *feature.BoundView, key int64, event, created feature.Timestamp, values ...feature.Value) feature.Row {
	t.Helper()
	k, err := feature.MakeEntityKey(v.Keys, []feature.Value{feature.Int64Value(key)})
	require.NoError(t, err)
	return feature.Row{Key: k, Event: event, Created: created, Values: values}
}

func entity(t *testing.T, v *feature.BoundView, key int64) feature.EntityKey {
	t.Helper()
	return row(t, v, key, 0, 0).Key
}

// record makes a record of the view's table.
func record(t *testing.T, v *feature.BoundView, rows []feature.Row) arrow.Record {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns.TableSchema(v))
	for _, r := range rows {
		keys, err := r.Key.Values(v.Keys)
		require.NoError(t, err)
		for i, k := range keys {
			columns.Append(b.Field(i), k)
		}
		columns.Append(b.Field(len(keys)), feature.TimestampValue(r.Event))
		columns.Append(b.Field(len(keys)+1), feature.TimestampValue(r.Created))
		for i, value := range r.Values {
			columns.Append(b.Field(len(keys)+2+i), value)
		}
	}
	return b.NewRecord()
}

// load appends rows in one commit.
func load(t *testing.T, s *offline.Store, v *feature.BoundView, rows []feature.Row) offline.AppendResult {
	t.Helper()
	out, err := tryLoad(t, s, v, rows, offline.AppendOptions{})
	require.NoError(t, err)
	return out
}

func tryLoad(t *testing.T, s *offline.Store, v *feature.BoundView, rows []feature.Row, o offline.AppendOptions) (offline.AppendResult, error) {
	t.Helper()
	a, err := s.Append(t.Context(), v, o)
	require.NoError(t, err)
	require.NoError(t, a.Write(t.Context(), record(t, v, rows)))
	return a.Commit(t.Context())
}

// drain reads all rows as values; types are by column.
func drain(t *testing.T, r array.RecordReader, types []feature.Type) [][]feature.Value {
	t.Helper()
	out, err := tryDrain(t, r, types)
	require.NoError(t, err)
	return out
}

func tryDrain(t *testing.T, r array.RecordReader, types []feature.Type) ([][]feature.Value, error) {
	t.Helper()
	defer r.Release()
	out := [][]feature.Value{}
	for r.Next() {
		rec := r.Record()
		for i := range int(rec.NumRows()) {
			values := make([]feature.Value, len(types))
			for c, typ := range types {
				var err error
				values[c], err = columns.Value(rec.Column(c), i, typ)
				require.NoError(t, err)
			}
			out = append(out, values)
		}
	}
	return out, r.Err()
}

func typesOf(v *feature.BoundView) []feature.Type {
	var out []feature.Type
	for _, k := range v.Keys {
		out = append(out, k.Type)
	}
	out = append(out, feature.TimestampType, feature.TimestampType)
	for _, f := range v.Features {
		out = append(out, f.Type)
	}
	return out
}

// texts prints values for comparison.
func texts(rows [][]feature.Value) []string {
	out := make([]string, len(rows))
	for i, row := range rows {
		for c, v := range row {
			if c > 0 {
				out[i] += " "
			}
			if v.Type() == feature.TimestampType && !v.IsNull() && v.Timestamp() >= at(-86400) && v.Timestamp() < at(86400) {
				out[i] += strconv.FormatInt(int64(v.Timestamp()-at(0))/1e6, 10)
				continue
			}
			out[i] += v.String()
		}
	}
	return out
}

func selectAll(views ...*feature.BoundView) feature.Selection {
	var sel feature.Selection
	for _, v := range views {
		for i := range v.Features {
			sel.Features = append(sel.Features, feature.SelectedFeature{View: v, Index: i})
		}
	}
	return sel
}

// spineOf makes a spine of typed columns.
func spineOf(t *testing.T, cols []feature.Feature, rows [][]feature.Value, batch int) array.RecordReader {
	t.Helper()
	fields := make([]arrow.Field, len(cols))
	for i, c := range cols {
		fields[i] = arrow.Field{Name: c.Name, Type: columns.DataType(c.Type), Nullable: true}
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	var recs []arrow.Record
	for i, row := range rows {
		for c, v := range row {
			columns.Append(b.Field(c), v)
		}
		if (i+1)%batch == 0 || i == len(rows)-1 {
			recs = append(recs, b.NewRecord())
		}
	}
	r, err := array.NewRecordReader(schema, recs)
	require.NoError(t, err)
	return r
}
