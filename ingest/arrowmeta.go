package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// The metadata of Arrow is a flatbuffer, which is read where it lies. The Arrow
// module makes room for as many fields and buffers as it says that there are,
// so its lengths are checked first; a wrong offset is only a panic of the
// module, which guarded catches.

// Places of members in the tables of Arrow's metadata (Message.fbs and
// Schema.fbs), as offsets into their vtables.
const (
	messageHeaderType = 6
	messageHeader     = 8
	messageBodyLength = 10

	schemaFields   = 6
	schemaMetadata = 8
	schemaFeatures = 10

	fieldKind       = 8
	fieldDictionary = 12
	fieldChildren   = 14
	fieldMetadata   = 16
	encodingID      = 4

	dictionaryID   = 4
	dictionaryData = 6

	batchNodes       = 6
	batchBuffers     = 8
	batchCompression = 10
	batchVariadic    = 12
)

// The kinds of header of a message.
const (
	headerIsSchema     = 1
	headerIsDictionary = 2
	headerIsBatch      = 3
)

var errMeta = errors.New("metadata with a length beyond its end")

// shape is how much of a record batch the Arrow module reads for some columns,
// whatever the batch says that it has.
type shape struct {
	nodes   int // one for each column, those within others included
	buffers int
	views   int // columns with a number of buffers that the batch says
}

func (s *shape) add(more shape) {
	s.nodes += more.nodes
	s.buffers += more.buffers
	s.views += more.views
}

// columnBuffers is how many buffers a column of a kind has, by its number in
// Schema.fbs; -1 is not read here.
var columnBuffers = [...]int{
	-1,                  // none
	0, 2, 2, 3, 3, 2, 2, // null, int, floating point, binary, utf8, bool, decimal
	2, 2, 2, 2, 2, 1, -1, // date, time, timestamp, interval, list, struct, union
	2, 1, 2, 2, 3, 3, 2, // fixed size binary, fixed size list, map, duration, large binary, large utf8, large list
	-1, 2, 2, 3, 3, // run-end encoded, binary view, utf8 view, list view, large list view
}

const (
	kindBinaryView = 23
	kindUTF8View   = 24
	indexBuffers   = 2 // of a column that points into a dictionary
)

// maxArrowFields bounds the fields of a schema, those within others included: a
// few bytes that stand for the children of many could say any number.
const maxArrowFields = 1 << 17

// maxArrowDepth bounds how deep fields lie in one another.
const maxArrowDepth = 64

// metadata checks the metadata of messages, of which the schema comes first.
type metadata struct {
	columns      shape
	dictionaries map[int64]shape
	fields       int
}

// check refuses a message that would make the Arrow module read beyond what the
// message has, or take more memory than that, or than a body may have once it is
// unpacked.
func (m *metadata) check(message table, body []byte) error {
	header, ok := message.table(messageHeader)
	if !ok {
		return errors.New("a message without a header")
	}
	switch message.byte(messageHeaderType) {
	case headerIsSchema:
		if !header.fits(schemaMetadata, 4) || !header.fits(schemaFeatures, 8) {
			return errMeta
		}
		m.dictionaries = map[int64]shape{}
		var err error
		m.columns, err = m.fieldsOf(header, schemaFields, maxArrowDepth)
		return err
	case headerIsDictionary:
		id, _ := header.int64(dictionaryID)
		values, known := m.dictionaries[id]
		if header, ok = header.table(dictionaryData); !ok || !known {
			return fmt.Errorf("a dictionary %d that no column has", id)
		}
		return checkBatch(header, body, values)
	case headerIsBatch:
		return checkBatch(header, body, m.columns)
	}
	return nil // of a kind that the module refuses
}

// fieldsOf returns what the columns of a vector of fields take.
func (m *metadata) fieldsOf(of table, slot, depth int) (shape, error) {
	var out shape
	if !of.fits(slot, 4) {
		return out, errMeta
	}
	fields := of.tables(slot)
	if m.fields += len(fields); m.fields > maxArrowFields || depth == 0 && len(fields) > 0 {
		return out, fmt.Errorf("a schema of more than %d fields, or more than %d deep", maxArrowFields, maxArrowDepth)
	}
	for _, f := range fields {
		column, err := m.field(f, depth)
		if err != nil {
			return out, err
		}
		out.add(column)
	}
	return out, nil
}

func (m *metadata) field(f table, depth int) (shape, error) {
	kind := int(f.byte(fieldKind))
	if kind >= len(columnBuffers) || columnBuffers[kind] < 0 {
		return shape{}, fmt.Errorf("a column of kind %d, which is not read here (a union, run-end encoded, or newer than this program)", kind)
	}
	if !f.fits(fieldMetadata, 4) {
		return shape{}, errMeta
	}
	out, err := m.fieldsOf(f, fieldChildren, depth-1)
	if err != nil {
		return out, err
	}
	out.add(shape{nodes: 1, buffers: columnBuffers[kind]})
	if kind == kindBinaryView || kind == kindUTF8View {
		out.views++
	}
	if encoding, ok := f.table(fieldDictionary); ok {
		id, _ := encoding.int64(encodingID)
		m.dictionaries[id] = out
		return shape{nodes: 1, buffers: indexBuffers}, nil
	}
	return out, nil
}

// checkBatch checks that a record batch has what its columns need, that its
// buffers lie in its body and, if they are packed, that they do not unpack to
// too much.
func checkBatch(batch table, body []byte, need shape) error {
	if !batch.fits(batchNodes, 16) || !batch.fits(batchBuffers, 16) || !batch.fits(batchVariadic, 8) {
		return errMeta
	}
	buffers, views := batch.extents(batchBuffers), batch.int64s(batchVariadic)
	if len(views) < need.views {
		return fmt.Errorf("a message with %d numbers of buffers where its columns have %d", len(views), need.views)
	}
	for _, n := range views[:need.views] {
		if n < 0 || n > int64(len(buffers)) {
			return fmt.Errorf("a column of %d buffers where the message has %d", n, len(buffers))
		}
		need.buffers += int(n)
	}
	if _, nodes, _ := batch.vector(batchNodes); nodes < need.nodes || len(buffers) < need.buffers {
		return fmt.Errorf("a message with %d columns and %d buffers where %d and %d are expected", nodes, len(buffers), need.nodes, need.buffers)
	}
	return checkBuffers(batch, buffers, body)
}

func checkBuffers(batch table, buffers []extent, body []byte) error {
	_, packed := batch.table(batchCompression)
	total := int64(0)
	for _, b := range buffers {
		if b.offset < 0 || b.length < 0 || b.length > int64(len(body)) || b.offset > int64(len(body))-b.length {
			return errors.New("a buffer outside of its message")
		}
		if !packed || b.length < 8 {
			continue
		}
		size := int64(binary.LittleEndian.Uint64(body[b.offset:])) //nolint:gosec // -1 says that the buffer is not packed
		if total += max(size, 0); size < -1 || size > maxArrowBody || total > maxArrowBody {
			return fmt.Errorf("a message that unpacks to more than %d bytes", maxArrowBody)
		}
	}
	return nil
}

// table is a table of a flatbuffer, of which only a few members are wanted.
//
// It begins with the distance back to its vtable; the vtable has its own length,
// that of the table, and for each member where in the table it lies, 0 if it
// does not. Whatever lies outside of buf is not there: it is a panic of the
// Arrow module.
type table struct {
	buf []byte
	pos int
}

func rootTable(buf []byte) (table, bool) {
	at, ok := table{buf: buf}.uint32(0)
	return table{buf: buf, pos: int(at)}, ok && int(at) < len(buf)
}

func (t table) uint32(at int) (uint32, bool) {
	if at < 0 || at > len(t.buf)-4 {
		return 0, false
	}
	return binary.LittleEndian.Uint32(t.buf[at:]), true
}

// member returns where a member lies.
func (t table) member(slot int) (at int, ok bool) {
	back, ok := t.uint32(t.pos)
	if !ok {
		return 0, false
	}
	vtable := t.pos - int(int32(back)) //nolint:gosec // a signed number in four bytes
	if vtable < 0 || vtable > len(t.buf)-2 {
		return 0, false
	}
	size := int(binary.LittleEndian.Uint16(t.buf[vtable:]))
	if slot >= size || vtable+slot+2 > len(t.buf) {
		return 0, false
	}
	off := int(binary.LittleEndian.Uint16(t.buf[vtable+slot:]))
	return t.pos + off, off != 0
}

func (t table) byte(slot int) byte {
	if at, ok := t.member(slot); ok && at < len(t.buf) {
		return t.buf[at]
	}
	return 0
}

func (t table) int64(slot int) (int64, bool) {
	at, ok := t.member(slot)
	if !ok || at > len(t.buf)-8 {
		return 0, false
	}
	return int64(binary.LittleEndian.Uint64(t.buf[at:])), true //nolint:gosec // a signed number in eight bytes
}

// table returns the table that a member points to.
func (t table) table(slot int) (table, bool) {
	at, ok := t.member(slot)
	if !ok {
		return t, false
	}
	return t.follow(at)
}

// follow returns the table, or vector, that the offset at a place points to. The
// sum is one of 32 bits, as the Arrow module makes it: what is far beyond the
// end is somewhere before it.
func (t table) follow(at int) (table, bool) {
	off, ok := t.uint32(at)
	return table{buf: t.buf, pos: int(uint32(at) + off)}, ok //nolint:gosec // a place in the buffer
}

// vector returns where the elements of a member that is a vector begin, and how
// many it says there are.
func (t table) vector(slot int) (start, n int, ok bool) {
	v, ok := t.table(slot)
	if !ok {
		return 0, 0, false
	}
	count, ok := t.uint32(v.pos)
	return v.pos + 4, int(count), ok
}

// fits tells whether a vector of elements of some bytes ends where the buffer
// does, at the latest. One that is not there fits.
func (t table) fits(slot, size int) bool {
	start, n, ok := t.vector(slot)
	return !ok || n <= (len(t.buf)-start)/size
}

// tables returns the elements of a vector of tables, which fits.
func (t table) tables(slot int) []table {
	start, n, ok := t.vector(slot)
	if !ok {
		return nil
	}
	out := make([]table, 0, n)
	for i := range n {
		if of, ok := t.follow(start + 4*i); ok {
			out = append(out, of)
		}
	}
	return out
}

// int64s returns the elements of a vector of numbers, which fits.
func (t table) int64s(slot int) []int64 {
	start, n, ok := t.vector(slot)
	if !ok {
		return nil
	}
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(binary.LittleEndian.Uint64(t.buf[start+8*i:])) //nolint:gosec // a signed number in eight bytes
	}
	return out
}

// extent is a buffer of a batch: where in the body it lies.
type extent struct{ offset, length int64 }

// extents returns the elements of a vector of buffers, which fits.
func (t table) extents(slot int) []extent {
	start, n, ok := t.vector(slot)
	if !ok {
		return nil
	}
	out := make([]extent, n)
	for i := range out {
		at := t.buf[start+16*i:]
		out[i].offset = int64(binary.LittleEndian.Uint64(at))     //nolint:gosec // a signed number in eight bytes
		out[i].length = int64(binary.LittleEndian.Uint64(at[8:])) //nolint:gosec // a signed number in eight bytes
	}
	return out
}
