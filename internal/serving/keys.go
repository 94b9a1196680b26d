package serving

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/keyenc"
	"github.com/granary-ml/granary/internal/strictjson"
)

// maxFaults bounds the faults about the values of one join key: a million
// wrong values need not be listed.
const maxFaults = 20

// keyColumn is one join key of a request, read: for each row the encoding of
// its value, and the text that the answer repeats.
type keyColumn struct {
	given   bool
	rows    int
	encoded []byte
	ends    []int  // where the encoding of each row ends
	nulls   []bool // up to the last null; nil as long as no row is null
	text    []byte // the values as JSON, with commas between
}

func (c *keyColumn) reset() {
	*c = keyColumn{encoded: c.encoded[:0], ends: c.ends[:0], text: c.text[:0]}
}

func (c *keyColumn) segment(row int) []byte {
	start := 0
	if row > 0 {
		start = c.ends[row-1]
	}
	return c.encoded[start:c.ends[row]]
}

func (c *keyColumn) null(row int) bool { return len(c.nulls) > row && c.nulls[row] }

// read reads the values of a join key from a JSON array. Its faults are about
// single values.
func (c *keyColumn) read(key feature.JoinKey, raw jsontext.Value) []feature.Fault {
	c.given = true
	var faults []feature.Fault
	list := arrayOf(raw)
	for ; ; c.rows++ {
		item, ok := list.next()
		if !ok {
			return faults
		}
		if c.rows > 0 {
			c.text = append(c.text, ',')
		}
		if err := c.add(key, item); err != nil && len(faults) < maxFaults {
			faults = append(faults, feature.Fault{Field: fmt.Sprintf("entities.%s[%d]", key.Name, c.rows), Detail: err.Error()})
		}
		c.ends = append(c.ends, len(c.encoded))
	}
}

// add reads one value. The usual spellings are read without making a Value.
func (c *keyColumn) add(key feature.JoinKey, raw jsontext.Value) error {
	switch {
	case raw[0] == 'n':
		c.setNull()
		return nil
	case key.Type == feature.Int64 || key.Type == feature.Int32:
		if v, ok := plainInt(raw); ok && c.addInt(key.Type, v) {
			c.text = append(c.text, raw...)
			return nil
		}
	case key.Type == feature.String && raw[0] == '"' && plainString(raw):
		if len(raw) > feature.MaxEntityKeyBytes {
			return errKeyTooLarge
		}
		c.encoded = keyenc.AppendBytes(c.encoded, raw[1:len(raw)-1])
		c.text = append(c.text, raw...)
		return nil
	}
	v, err := strictjson.Value(key.Type, raw)
	if err != nil {
		return err
	}
	if len(v.Text()) > feature.MaxEntityKeyBytes {
		return errKeyTooLarge
	}
	c.encoded = feature.AppendKey(c.encoded, v)
	c.text = v.AppendJSON(c.text)
	return nil
}

var errKeyTooLarge = fmt.Errorf("an entity key has at most %d bytes", feature.MaxEntityKeyBytes)

func (c *keyColumn) setNull() {
	for len(c.nulls) < c.rows {
		c.nulls = append(c.nulls, false)
	}
	c.nulls = append(c.nulls, true)
	c.text = append(c.text, "null"...)
}

func (c *keyColumn) addInt(t feature.Type, v int64) bool {
	if t == feature.Int64 {
		c.encoded = keyenc.AppendInt64(c.encoded, v)
		return true
	}
	if v < math.MinInt32 || v > math.MaxInt32 {
		return false
	}
	c.encoded = keyenc.AppendInt32(c.encoded, int32(v))
	return true
}

// plainInt reads an integer of at most 18 digits, whose text is already the
// one that we write.
func plainInt(raw []byte) (int64, bool) {
	digits := raw
	if raw[0] == '-' {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > 18 || len(digits) < len(raw) && digits[0] == '0' {
		return 0, false
	}
	var v int64
	for _, d := range digits {
		if d < '0' || d > '9' {
			return 0, false
		}
		v = v*10 + int64(d-'0')
	}
	if len(digits) < len(raw) {
		v = -v
	}
	return v, true
}

// plainString tells whether a JSON string is spelled without escapes, so that
// its bytes are its text and the ones that we write.
func plainString(raw []byte) bool { return bytes.IndexByte(raw, '\\') < 0 }

// entityKeys reads the entity keys of a view from columns of one length, for
// the requests that name entities and are not lookups. Every value must be
// there: a null names no entity.
func entityKeys(v *feature.BoundView, entities map[string][]wire.RawValue) ([]feature.EntityKey, error) {
	r := keyReader{view: v, entities: entities, rows: -1}
	columns := make([][]wire.RawValue, len(v.Keys))
	for i, k := range v.Keys {
		columns[i] = r.column(k)
	}
	var out []feature.EntityKey
	if len(r.faults) == 0 {
		for row := range max(r.rows, 0) {
			out = append(out, r.key(columns, row))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entities)) {
		if !slices.ContainsFunc(v.Keys, func(k feature.JoinKey) bool { return k.Name == name }) {
			r.fault("entities."+name, "not a join key of view %s (expected %s)", v.Name, keyNames(v.Keys))
		}
	}
	return out, feature.Invalid("", v.Subject(), r.faults)
}

type keyReader struct {
	view     *feature.BoundView
	entities map[string][]wire.RawValue
	rows     int // -1 before the first column
	faults   []feature.Fault
}

func (r *keyReader) fault(field, format string, args ...any) {
	if len(r.faults) < maxFaults {
		r.faults = append(r.faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
}

func (r *keyReader) column(k feature.JoinKey) []wire.RawValue {
	values, ok := r.entities[k.Name]
	switch {
	case !ok:
		r.fault("entities."+k.Name, "join key %s of view %s is missing", k.Name, r.view.Name)
	case r.rows >= 0 && len(values) != r.rows:
		r.fault("entities."+k.Name, "%d values where the other join keys have %d", len(values), r.rows)
	default:
		r.rows = len(values)
	}
	return values
}

func (r *keyReader) key(columns [][]wire.RawValue, row int) feature.EntityKey {
	values := make([]feature.Value, len(columns))
	before := len(r.faults)
	for i, column := range columns {
		k := r.view.Keys[i]
		field := "entities." + k.Name + "[" + strconv.Itoa(row) + "]"
		raw := jsontext.Value(column[row])
		if !raw.IsValid() {
			r.fault(field, "not valid JSON")
			continue
		}
		v, err := strictjson.Value(k.Type, raw)
		switch {
		case err != nil:
			r.fault(field, "%v", err)
		case v.IsNull():
			r.fault(field, "null names no entity")
		}
		values[i] = v
	}
	if len(r.faults) > before {
		return ""
	}
	key, err := feature.MakeEntityKey(r.view.Keys, values)
	if err != nil {
		r.fault("entities", "row %d: %v", row, err)
	}
	return key
}

func keyNames(keys []feature.JoinKey) string {
	names := make([]string, len(keys))
	for i, k := range keys {
		names[i] = k.Name
	}
	return strings.Join(names, ", ")
}
