package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/ipc"
	"github.com/apache/arrow/go/v17/arrow/memory"
	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
	"github.com/granary-ml/granary/internal/columns"
	"github.com/granary-ml/granary/offline"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/parquetio"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
	"github.com/granary-ml/granary/registry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is an ingester over real stores in memory, with a folder of files and a
// bucket of others.
type world struct {
	dir     string
	clock   *clock.Manual
	bucket  bucket.Bucket // the inputs that are URLs
	storage bucket.Bucket
	offline *offline.Store
	online  online.Store
	reg     *registry.Registry
	o       Options
}

// epoch is where the clock of every world begins.
var epoch = time.Date(2024, 1, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	storage, err := bucket.Open(t.Context(), "mem://", bucket.Options{})
	require.NoError(t, err)
	return newWorldOver(t, storage, onlinetest.NewReference())
}

func newWorldOver(t *testing.T, storage bucket.Bucket, store online.Store) *world {
	t.Helper()
	w := &world{dir: t.TempDir(), clock: clock.NewManual(epoch), storage: storage, online: store}
	var err error
	w.bucket, err = bucket.Open(t.Context(), "mem://", bucket.Options{})
	require.NoError(t, err)
	w.offline, err = offline.Open(t.Context(), storage, offline.Options{Clock: w.clock, TempDir: t.TempDir()})
	require.NoError(t, err)
	w.reg, err = registry.Open(t.Context(), storage, registry.Options{Clock: w.clock})
	require.NoError(t, err)
	w.o = Options{
		Offline: w.offline, Online: store, Clock: w.clock, TempDir: t.TempDir(),
		OpenBucket: func(_ context.Context, url string) (bucket.Bucket, error) {
			if url != "mem://inputs" {
				return nil, feature.Errorf(feature.CodeNotFound, "bucket.Open", url, "no such bucket")
			}
			return lent{w.bucket}, nil
		},
	}
	return w
}

// lent is a bucket that outlives whoever closes it.
type lent struct{ bucket.Bucket }

func (lent) Close() error { return nil }

func (w *world) ingester() *Ingester { return New(w.o) }

func (w *world) apply(t *testing.T, yaml string) {
	t.Helper()
	defs, err := registry.ParseYAML("script", []byte(yaml))
	require.NoError(t, err)
	_, err = w.reg.Apply(t.Context(), "p", wire.ApplyRequest{Definitions: defs})
	require.NoError(t, err)
}

func (w *world) view(t *testing.T, name string) *feature.BoundView {
	t.Helper()
	v, err := w.reg.Snapshot().View("p", name)
	require.NoError(t, err)
	return v
}

// rows prints the table of a view, a row a line, sorted by key and version.
func (w *world) rows(t *testing.T, v *feature.BoundView) string {
	t.Helper()
	r, err := w.offline.Scan(t.Context(), v, offline.ScanRequest{})
	require.NoError(t, err)
	defer r.Release()
	var lines []string
	for r.Next() {
		lines = append(lines, printRecord(t, r.Record())...)
	}
	require.NoError(t, r.Err())
	slices.Sort(lines)
	if len(lines) == 0 {
		return "no rows\n"
	}
	return strings.Join(lines, "\n") + "\n"
}

func printRecord(t *testing.T, rec arrow.Record) []string {
	t.Helper()
	out := make([]string, rec.NumRows())
	for i := range out {
		cells := make([]string, rec.NumCols())
		for k := range cells {
			cells[k] = printValue(t, rec.Column(k), i)
		}
		out[i] = strings.Join(cells, " ")
	}
	return out
}

func printValue(t *testing.T, arr arrow.Array, i int) string {
	t.Helper()
	typ, ok := typeOf(arr.DataType())
	if !ok {
		return arr.ValueStr(i)
	}
	v, err := columns.Value(arr, i, typ)
	require.NoError(t, err)
	return v.String()
}

// typeOf is the inverse of columns.DataType.
func typeOf(t arrow.DataType) (feature.Type, bool) {
	all := []feature.Type{feature.Bool, feature.Int32, feature.Int64, feature.Float32, feature.Float64, feature.String, feature.Bytes, feature.TimestampType}
	for _, scalar := range slices.Clone(all) {
		all = append(all, feature.ListOf(scalar))
	}
	if f, ok := t.(*arrow.FixedSizeListType); ok {
		all = append(all, feature.Vector(uint32(f.Len())))
	}
	for _, want := range all {
		if arrow.TypeEqual(columns.DataType(want), t) {
			return want, true
		}
	}
	return feature.Type{}, false
}

func TestScripts(t *testing.T) {
	for _, folder := range []string{"pipeline", "coerce", "materialize"} {
		datadriven.Walk(t, filepath.Join("testdata", folder), func(t *testing.T, path string) {
			t.Helper()
			w := newWorld(t)
			datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
				t.Helper()
				out, err := w.command(t, d)
				// A message names the folder of the test, which differs each time.
				return strings.ReplaceAll(out+printError(err), w.dir+"/", "")
			})
		})
	}
}

func printError(err error) string {
	if err == nil {
		return ""
	}
	return fmt.Sprintf("%s: %v\n", feature.CodeOf(err), err)
}

func (w *world) command(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	switch d.Cmd {
	case "define":
		w.apply(t, d.Input)
		return "", nil
	case "now":
		at, err := feature.ParseTimestamp(arg(d, "at"))
		require.NoError(t, err)
		w.clock.Set(at.Time())
		return "", nil
	case "file":
		w.file(t, arg(d, "name"), pack(t, arg(d, "pack"), contents(t, d)))
		return "", nil
	case "columns":
		w.file(t, arg(d, "name"), pack(t, arg(d, "pack"), columnar(t, arg(d, "as"), foreign(t, d.Input))))
		return "", nil
	case "ingest":
		return w.ingest(t, d)
	case "letters":
		text, err := os.ReadFile(filepath.Join(w.dir, arg(d, "name")))
		require.NoError(t, err)
		return string(text), nil
	case "rows":
		return w.rows(t, w.view(t, arg(d, "view"))), nil
	case "push":
		return w.push(t, d)
	case "materialize":
		return w.materialize(t, d)
	case "served":
		return w.served(t, d)
	case "coerce":
		return coerceScript(t, d)
	case "spine":
		return w.spine(t, d)
	}
	t.Fatalf("%s: no such command", d.Pos)
	return "", nil
}

// arg returns an argument of a command, "" without it; one without a value is
// its own name.
func arg(d *datadriven.TestData, name string) string {
	for _, a := range d.CmdArgs {
		switch {
		case a.Key == name && len(a.Vals) == 0:
			return name
		case a.Key == name:
			return strings.Join(a.Vals, ",")
		}
	}
	return ""
}

// contents returns the input with its escapes undone: \r, \xff, \x00. The last
// line has its end unless the argument "open" is there.
func contents(t *testing.T, d *datadriven.TestData) []byte {
	t.Helper()
	text := d.Input
	if text != "" && arg(d, "open") == "" {
		text += "\n"
	}
	if arg(d, "escaped") != "" {
		quoted := `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(text) + `"`
		var err error
		text, err = strconv.Unquote(quoted)
		require.NoError(t, err)
	}
	return []byte(text)
}

func pack(t *testing.T, how string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var z io.WriteCloser
	switch how {
	case "":
		return data
	case "gzip":
		z = gzip.NewWriter(&b)
	case "zstd":
		var err error
		z, err = zstd.NewWriter(&b)
		require.NoError(t, err)
	case "cut": // half of a gzip stream
		whole := pack(t, "gzip", data)
		return whole[:len(whole)-6]
	case "half":
		return data[:len(data)/2]
	default:
		t.Fatalf("%s is no way to pack", how)
	}
	_, err := z.Write(data)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

// file writes a file, or an object if the name begins with mem://inputs/.
func (w *world) file(t *testing.T, name string, data []byte) {
	t.Helper()
	if key, ok := strings.CutPrefix(name, "mem://inputs/"); ok {
		require.NoError(t, w.bucket.PutIfAbsent(t.Context(), key, data))
		return
	}
	path := filepath.Join(w.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, data, 0o600))
}

// foreign makes a record of lines "name type [JSON values]".
func foreign(tb testing.TB, input string) arrow.Record {
	tb.Helper()
	var fields []arrow.Field
	var arrays []arrow.Array
	for line := range strings.Lines(input) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		typ, values, _ := strings.Cut(rest, " ")
		arr := foreignArray(tb, typ, values)
		fields = append(fields, arrow.Field{Name: name, Type: arr.DataType(), Nullable: true})
		arrays = append(arrays, arr)
	}
	return array.NewRecord(arrow.NewSchema(fields, nil), arrays, int64(arrays[0].Len()))
}

var foreignTypes = map[string]arrow.DataType{
	"null": arrow.Null, "bool": arrow.FixedWidthTypes.Boolean,
	"int8": arrow.PrimitiveTypes.Int8, "int16": arrow.PrimitiveTypes.Int16,
	"int32": arrow.PrimitiveTypes.Int32, "int64": arrow.PrimitiveTypes.Int64,
	"uint8": arrow.PrimitiveTypes.Uint8, "uint16": arrow.PrimitiveTypes.Uint16,
	"uint32": arrow.PrimitiveTypes.Uint32, "uint64": arrow.PrimitiveTypes.Uint64,
	"float16": arrow.FixedWidthTypes.Float16, "float32": arrow.PrimitiveTypes.Float32, "float64": arrow.PrimitiveTypes.Float64,
	"string": arrow.BinaryTypes.String, "large_string": arrow.BinaryTypes.LargeString, "string_view": arrow.BinaryTypes.StringView,
	"binary": arrow.BinaryTypes.Binary, "large_binary": arrow.BinaryTypes.LargeBinary, "fixed_binary(2)": &arrow.FixedSizeBinaryType{ByteWidth: 2},
	"decimal(9,2)": &arrow.Decimal128Type{Precision: 9, Scale: 2}, "decimal(20,0)": &arrow.Decimal128Type{Precision: 20},
	"decimal256(40,2)": &arrow.Decimal256Type{Precision: 40, Scale: 2}, "decimal(5,-2)": &arrow.Decimal128Type{Precision: 5, Scale: -2},
	"timestamp[s]": &arrow.TimestampType{Unit: arrow.Second}, "timestamp[ms]": &arrow.TimestampType{Unit: arrow.Millisecond},
	"timestamp[us]": &arrow.TimestampType{Unit: arrow.Microsecond}, "timestamp[us,UTC]": columns.Timestamp,
	"timestamp[ns]": &arrow.TimestampType{Unit: arrow.Nanosecond}, "date32": arrow.FixedWidthTypes.Date32, "date64": arrow.FixedWidthTypes.Date64,
	"time32[s]":   arrow.FixedWidthTypes.Time32s,
	"dictionary":  &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: arrow.BinaryTypes.String},
	"list<int32>": arrow.ListOf(arrow.PrimitiveTypes.Int32), "large_list<int64>": arrow.LargeListOf(arrow.PrimitiveTypes.Int64),
	"list<float64>": arrow.ListOf(arrow.PrimitiveTypes.Float64), "list<string>": arrow.ListOf(arrow.BinaryTypes.String),
	"fixed_list<float64,2>": arrow.FixedSizeListOf(2, arrow.PrimitiveTypes.Float64),
	"struct":                arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64, Nullable: true}),
}

// foreignArray makes an array of a type from JSON values. Instants are given as
// the numbers that they are stored as.
func foreignArray(tb testing.TB, name, values string) arrow.Array {
	tb.Helper()
	typ, ok := foreignTypes[name]
	require.True(tb, ok, "no such type: %s", name)
	stored := typ
	if id := typ.ID(); id == arrow.TIMESTAMP || id == arrow.DATE64 {
		stored = arrow.PrimitiveTypes.Int64
	} else if id == arrow.DATE32 {
		stored = arrow.PrimitiveTypes.Int32
	}
	arr, _, err := array.FromJSON(memory.DefaultAllocator, stored, strings.NewReader(values), array.WithUseNumber())
	require.NoError(tb, err)
	if stored == typ {
		return arr
	}
	return array.MakeFromData(array.NewData(typ, arr.Len(), arr.Data().Buffers(), nil, arr.NullN(), 0))
}

// columnar writes a record as a file.
func columnar(tb testing.TB, as string, rec arrow.Record) []byte {
	tb.Helper()
	var b bytes.Buffer
	switch as {
	case "parquet":
		pw, err := parquetio.NewWriter(&b, rec.Schema(), parquetio.WriterOptions{})
		require.NoError(tb, err)
		require.NoError(tb, pw.Write(rec))
		_, err = pw.Close()
		require.NoError(tb, err)
	case "arrow":
		aw, err := ipc.NewFileWriter(&seekless{&b, 0}, ipc.WithSchema(rec.Schema()))
		require.NoError(tb, err)
		require.NoError(tb, aw.Write(rec))
		require.NoError(tb, aw.Close())
	case "stream", "stream-lz4":
		options := []ipc.Option{ipc.WithSchema(rec.Schema())}
		if as == "stream-lz4" {
			options = append(options, ipc.WithLZ4())
		}
		aw := ipc.NewWriter(&b, options...)
		require.NoError(tb, aw.Write(rec))
		require.NoError(tb, aw.Close())
	default:
		tb.Fatalf("%s is no columnar format", as)
	}
	return b.Bytes()
}

// seekless is a buffer that the writer of Arrow files asks where it is.
type seekless struct {
	io.Writer
	at int64
}

func (s *seekless) Write(p []byte) (int, error) {
	n, err := s.Writer.Write(p)
	s.at += int64(n)
	return n, err
}

func (s *seekless) Seek(int64, int) (int64, error) { return s.at, nil }

func (w *world) ingest(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	req := FileRequest{
		View: w.view(t, arg(d, "view")), BaseDir: w.dir, Format: feature.Format(arg(d, "format")),
		Strict: arg(d, "strict") != "", IdempotencyKey: arg(d, "key"),
	}
	if in := arg(d, "in"); in != "" {
		req.Inputs = strings.Split(in, ",")
	}
	if letters := arg(d, "letters"); letters != "" {
		req.DeadLetters = filepath.Join(w.dir, letters)
	}
	sum, err := w.ingester().Files(t.Context(), req)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d files, %d read, %d accepted, %d rejected, %d skipped, version %d", sum.Files, sum.Read, sum.Accepted, sum.Rejected, sum.Skipped, sum.Version)
	if sum.DeadLetters != "" {
		fmt.Fprintf(&b, ", letters in %s", filepath.Base(sum.DeadLetters))
	}
	if sum.Repeated {
		b.WriteString(", repeated")
	}
	b.WriteByte('\n')
	for _, r := range sum.Rejections {
		fmt.Fprintf(&b, "%s row %d line %d: %s: %s\n", r.Source, r.Row, r.Line, r.Field, r.Reason)
	}
	return b.String(), nil
}

func (w *world) push(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	body := contents(t, d)
	if as := arg(d, "as"); as != "" {
		body = columnar(t, as, foreign(t, d.Input))
	}
	res, err := w.ingester().Push(t.Context(), PushRequest{
		View: w.view(t, arg(d, "view")), Format: feature.Format(arg(d, "format")), Body: bytes.NewReader(pack(t, arg(d, "pack"), body)),
		Options: wire.PushOptions{
			Online: arg(d, "to") == "online", Offline: arg(d, "to") == "offline",
			IdempotencyKey: arg(d, "key"), Strict: arg(d, "strict") != "",
		},
	})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d accepted, %d superseded, version %d", res.Accepted, res.Superseded, res.Version)
	if res.Repeated {
		b.WriteString(", repeated")
	}
	b.WriteByte('\n')
	for _, r := range res.Rejected {
		fmt.Fprintf(&b, "row %d: %s: %s\n", r.Row, r.Field, r.Reason)
	}
	return b.String(), nil
}

func (w *world) materialize(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	req := MaterializeRequest{View: w.view(t, arg(d, "view")), Full: arg(d, "full") != ""}
	for name, to := range map[string]**feature.Timestamp{"start": &req.Start, "end": &req.End} {
		if text := arg(d, name); text != "" {
			at, err := feature.ParseTimestamp(text)
			require.NoError(t, err)
			*to = &at
		}
	}
	p, err := w.ingester().Materialize(t.Context(), req)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("version %d through %s: %d read, %d written, %d superseded\n", p.Version, p.Through, p.RowsRead, p.Written, p.Superseded), nil
}

// served prints what the online store holds of the keys of the table.
func (w *world) served(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	v := w.view(t, arg(d, "view"))
	layout := online.NewLayout(v)
	var b strings.Builder
	for line := range strings.Lines(d.Input) {
		texts := strings.Fields(line)
		require.Len(t, texts, len(v.Keys))
		values := make([]feature.Value, len(texts))
		for i, text := range texts {
			value, err := feature.ParseText(v.Keys[i].Type, text)
			require.NoError(t, err)
			values[i] = value
		}
		key, err := feature.MakeEntityKey(v.Keys, values)
		require.NoError(t, err)
		var rows online.Rows
		require.NoError(t, w.online.Read(t.Context(), []online.Lookup{{View: v.ID, Keys: []feature.EntityKey{key}}}, &rows))
		packed := rows.Row(0, 0)
		if packed == nil {
			fmt.Fprintf(&b, "%s: none\n", strings.Join(texts, " "))
			continue
		}
		version, err := online.VersionOf(packed)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s: event %s created %s", strings.Join(texts, " "), version.Event, version.Created)
		for i := range v.Features {
			value, err := layout.Value(packed, v.Slots[i])
			require.NoError(t, err)
			fmt.Fprintf(&b, " %s=%s", v.Features[i].Name, value)
		}
		b.WriteByte('\n')
	}
	return b.String(), nil
}

// coerceScript coerces one column: from a type of Arrow, or text of CSV or
// NDJSON, a value a line.
func coerceScript(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	to, err := feature.ParseType(arg(d, "to"))
	require.NoError(t, err)
	reasons := map[int]string{}
	var arr arrow.Array
	switch from := arg(d, "from"); from {
	case "csv", "ndjson":
		arr = coerceText(from, to, contents(t, d), reasons)
	default:
		c := coercer{typ: to, bad: func(row int, reason string) { reasons[row] = reason }}
		var mismatch error
		if arr, mismatch = c.coerce(foreignArray(t, from, d.Input)); mismatch != nil {
			return fmt.Sprintln(mismatch), nil
		}
		require.True(t, arrow.TypeEqual(columns.DataType(to), arr.DataType()), arr.DataType())
	}
	var b strings.Builder
	for i := range arr.Len() {
		text := printValue(t, arr, i)
		if reason, bad := reasons[i]; bad {
			require.True(t, arr.IsNull(i))
			text = "rejected: " + reason
		}
		b.WriteString(text + "\n")
	}
	return b.String(), nil
}

func coerceText(from string, to feature.Type, text []byte, reasons map[int]string) arrow.Array {
	c := newCells(1)
	if from == "csv" {
		newDialect(feature.CSVOptions{Delimiter: ";"}).split(text, []int{0}, c)
	} else {
		newJSONSplitter(map[string]int{"v": 0}, false).split(text, c)
	}
	arr := c.decode(0, to, 0)
	for _, f := range c.faults {
		reasons[f.row] = f.reason
	}
	return arr
}

func (w *world) spine(t *testing.T, d *datadriven.TestData) (string, error) {
	t.Helper()
	o := SpineOptions{Format: feature.Format(arg(d, "format")), TimeColumn: arg(d, "time"), TempDir: t.TempDir()}
	for _, key := range strings.FieldsFunc(arg(d, "keys"), func(r rune) bool { return r == ',' }) {
		name, typ, _ := strings.Cut(key, ":")
		parsed, err := feature.ParseType(typ)
		require.NoError(t, err)
		o.Keys = append(o.Keys, feature.JoinKey{Name: name, Type: parsed})
	}
	var r array.RecordReader
	var err error
	if in := arg(d, "in"); in != "" {
		r, err = OpenSpine(t.Context(), filepath.Join(w.dir, in), o)
	} else {
		r, err = ReadSpine(t.Context(), bytes.NewReader(contents(t, d)), o)
	}
	if err != nil {
		return "", err
	}
	defer r.Release()
	var b strings.Builder
	for _, f := range r.Schema().Fields() {
		fmt.Fprintf(&b, "%s: %s\n", f.Name, f.Type)
	}
	for r.Next() {
		for _, line := range printRecord(t, r.Record()) {
			b.WriteString(line + "\n")
		}
	}
	return b.String(), errors.Join(r.Err())
}
