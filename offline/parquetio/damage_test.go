package parquetio

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/granary-ml/granary/feature"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// small are limits under which damaged files are read.
var small = ReaderOptions{MaxPageBytes: 1 << 20, MaxDataBytes: 1 << 20, MaxGroupRows: 1 << 16}

// tryRead opens and reads a file in both ways, and holds that each gives the
// rows of the footer or an error with a code that says whose fault it is.
func tryRead(tb testing.TB, data []byte) error {
	tb.Helper()
	return tryReadWith(tb, data, small)
}

func tryReadWith(tb testing.TB, data []byte, o ReaderOptions) error {
	tb.Helper()
	f, err := Open(bytes.NewReader(data), int64(len(data)), "damaged", o)
	if err != nil {
		requireFault(tb, err)
		return err
	}
	defer func() { require.NoError(tb, f.Close()) }()
	var first error
	for i := range f.RowGroups() {
		rec, err := f.ReadRowGroup(tb.Context(), i, nil)
		if err != nil {
			requireFault(tb, err)
			first = errors.Join(first, err)
			tryPicks(tb, f, i)
			continue
		}
		require.Equal(tb, f.RowGroupRows(i), rec.NumRows())
		for c := range int(rec.NumCols()) {
			require.EqualValues(tb, rec.NumRows(), rec.Column(c).Len())
		}
		requirePicks(tb, f, i, rec)
		for _, field := range f.Schema().Fields() {
			f.Range(i, field.Name)
		}
		f.RowGroupBytes(i, nil)
	}
	rows := int64(0)
	for rec, err := range f.Records(tb.Context(), ScanOptions{BatchRows: 8}) {
		if err != nil {
			requireFault(tb, err)
			return errors.Join(first, err)
		}
		rows += rec.NumRows()
	}
	require.Equal(tb, f.Rows(), rows)
	return first
}

func requireFault(tb testing.TB, err error) {
	tb.Helper()
	code := feature.CodeOf(err)
	require.Contains(tb, []feature.Code{feature.CodeDataLoss, feature.CodeTooLarge, feature.CodeUnsupportedMediaType}, code, "%v", err)
	require.ErrorContains(tb, err, "file damaged")
	require.NotContains(tb, err.Error(), "parquetio.(", "a panic of ours")
	require.NotContains(tb, err.Error(), "runtime error", "a panic of ours")
}

// samples are small files of many forms.
func samples(tb testing.TB) map[string][]byte {
	tb.Helper()
	out := map[string][]byte{}
	rec := randomRecord(8, 20)
	for name, codec := range benchCodecs {
		out["ours-"+name], _ = write(tb, rec.Schema(), WriterOptions{Codec: codec, RowGroupRows: 12}, rec)
	}
	for _, name := range []string{"delta", "split", "codec-lz4", "codec-gzip", "codec-brotli", "version-2", "types", "types-integer-decimals", "int96", "polars", "empty", "no-row-group"} {
		out[name] = foreign(tb, name)
	}
	return out
}

func TestTruncatedFiles(t *testing.T) {
	for name, data := range samples(t) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, tryRead(t, data))
			for n := 0; n < len(data); n += 1 + len(data)/150 {
				require.Error(t, tryRead(t, data[:n]), "cut to %d of %d bytes", n, len(data))
			}
			require.Error(t, tryRead(t, data[:len(data)-1]))
		})
	}
}

// TestDamagedFiles changes bytes in every region of a file, one at a time.
func TestDamagedFiles(t *testing.T) {
	for name, data := range samples(t) {
		t.Run(name, func(t *testing.T) {
			refused := 0
			step := 1 + len(data)/120
			for i := 0; i < len(data); i += step {
				for _, change := range []byte{0x01, 0x80, 0xff} {
					damaged := bytes.Clone(data)
					damaged[i] ^= change
					if tryRead(t, damaged) != nil {
						refused++
					}
				}
			}
			require.Positive(t, refused)
		})
	}
}

// patch replaces an integer in the footer. The path to it is field numbers, and
// positions in lists.
func patch(t *testing.T, data []byte, value int64, path ...int) []byte {
	t.Helper()
	length := int(binary.LittleEndian.Uint32(data[len(data)-tailSize:]))
	footer := data[len(data)-tailSize-length : len(data)-tailSize]
	r := &thriftReader{buf: footer}
	for i := 0; i < len(path); i++ {
		var f field
		for r.next(&f) && int(f.id) != path[i] {
			r.skip(f)
		}
		require.NoError(t, r.err)
		if f.typ != thriftList {
			continue
		}
		_, elem := r.listHead()
		i++
		for range path[i] {
			r.skipValue(elem, true, 0)
		}
	}
	start := r.pos
	r.zigzag()
	require.NoError(t, r.err)
	changed := bytes.Clone(data[:len(data)-tailSize-length])
	changed = append(changed, footer[:start]...)
	changed = binary.AppendVarint(changed, value)
	changed = append(changed, footer[r.pos:]...)
	changed = binary.LittleEndian.AppendUint32(changed, uint32(length-(r.pos-start)+len(binary.AppendVarint(nil, value))))
	return append(changed, magic...)
}

// The paths of integers in the footer, of the first row group and column.
var (
	fileRows    = []int{3}
	groupRows   = []int{4, 0, 3}
	chunkCodec  = []int{4, 0, 1, 0, 3, 4}
	chunkValues = []int{4, 0, 1, 0, 3, 5}
	chunkBytes  = []int{4, 0, 1, 0, 3, 7}
	chunkStart  = []int{4, 0, 1, 0, 3, 9}
	chunkType   = []int{4, 0, 1, 0, 3, 1}
	chunkCoding = []int{4, 0, 1, 0, 3, 2, 0}
	elementType = []int{2, 1, 1}
)

func TestFootersThatLie(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "k", Type: arrow.PrimitiveTypes.Float64}}, nil)
	flat, _ := write(t, schema, WriterOptions{Codec: Uncompressed}, fromJSON(t, schema, `[{"k": 1}, {"k": 2}, {"k": 3}]`))
	listed := arrow.NewSchema([]arrow.Field{{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true}}, nil)
	nested, _ := write(t, listed, WriterOptions{Codec: Uncompressed}, fromJSON(t, listed, `[{"l": [1, 2]}, {"l": null}, {"l": [3]}]`))
	rows := func(data []byte, n int64) []byte { return patch(t, patch(t, data, n, fileRows...), n, groupRows...) }
	tests := []struct {
		name string
		data []byte
		code feature.Code
		says string
	}{
		{"file with more rows than its groups", patch(t, flat, 4, fileRows...), feature.CodeDataLoss, "footer says 4 rows"},
		{"group with more rows than the file", patch(t, flat, 4, groupRows...), feature.CodeDataLoss, "row groups have 4"},
		{"negative rows", rows(flat, -3), feature.CodeDataLoss, "no number of rows"},
		{"rows without values", rows(flat, 4), feature.CodeDataLoss, "column k: row group 0: it has 3 values, and the row group 4 rows"},
		{"fewer rows than values", rows(flat, 2), feature.CodeDataLoss, "column k: row group 0: it has 3 values"},
		{"more values than pages", patch(t, rows(flat, 4), 4, chunkValues...), feature.CodeDataLoss, "ends after 3 of 4 values"},
		{"fewer values than pages", patch(t, rows(flat, 2), 2, chunkValues...), feature.CodeDataLoss, "more than the 2 values"},
		{"more rows than lists", rows(nested, 5), feature.CodeDataLoss, "column l.list.element: row group 0: it has 2 rows less than the footer says"},
		{"fewer rows than lists", rows(nested, 2), feature.CodeDataLoss, "more rows than the footer says"},
		{"rows beyond memory", patch(t, rows(flat, math.MaxInt32), math.MaxInt32, chunkValues...), feature.CodeTooLarge, "larger than the limit"},
		{"rows beyond numbers", rows(flat, math.MaxInt64), feature.CodeTooLarge, "larger than the limit"},
		{"column beyond the file", patch(t, flat, 1<<40, chunkBytes...), feature.CodeDataLoss, "outside the file"},
		{"column before the file", patch(t, flat, -1, chunkStart...), feature.CodeDataLoss, "outside the file"},
		{"column in the footer", patch(t, flat, int64(len(flat))-20, chunkStart...), feature.CodeDataLoss, "outside the file"},
		{"another type", patch(t, flat, 2, chunkType...), feature.CodeDataLoss, "stored as INT64, and the schema says DOUBLE"},
		{"unknown type", patch(t, flat, 99, elementType...), feature.CodeUnsupportedMediaType, "type 99"},
		{"unknown codec", patch(t, flat, 42, chunkCodec...), feature.CodeUnsupportedMediaType, "compression codec 42 is not supported"},
		{"LZO", patch(t, flat, 3, chunkCodec...), feature.CodeUnsupportedMediaType, "compression LZO is not supported"},
		{"not compressed as said", patch(t, flat, 6, chunkCodec...), feature.CodeDataLoss, "page of ZSTD"},
		{"unknown encoding", patch(t, flat, 77, chunkCoding...), feature.CodeUnsupportedMediaType, "encoding 77 is not known"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tryRead(t, tt.data)
			require.ErrorContains(t, err, tt.says)
			require.Equal(t, tt.code, feature.CodeOf(err), "%v", err)
		})
	}
	require.NoError(t, tryRead(t, patch(t, flat, 3, fileRows...)), "the patch itself is harmless")
}

// TestUnknownLogicalTypes changes the number of the logical type of a column in
// the footer. The other column can still be read.
func TestUnknownLogicalTypes(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "k", Type: arrow.PrimitiveTypes.Int64}}, nil)
	data, _ := write(t, schema, WriterOptions{}, fromJSON(t, schema, `[{"s": "a", "k": 1}]`))
	// The string type is field 10, a struct, with field 1, an empty struct.
	at := bytes.LastIndex(data, []byte{0x4c, 0x1c, 0x00, 0x00})
	require.Positive(t, at)
	data[at+1] = 0xfc // field 15 less 0: of a file to come
	f := open(t, data)
	require.Equal(t, 2, f.Schema().NumFields())
	_, err := f.ReadRowGroup(t.Context(), 0, []string{"s"})
	require.Equal(t, feature.CodeUnsupportedMediaType, feature.CodeOf(err), "%v", err)
	require.ErrorContains(t, err, "column s: row group 0: logical type")
	rec, err := f.ReadRowGroup(t.Context(), 0, []string{"k"})
	require.NoError(t, err)
	require.EqualValues(t, 1, rec.NumRows())
	_, ok := f.Range(0, "s")
	require.False(t, ok)
}

// header encodes a page header of a data page.
func header(unpacked, packed, values int64) []byte {
	out := []byte{0x15, 0x00} // type: data page
	out = binary.AppendVarint(append(out, 0x15), unpacked)
	out = binary.AppendVarint(append(out, 0x15), packed)
	out = binary.AppendVarint(append(out, 0x2c, 0x15), values) // field 5, a struct; number of values
	return append(out, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00)
}

func TestPageHeadersThatLie(t *testing.T) {
	read := func(raw []byte) error {
		p := pageReader{win: window{src: bytes.NewReader(raw), end: int64(len(raw)), block: 16}, unpack: &unpacker{}, limit: 1 << 20}
		return guard(func() error {
			_, _, _, _, err := p.next()
			return err
		})
	}
	body := make([]byte, 24)
	require.NoError(t, read(append(header(24, 24, 3), body...)))
	for name, tt := range map[string]struct {
		raw  []byte
		says string
	}{
		"unpacked beyond the limit": {append(header(1<<30, 24, 3), body...), "limit"},
		"packed beyond the limit":   {append(header(24, 1<<30, 3), body...), "limit"},
		"packed beyond the column":  {append(header(24, 25, 3), body...), "25 bytes where the column has 24"},
		"unpacked to another size":  {append(header(25, 24, 3), body...), "another size"},
		"negative size":             {append(header(-1, 24, 3), body...), "lacks"},
		"size beyond 32 bits":       {append(header(1<<40, 24, 3), body...), "out of range"},
		"values beyond the limit":   {append(header(24, 24, 1<<30), body...), "limit"},
		"negative values":           {append(header(24, 24, -1), body...), "number of values"},
		"zeros":                     {make([]byte, 100), "lacks"},
		"a header that never ends":  {append([]byte{0x98, 0xff, 0xff, 0xff, 0x7f}, bytes.Repeat([]byte{1}, 1000)...), "ends early"},
		"a list without elements":   {append([]byte{0x99, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x0f}, body...), "ends early"},
		"nested without end":        {bytes.Repeat([]byte{0xfc}, 2000), "nested too deeply"},
		"unknown wire type":         {append([]byte{0x9e}, body...), "wire type"},
	} {
		t.Run(name, func(t *testing.T) { require.ErrorContains(t, read(tt.raw), tt.says) })
	}
}

// TestBombs packs much into little: what comes out is bounded by the header,
// and the header by the limit.
func TestBombs(t *testing.T) {
	packed := map[codecID][]byte{}
	zeros := make([]byte, 1<<20)
	schema := arrow.NewSchema([]arrow.Field{{Name: "y", Type: arrow.BinaryTypes.Binary}}, nil)
	rec := fromJSON(t, schema, fmt.Sprintf(`[{"y": %q}]`, bytesJSON(zeros)))
	for codec, id := range map[Codec]codecID{Zstd: codecZstd, Snappy: codecSnappy} {
		data, _ := write(t, schema, WriterOptions{Codec: codec}, rec)
		f := open(t, data)
		c := f.footer.groups[0].chunks[0]
		p := pageReader{win: window{src: bytes.NewReader(data), off: 4, end: 4 + c.packed, block: 1 << 20}}
		h, _, err := p.header()
		require.NoError(t, err)
		packed[id], err = p.win.take(int(h.packed))
		require.NoError(t, err)
		_, err = Open(bytes.NewReader(data), int64(len(data)), "bomb", ReaderOptions{MaxDataBytes: 1 << 10})
		require.NoError(t, err)
		g, err := Open(bytes.NewReader(data), int64(len(data)), "bomb", ReaderOptions{MaxDataBytes: 1 << 10})
		require.NoError(t, err)
		_, err = g.ReadRowGroup(t.Context(), 0, nil)
		require.Equal(t, feature.CodeTooLarge, feature.CodeOf(err), "%v", err)
		require.ErrorContains(t, err, "column y")
	}
	u := &unpacker{}
	defer u.close()
	for id, raw := range packed {
		require.Less(t, len(raw), 1<<17)
		require.Error(t, u.unpack(id, make([]byte, 100), raw), "%s", id)
		require.Error(t, u.unpack(id, make([]byte, 2<<20), raw), "%s", id)
	}
}

// brokenSource fails from an offset on.
type brokenSource struct {
	*bytes.Reader
	from int64
}

var errSource = feature.Errorf(feature.CodeUnavailable, "bucket.ReadAt", "", "gone")

func (s *brokenSource) ReadAt(p []byte, off int64) (int, error) {
	if off+int64(len(p)) > s.from {
		return 0, errSource
	}
	return s.Reader.ReadAt(p, off)
}

func TestErrorsOfTheSourceKeepTheirCode(t *testing.T) {
	rec := randomRecord(1, 2000)
	data, _ := write(t, rec.Schema(), WriterOptions{Codec: Uncompressed}, rec)
	_, err := Open(&brokenSource{bytes.NewReader(data), 0}, int64(len(data)), "f", ReaderOptions{})
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
	f := open(t, data)
	f.src = &brokenSource{bytes.NewReader(data), 1000}
	_, err = f.ReadRowGroup(t.Context(), 0, nil)
	require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
	for _, err := range f.Records(t.Context(), ScanOptions{}) {
		require.Equal(t, feature.CodeUnavailable, feature.CodeOf(err))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = open(t, data).ReadRowGroup(ctx, 0, nil)
	require.Equal(t, feature.CodeCanceled, feature.CodeOf(err))
	require.ErrorIs(t, err, context.Canceled)
}

// TestSizeThatLies gives Open a size that the source does not have.
func TestSizeThatLies(t *testing.T) {
	data := foreign(t, "plain")
	_, err := Open(bytes.NewReader(data), int64(len(data))+100, "f", ReaderOptions{})
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
}
