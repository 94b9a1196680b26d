package parquetio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	magic           = "PAR1"
	magicEncrypted  = "PARE"
	tailSize        = 8         // length of the footer, magic
	maxFooterBytes  = 256 << 20 // a footer beyond is refused
	maxSchemaLength = 1 << 17   // elements of a schema
)

// physical is how values are stored, by the numbers of the specification.
type physical int32

const (
	physicalBool       physical = 0
	physicalInt32      physical = 1
	physicalInt64      physical = 2
	physicalInt96      physical = 3
	physicalFloat      physical = 4
	physicalDouble     physical = 5
	physicalBytes      physical = 6
	physicalFixedBytes physical = 7
)

var physicalNames = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"}

// String returns the name in the specification.
func (p physical) String() string {
	if p >= 0 && int(p) < len(physicalNames) {
		return physicalNames[p]
	}
	return fmt.Sprintf("type %d", int32(p))
}

// encoding is how a page holds values, by the numbers of the specification.
type encoding int32

const (
	encPlain           encoding = 0
	encPlainDictionary encoding = 2
	encRLE             encoding = 3
	encBitPacked       encoding = 4
	encDeltaBinary     encoding = 5
	encDeltaLength     encoding = 6
	encDeltaBytes      encoding = 7
	encRLEDictionary   encoding = 8
	encByteStreamSplit encoding = 9
)

// repetition of a schema element.
type repetition int32

const (
	required repetition = 0
	optional repetition = 1
	repeated repetition = 2
)

// footer is what we use of a file's metadata.
type footer struct {
	schema       []schemaElement
	rows         int64
	groups       []rowGroup
	metadata     map[string]string
	typedOrders  []bool // by leaf: its min_value and max_value have a known order
	encrypted    bool
	createdBy    string
	metadataKeys []string
}

type schemaElement struct {
	name       string
	typ        physical
	typeLength int32
	repetition repetition
	children   int32
	converted  int32 // -1: none
	scale      int32
	precision  int32
	logical    logicalType
	isLeaf     bool
}

type rowGroup struct {
	rows   int64
	chunks []columnChunk
}

type columnChunk struct {
	typ        physical
	codec      codecID
	encodings  []encoding
	values     int64 // with nulls
	packed     int64 // bytes in the file
	dataOffset int64
	dictOffset int64 // 0: none
	stats      chunkStats
	elsewhere  bool // in another file
	encrypted  bool
}

// chunkStats are the encoded statistics; nil where there is none.
type chunkStats struct {
	min, max       []byte // deprecated: signed order, whatever the type
	minVal, maxVal []byte
	nulls          int64 // -1: not said
}

// readFooter finds the footer of a file of size bytes and reads it.
func readFooter(r io.ReaderAt, size int64) (*footer, error) {
	if size < int64(len(magic))+tailSize {
		return nil, fmt.Errorf("not a Parquet file: %d bytes are too few", size)
	}
	// One read gets the tail and, of most files, the footer.
	guess := min(size, 64<<10)
	buf := make([]byte, guess)
	if err := readFull(r, buf, size-guess); err != nil {
		return nil, err
	}
	tail := buf[len(buf)-tailSize:]
	switch string(tail[4:]) {
	case magic:
	case magicEncrypted:
		return nil, errors.New("the file is encrypted, which is not supported")
	default:
		return nil, errors.New("not a Parquet file: it does not end with PAR1")
	}
	length := int64(binary.LittleEndian.Uint32(tail))
	switch {
	case length > size-tailSize-int64(len(magic)):
		return nil, fmt.Errorf("footer of %d bytes in a file of %d", length, size)
	case length > maxFooterBytes:
		return nil, fmt.Errorf("footer of %d bytes is larger than the limit of %d", length, maxFooterBytes)
	case length > guess-tailSize:
		buf = make([]byte, length)
		if err := readFull(r, buf, size-tailSize-length); err != nil {
			return nil, err
		}
	default:
		buf = buf[guess-tailSize-length : guess-tailSize]
	}
	return parseFooter(buf)
}

func readFull(r io.ReaderAt, buf []byte, off int64) error {
	n, err := r.ReadAt(buf, off)
	if n == len(buf) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return fmt.Errorf("%w at offset %d: %d bytes of %d", io.ErrUnexpectedEOF, off, n, len(buf))
	}
	return &sourceError{err}
}

// sourceError marks an error of the source that the file is read from, whose
// code is kept.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

func parseFooter(buf []byte) (*footer, error) {
	r := &thriftReader{buf: buf}
	out := &footer{rows: -1, metadata: map[string]string{}}
	var f field
	for r.next(&f) {
		switch f.id {
		case 2:
			n := r.list(f, thriftStruct)
			if n > maxSchemaLength {
				return nil, fmt.Errorf("schema of %d elements is larger than the limit of %d", n, maxSchemaLength)
			}
			for i := 0; i < n && r.err == nil; i++ {
				out.schema = append(out.schema, r.schemaElement())
			}
		case 3:
			out.rows = r.int(f)
		case 4:
			n := r.list(f, thriftStruct)
			for i := 0; i < n && r.err == nil; i++ {
				out.groups = append(out.groups, r.rowGroup())
			}
		case 5:
			n := r.list(f, thriftStruct)
			for i := 0; i < n && r.err == nil; i++ {
				r.keyValue(out)
			}
		case 6:
			out.createdBy = string(r.binary(f))
		case 7:
			n := r.list(f, thriftStruct)
			for i := 0; i < n && r.err == nil; i++ {
				out.typedOrders = append(out.typedOrders, r.union() == 1)
			}
		case 8:
			out.encrypted = true
			r.skip(f)
		default:
			r.skip(f)
		}
	}
	switch {
	case r.err != nil:
		return nil, fmt.Errorf("footer is damaged: %w", r.err)
	case out.encrypted:
		return nil, errors.New("the file is encrypted, which is not supported")
	case out.rows < 0:
		return nil, errors.New("footer is damaged: it has no number of rows")
	}
	return out, nil
}

func (r *thriftReader) keyValue(out *footer) {
	var f field
	var key, value string
	for r.next(&f) {
		switch f.id {
		case 1:
			key = string(r.binary(f))
		case 2:
			value = string(r.binary(f))
		default:
			r.skip(f)
		}
	}
	if _, ok := out.metadata[key]; !ok {
		out.metadata[key] = value
		out.metadataKeys = append(out.metadataKeys, key)
	}
}

// union reads a union and returns the id of what is set.
func (r *thriftReader) union() int16 {
	var f field
	var id int16
	for r.next(&f) {
		id = f.id
		r.skip(f)
	}
	return id
}

func (r *thriftReader) schemaElement() schemaElement {
	out := schemaElement{converted: -1, children: -1}
	var f field
	named := false
	for r.next(&f) {
		switch f.id {
		case 1:
			out.typ, out.isLeaf = physical(r.int32(f)), true
		case 2:
			out.typeLength = r.int32(f)
		case 3:
			out.repetition = repetition(r.int32(f))
		case 4:
			out.name, named = string(r.binary(f)), true
		case 5:
			out.children = r.int32(f)
		case 6:
			out.converted = r.int32(f)
		case 7:
			out.scale = r.int32(f)
		case 8:
			out.precision = r.int32(f)
		case 10:
			if r.expect(f, thriftStruct, "logical type") {
				out.logical = r.logicalType()
			}
		default:
			r.skip(f)
		}
	}
	if !named {
		r.fail(errors.New("a schema element has no name"))
	}
	return out
}

func (r *thriftReader) rowGroup() rowGroup {
	out := rowGroup{rows: -1}
	var f field
	for r.next(&f) {
		switch f.id {
		case 1:
			n := r.list(f, thriftStruct)
			for i := 0; i < n && r.err == nil; i++ {
				out.chunks = append(out.chunks, r.columnChunk())
			}
		case 3:
			out.rows = r.int(f)
		default:
			r.skip(f)
		}
	}
	if out.rows < 0 {
		r.fail(errors.New("a row group has no number of rows"))
	}
	return out
}

func (r *thriftReader) columnChunk() columnChunk {
	var out columnChunk
	var f field
	present := false
	for r.next(&f) {
		switch f.id {
		case 1:
			out.elsewhere = len(r.binary(f)) > 0
		case 3:
			if present = r.expect(f, thriftStruct, "column metadata"); present {
				r.columnMetadata(&out)
			}
		case 8, 9:
			out.encrypted = true
			r.skip(f)
		default:
			r.skip(f)
		}
	}
	if !present && !out.encrypted {
		r.fail(errors.New("a column chunk has no metadata"))
	}
	return out
}

func (r *thriftReader) columnMetadata(out *columnChunk) {
	out.values, out.stats.nulls = -1, -1
	var f field
	for r.next(&f) {
		switch f.id {
		case 1:
			out.typ = physical(r.int32(f))
		case 2:
			n := r.list(f, thriftI32)
			for i := 0; i < n && r.err == nil; i++ {
				out.encodings = append(out.encodings, encoding(r.zigzag())) //nolint:gosec // what is out of range is unknown
			}
		case 4:
			out.codec = codecID(r.int32(f))
		case 5:
			out.values = r.int(f)
		case 7:
			out.packed = r.int(f)
		case 9:
			out.dataOffset = r.int(f)
		case 11:
			out.dictOffset = r.int(f)
		case 12:
			if r.expect(f, thriftStruct, "statistics") {
				out.stats = r.statistics()
			}
		default:
			r.skip(f)
		}
	}
	if out.values < 0 {
		r.fail(errors.New("a column chunk has no number of values"))
	}
}

func (r *thriftReader) statistics() chunkStats {
	out := chunkStats{nulls: -1}
	var f field
	for r.next(&f) {
		switch f.id {
		case 1:
			out.max = r.binary(f)
		case 2:
			out.min = r.binary(f)
		case 3:
			out.nulls = r.int(f)
		case 5:
			out.maxVal = r.binary(f)
		case 6:
			out.minVal = r.binary(f)
		default:
			r.skip(f)
		}
	}
	return out
}
