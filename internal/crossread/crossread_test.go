package crossread

import (
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/internal/testutil"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/registry"
)

//go:embed testdata/read.py
var readScript string

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// engines read our tables.
var engines = []string{"delta-rs", "delta-rs-dataset", "pyarrow", "duckdb", "polars"}

// entities has a join key of each type that sorts in a way of its own.
var entities = []feature.Entity{{Name: "thing", JoinKeys: []feature.JoinKey{
	{Name: "id", Type: feature.Int64}, {Name: "name", Type: feature.String}, {Name: "raw", Type: feature.Bytes},
}}}

// types are the features of the view, one of each type but vectors.
var types = []feature.Type{
	feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes, feature.TimestampType,
	feature.ListOf(feature.Bool), feature.ListOf(feature.Int64), feature.ListOf(feature.Float64), feature.ListOf(feature.String),
	feature.ListOf(feature.Bytes), feature.ListOf(feature.TimestampType),
}

func view(types []feature.Type) feature.Definitions {
	v := feature.View{Name: "things", Entities: []string{"thing"}}
	for i, t := range types {
		v.Features = append(v.Features, feature.Feature{Name: fmt.Sprintf("f%02d", i), Type: t})
	}
	return feature.Definitions{Entities: entities, Views: []feature.View{v}}
}

// store is a registry and an offline store in one folder.
type store struct {
	dir      string
	registry *registry.Registry
	offline  *offline.Store
}

func openStore(t *testing.T) *store {
	t.Helper()
	dir := t.TempDir()
	b, err := bucket.Open(t.Context(), dir, bucket.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.Close()) })
	now := clock.NewManual(time.Date(2024, 1, 1, 0, 0, 0, 123456000, time.UTC))
	r, err := registry.Open(t.Context(), b, registry.Options{Clock: now})
	require.NoError(t, err)
	o, err := offline.Open(t.Context(), b, offline.Options{Clock: now, RowGroupRows: 4, TempDir: t.TempDir()})
	require.NoError(t, err)
	return &store{dir: dir, registry: r, offline: o}
}

// apply defines the view with features of these types and returns it.
func (s *store) apply(t *testing.T, types []feature.Type) *feature.BoundView {
	t.Helper()
	_, err := s.registry.Apply(t.Context(), "p", wire.ApplyRequest{Definitions: view(types)})
	require.NoError(t, err)
	v, err := s.registry.Snapshot().View("p", "things")
	require.NoError(t, err)
	return v
}

// row is a row as it was put in.
type row struct {
	key    []feature.Value
	event  feature.Timestamp
	values []feature.Value
}

// append lands rows by one commit.
func (s *store) append(t *testing.T, v *feature.BoundView, rows []row) {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, columns.TableSchema(v))
	for _, r := range rows {
		cells := slices.Concat(r.key, []feature.Value{feature.TimestampValue(r.event), feature.TimestampValue(r.event)}, r.values)
		for i, cell := range cells {
			columns.Append(b.Field(i), cell)
		}
	}
	a, err := s.offline.Append(t.Context(), v, offline.AppendOptions{})
	require.NoError(t, err)
	require.NoError(t, a.Write(t.Context(), b.NewRecord()))
	_, err = a.Commit(t.Context())
	require.NoError(t, err)
}

// path returns the folder of the table.
func (s *store) path(v *feature.BoundView) string { return filepath.Join(s.dir, offline.TablePath(v)) }

func key(id int64, name, raw string) []feature.Value {
	return []feature.Value{feature.Int64Value(id), feature.StringValue(name), feature.BytesValue([]byte(raw))}
}

// corners returns values at the edges of a type, the last of which is null.
func corners(t feature.Type) []feature.Value {
	if t.IsVector() {
		return []feature.Value{
			feature.VectorValue([]float32{1, -0.5, math.MaxFloat32}),
			feature.VectorValue([]float32{float32(math.Inf(1)), float32(math.NaN()), 0}), feature.Null(t),
		}
	}
	if t.List {
		elems := corners(t.Elem())
		return []feature.Value{
			feature.ListValue(t, elems), feature.ListValue(t, nil), feature.ListValue(t, []feature.Value{feature.Null(t.Elem())}), feature.Null(t),
		}
	}
	var out []feature.Value
	switch t.Kind {
	case feature.KindBool:
		out = []feature.Value{feature.BoolValue(true), feature.BoolValue(false)}
	case feature.KindInt32:
		out = []feature.Value{feature.Int32Value(math.MinInt32), feature.Int32Value(math.MaxInt32), feature.Int32Value(0)}
	case feature.KindInt64:
		out = []feature.Value{feature.Int64Value(math.MinInt64), feature.Int64Value(math.MaxInt64), feature.Int64Value(9007199254740993)}
	case feature.KindFloat32:
		out = []feature.Value{feature.Float32Value(0.1), feature.Float32Value(float32(math.NaN())), feature.Float32Value(math.SmallestNonzeroFloat32)}
	case feature.KindFloat64:
		out = []feature.Value{
			feature.Float64Value(math.NaN()), feature.Float64Value(math.Inf(-1)), feature.Float64Value(math.Copysign(0, -1)), feature.Float64Value(0.1),
		}
	case feature.KindString:
		out = []feature.Value{feature.StringValue(""), feature.StringValue("naïve \"\n\x00 😀"), feature.StringValue(strings.Repeat("z", 40))}
	case feature.KindBytes:
		out = []feature.Value{feature.BytesValue(nil), feature.BytesValue([]byte{0, 0xff, 0x80})}
	case feature.KindTimestamp:
		out = []feature.Value{
			feature.TimestampValue(feature.MinTimestamp), feature.TimestampValue(feature.MaxTimestamp), feature.TimestampValue(-1),
		}
	case feature.KindInvalid:
	}
	return append(out, feature.Null(t))
}

// cornerRows returns rows in which each feature takes all its corners.
func cornerRows(types []feature.Type, n int, id int64) []row {
	rows := make([]row, n)
	for i := range rows {
		rows[i] = row{key: key(id+int64(i), fmt.Sprintf("n%d", i%3), "\x00\xff"), event: feature.Timestamp(i)*1_000_001 - 1}
		for _, typ := range types {
			all := corners(typ)
			rows[i].values = append(rows[i].values, all[i%len(all)])
		}
	}
	return rows
}

// canonical writes a value as read.py does.
func canonical(v feature.Value) any {
	switch t := v.Type(); {
	case v.IsNull():
		return nil
	case !t.IsScalar():
		out := make([]any, len(v.Elems()))
		for i, e := range v.Elems() {
			out[i] = canonical(e)
		}
		return out
	case t == feature.Bool:
		return v.Bool()
	case t == feature.Int32, t == feature.Int64:
		return v.Int()
	case t == feature.Float32, t == feature.Float64:
		if math.IsNaN(v.Float()) {
			return "NaN"
		}
		return fmt.Sprintf("%016x", math.Float64bits(v.Float()))
	case t == feature.Bytes:
		return hex.EncodeToString([]byte(v.Text()))
	case t == feature.TimestampType:
		return int64(v.Timestamp())
	}
	return v.Text()
}

// lines returns what an engine should print of rows, sorted; features that a
// row is older than are null.
func lines(t *testing.T, v *feature.BoundView, rows []row) []string {
	t.Helper()
	var out []string
	for _, r := range rows {
		object := map[string]any{v.EventColumn(): int64(r.event), v.CreatedColumn(): int64(r.event)}
		for i, k := range v.Keys {
			object[k.Name] = canonical(r.key[i])
		}
		for i, f := range v.Features {
			object[f.Name] = nil
			if i < len(r.values) {
				object[f.Name] = canonical(r.values[i])
			}
		}
		var text strings.Builder
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		require.NoError(t, enc.Encode(object))
		out = append(out, strings.TrimSpace(text.String()))
	}
	slices.Sort(out)
	return out
}

// read returns what each engine reads of a table, sorted.
func read(t *testing.T, table, where string) map[string][]string {
	t.Helper()
	var answers map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(testutil.RunPython(t, readScript, table, where)), &answers))
	require.Len(t, answers, len(engines))
	out := map[string][]string{}
	for engine, answer := range answers {
		var rows []string
		if json.Unmarshal(answer, &rows) != nil {
			rows = []string{string(answer)} // its error
		}
		slices.Sort(rows)
		out[engine] = rows
	}
	return out
}

// expect holds every engine to rows, less some.
func (s *store) expect(t *testing.T, v *feature.BoundView, where string, rows []row, less ...string) {
	t.Helper()
	want, got := lines(t, v, rows), read(t, s.path(v), where)
	for _, engine := range engines {
		if slices.Contains(less, engine) {
			continue
		}
		t.Run(engine, func(t *testing.T) { require.Empty(t, diff(want, got[engine])) })
	}
}

// diff tells the first rows that differ.
func diff(want, got []string) string {
	var out []string
	for _, line := range want {
		if !slices.Contains(got, line) {
			out = append(out, "- "+line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			out = append(out, "+ "+line)
		}
	}
	if len(out) == 0 && len(want) != len(got) {
		out = append(out, fmt.Sprintf("%d rows where %d are expected", len(got), len(want)))
	}
	return strings.Join(out[:min(len(out), 4)], "\n")
}

// TestTables writes a table as it comes to be in life, and reads it at each
// stage by every engine.
func TestTables(t *testing.T) {
	s := openStore(t)
	v := s.apply(t, types[:4])
	first := cornerRows(types[:4], 9, 0)
	s.append(t, v, first)
	t.Run("OneCommit", func(t *testing.T) { s.expect(t, v, "", first) })

	v = s.apply(t, types)
	second := cornerRows(types, 13, 100)
	s.append(t, v, second)
	all := slices.Concat(first, second)
	t.Run("AddedFeatures", func(t *testing.T) { s.expect(t, v, "", all) })
	t.Run("PrunedByKey", func(t *testing.T) { s.expect(t, v, "id=105", second[5:6]) })
	// The event timestamps end in digits below the millisecond, which the log's
	// statistics do not hold: a bound that was cut would lose these rows.
	t.Run("PrunedByLargestTime", func(t *testing.T) {
		last := second[len(second)-1]
		s.expect(t, v, fmt.Sprintf("event_timestamp@%d", last.event), []row{last})
	})
	t.Run("PrunedByEdgesOfTime", func(t *testing.T) {
		var want []row
		for _, r := range second {
			if !r.values[7].IsNull() && r.values[7].Timestamp() == -1 {
				want = append(want, r)
			}
		}
		// The largest timestamp has no millisecond above it, so the log tells no
		// maximum, and the dataset of delta-rs takes a maximum that is not told
		// for one below every value, in tables of its own, too.
		s.expect(t, v, "f07@-1", want, "delta-rs-dataset")
	})

	erased, err := feature.MakeEntityKey(v.Keys, second[4].key)
	require.NoError(t, err)
	_, err = s.offline.Erase(t.Context(), v, []feature.EntityKey{erased})
	require.NoError(t, err)
	all = slices.Concat(first, second[:4], second[5:])
	t.Run("Erased", func(t *testing.T) { s.expect(t, v, "", all) })

	for i := range 100 {
		more := []row{{key: key(1000+int64(i), "", ""), event: feature.Timestamp(i), values: cornerRows(types, 1, 0)[0].values}}
		s.append(t, v, more)
		all = slices.Concat(all, more)
	}
	checkpoints, err := filepath.Glob(filepath.Join(s.path(v), "_delta_log", "*.checkpoint.parquet"))
	require.NoError(t, err)
	require.NotEmpty(t, checkpoints)
	t.Run("Checkpoint", func(t *testing.T) { s.expect(t, v, "", all) })
}

// TestVectors reads vectors, which are lists to everybody else.
func TestVectors(t *testing.T) {
	s := openStore(t)
	vector := []feature.Type{feature.Vector(3)}
	v := s.apply(t, vector)
	rows := cornerRows(vector, 9, 0)
	s.append(t, v, rows)
	require.Empty(t, diff(lines(t, v, rows), s.scan(t, v)))
	s.expect(t, v, "", rows)
}

// TestAppendedByDeltaRS reads rows that another writer has appended.
func TestAppendedByDeltaRS(t *testing.T) {
	s := openStore(t)
	v := s.apply(t, types[:8])
	rows := cornerRows(types[:8], 9, 0)
	s.append(t, v, rows)
	testutil.RunPython(t, `
import sys
from deltalake import DeltaTable, write_deltalake
import pyarrow as pa
table = DeltaTable(sys.argv[1])
rows = table.to_pyarrow_table()
rows = rows.set_column(0, rows.schema.field(0), pa.array([1000 + v for v in rows["id"].to_pylist()], pa.int64()))
write_deltalake(table, rows.take(list(reversed(range(len(rows))))), mode="append")
`, s.path(v))
	for _, r := range slices.Clone(rows) {
		r.key = slices.Clone(r.key)
		r.key[0] = feature.Int64Value(r.key[0].Int() + 1000)
		rows = append(rows, r)
	}
	require.Empty(t, diff(lines(t, v, rows), s.scan(t, v)))
	t.Run("ByThemAgain", func(t *testing.T) { s.expect(t, v, "", rows) })
}

// scan reads the table by ourselves.
func (s *store) scan(t *testing.T, v *feature.BoundView) []string {
	t.Helper()
	r, err := s.offline.Scan(t.Context(), v, offline.ScanRequest{})
	require.NoError(t, err)
	defer r.Release()
	var rows []row
	for r.Next() {
		rec := r.Record()
		for i := range int(rec.NumRows()) {
			var cells []feature.Value
			for c, typ := range cellTypes(v) {
				cell, err := columns.Value(rec.Column(c), i, typ)
				require.NoError(t, err)
				cells = append(cells, cell)
			}
			n := len(v.Keys)
			rows = append(rows, row{key: cells[:n], event: cells[n].Timestamp(), values: cells[n+2:]})
		}
	}
	require.NoError(t, r.Err())
	return lines(t, v, rows)
}

func cellTypes(v *feature.BoundView) []feature.Type {
	out := make([]feature.Type, 0, len(v.Keys)+2+len(v.Features))
	for _, k := range v.Keys {
		out = append(out, k.Type)
	}
	out = append(out, feature.TimestampType, feature.TimestampType)
	for _, f := range v.Features {
		out = append(out, f.Type)
	}
	return out
}
