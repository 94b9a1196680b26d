package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/bitutil"
	"github.com/apache/arrow/go/v17/arrow/memory"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// batch is what became of one chunk of an input.
type batch struct {
	record   arrow.Record // the accepted rows, as the view's table has them
	read     int64
	rejected int64
	skipped  int64
	lines    int64 // of text in the chunk
	// rejections count rows from 1 and lines from 0 within the chunk; place
	// makes them those of the input.
	rejections []Rejection
}

// place says where in which input the chunk begins.
func (b *batch) place(input string, rowsBefore, linesBefore int64) {
	for i := range b.rejections {
		r := &b.rejections[i]
		r.Source = input
		r.Row += rowsBefore
		if b.lines > 0 {
			r.Line += linesBefore + 1
		}
	}
}

// decoded is a chunk whose columns have been decoded or coerced, before the
// rules about whole rows.
type decoded struct {
	rows   int
	lines  int64
	arrays []arrow.Array // by column of the table; nil where the input has none
	faults []fault
	// locate tells where in the chunk a row stands, and what stood there.
	locate func(row int) (line int64, record []byte)
}

// finish checks the rows of a chunk and takes out those that are not accepted.
func (b *binding) finish(d *decoded) (*batch, error) {
	b.fill(d)
	b.check(d)
	out := &batch{read: int64(d.rows), lines: d.lines}
	if len(d.faults) == 0 {
		out.record = array.NewRecord(b.schema, d.arrays, int64(d.rows))
		return out, nil
	}
	keep := b.reject(d, out)
	arrays := make([]arrow.Array, len(d.arrays))
	for k, arr := range d.arrays {
		var err error
		if arrays[k], err = takeRuns(arr, keep); err != nil {
			return nil, feature.Errorf(feature.CodeInternal, "ingest", "column "+b.columns[k].name, "taking out rejected rows: %w", err)
		}
	}
	out.record = array.NewRecord(b.schema, arrays, out.read-out.rejected-out.skipped)
	return out, nil
}

// fill puts in what the input does not have.
func (b *binding) fill(d *decoded) {
	for k := range b.columns {
		c := &b.columns[k]
		switch {
		case c.role == roleEvent && b.view.Static:
			d.arrays[k] = constant(feature.Epoch, d.rows)
		case c.role == roleCreated && d.arrays[k] == nil:
			d.arrays[k] = constant(b.now, d.rows)
		case c.role == roleCreated && d.arrays[k].NullN() > 0:
			d.arrays[k] = fillNulls(d, k, b.now)
		case d.arrays[k] == nil:
			d.arrays[k] = array.MakeArrayOfNull(memory.DefaultAllocator, columns.DataType(c.typ), d.rows)
		}
	}
}

// constant returns n times t.
func constant(t feature.Timestamp, n int) arrow.Array {
	values := make([]arrow.Timestamp, n)
	for i := range values {
		values[i] = arrow.Timestamp(t)
	}
	return fixedArray(columns.Timestamp, values, &validity{})
}

// fillNulls returns timestamps with t in place of nulls.
func fillNulls(d *decoded, k int, t feature.Timestamp) arrow.Array {
	old, ok := d.arrays[k].(*array.Timestamp)
	if !ok {
		return d.arrays[k]
	}
	values := slices.Clone(old.TimestampValues())
	for i := range values {
		if old.IsNull(i) {
			values[i] = arrow.Timestamp(t)
		}
	}
	return fixedArray(columns.Timestamp, values, &validity{})
}

// check finds the faults of whole rows: no key, no event timestamp, one too far
// ahead, a key that is too large.
func (b *binding) check(d *decoded) {
	text := false
	for k := range b.columns {
		c := &b.columns[k]
		switch c.role {
		case roleKey:
			text = text || c.typ == feature.String || c.typ == feature.Bytes
			d.missing(k, "the join key is missing")
		case roleEvent:
			d.missing(k, "the event timestamp is missing")
			if b.latest < feature.MaxTimestamp {
				b.checkFuture(d, k)
			}
		case roleCreated, roleFeature:
		}
	}
	if text {
		b.checkKeyBytes(d)
	}
}

// missing makes each null of column k a fault, unless it is one already.
func (d *decoded) missing(k int, reason string) {
	arr := d.arrays[k]
	if arr.NullN() == 0 {
		return
	}
	known := map[int]bool{}
	for _, f := range d.faults {
		if f.column == k || f.column < 0 {
			known[f.row] = true
		}
	}
	for i := range arr.Len() {
		if arr.IsNull(i) && !known[i] {
			d.faults = append(d.faults, fault{row: i, column: k, reason: reason, incomplete: true})
		}
	}
}

func (b *binding) checkFuture(d *decoded, k int) {
	events, ok := d.arrays[k].(*array.Timestamp)
	if !ok {
		return
	}
	for i, t := range events.TimestampValues() {
		if feature.Timestamp(t) > b.latest && events.IsValid(i) {
			d.faults = append(d.faults, fault{row: i, column: k, reason: fmt.Sprintf(
				"%s is too far ahead of the clock (%s, and rows may be dated up to %s)",
				feature.Timestamp(t), b.now, b.latest,
			)})
		}
	}
}

// checkKeyBytes finds keys that are too large once they are encoded. Encoding
// at most doubles text, so that most keys need no look.
func (b *binding) checkKeyBytes(d *decoded) {
	const fixed = 16 // more than any other key takes, or the end of text
	for i := range d.rows {
		bytes := 0
		for k := range b.view.Keys {
			bytes += fixed + 2*textBytes(d.arrays[k], i)
		}
		if bytes <= feature.MaxEntityKeyBytes {
			continue
		}
		var key []byte
		for k := range b.view.Keys {
			if v, err := columns.Value(d.arrays[k], i, b.columns[k].typ); err == nil && !v.IsNull() {
				key = feature.AppendKey(key, v)
			}
		}
		if len(key) > feature.MaxEntityKeyBytes {
			d.faults = append(d.faults, fault{row: i, column: 0, reason: fmt.Sprintf(
				"an entity key of %d bytes, more than %d", len(key), feature.MaxEntityKeyBytes,
			)})
		}
	}
}

func textBytes(arr arrow.Array, i int) int {
	switch a := arr.(type) {
	case *array.String:
		return a.ValueLen(i)
	case *array.Binary:
		return a.ValueLen(i)
	}
	return 0
}

// reject takes the rows with faults out and returns the bitmap of the others.
func (b *binding) reject(d *decoded, out *batch) (keep []byte) {
	keep = make([]byte, bitutil.BytesForBits(int64(d.rows)))
	bitutil.SetBitsTo(keep, 0, int64(d.rows), true)
	slices.SortStableFunc(d.faults, func(f, g fault) int {
		return cmp.Or(cmp.Compare(f.row, g.row), cmp.Compare(f.column, g.column))
	})
	for rest := d.faults; len(rest) > 0; {
		row, n := rest[0].row, 1
		for n < len(rest) && rest[n].row == row {
			n++
		}
		of := rest[:n]
		rest = rest[n:]
		bitutil.ClearBit(keep, row)
		if b.skip && slices.ContainsFunc(of, func(f fault) bool { return f.incomplete }) {
			out.skipped++
			continue
		}
		out.rejected++
		out.rejections = append(out.rejections, b.rejections(d, row, of)...)
	}
	return keep
}

// rejections tells the faults of one row.
func (b *binding) rejections(d *decoded, row int, faults []fault) []Rejection {
	line, record := int64(0), []byte(nil)
	if d.locate != nil {
		line, record = d.locate(row)
	}
	out := make([]Rejection, len(faults))
	for i, f := range faults {
		out[i] = Rejection{Row: int64(row) + 1, Line: line, Field: f.field, Reason: f.reason}
		if f.column >= 0 {
			out[i].Field = b.columns[f.column].name
		}
	}
	out[0].setRecord(record)
	return out
}

// maxRecordKept is the longest record that a rejection repeats.
const maxRecordKept = 64 << 10

func (r *Rejection) setRecord(record []byte) {
	switch {
	case len(record) > maxRecordKept:
	case utf8.Valid(record):
		r.Record = string(record)
	default:
		r.RecordBytes = slices.Clone(record)
	}
}

// takeRuns returns the values whose bit in keep is set.
func takeRuns(arr arrow.Array, keep []byte) (arrow.Array, error) {
	var runs []arrow.Array
	for start := 0; start < arr.Len(); {
		if !bitutil.BitIsSet(keep, start) {
			start++
			continue
		}
		end := start + 1
		for end < arr.Len() && bitutil.BitIsSet(keep, end) {
			end++
		}
		runs = append(runs, array.NewSlice(arr, int64(start), int64(end)))
		start = end
	}
	if len(runs) == 0 {
		return array.NewSlice(arr, 0, 0), nil
	}
	return array.Concatenate(runs, memory.DefaultAllocator)
}
