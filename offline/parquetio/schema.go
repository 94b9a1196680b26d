package parquetio

import (
	"errors"
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
)

// logicalKind is what values mean, from the logical type or its predecessor, the
// converted type.
type logicalKind uint8

const (
	logicalNone logicalKind = iota
	logicalString
	logicalMap
	logicalList
	logicalDecimal
	logicalDate
	logicalTime
	logicalTimestamp
	logicalInt
	logicalNull
	logicalBytes // bytes that mean something which we pass on: BSON, geometry
	logicalUUID
	logicalFloat16
	logicalInterval
	logicalVariant
	logicalUnknown
)

// logicalType is a logical type with its parameters.
type logicalType struct {
	kind      logicalKind
	id        int16 // of the specification's union
	unit      int16 // of times: 1 ms, 2 us, 3 ns
	utc       bool
	width     int32 // of integers
	signed    bool
	scale     int32
	precision int32
}

// logicalKinds are the members of the specification's union by number.
var logicalKinds = map[int16]logicalKind{
	1: logicalString, 2: logicalMap, 3: logicalList, 4: logicalString, 5: logicalDecimal, 6: logicalDate,
	7: logicalTime, 8: logicalTimestamp, 10: logicalInt, 11: logicalNull, 12: logicalString, 13: logicalBytes,
	14: logicalUUID, 15: logicalFloat16, 16: logicalVariant, 17: logicalBytes, 18: logicalBytes,
}

// logicalType reads the union. Its members' parameters do not clash: decimals
// have integers in 1 and 2, integers a byte in 1 and a bool in 2, times a bool
// in 1 and the union of units in 2.
func (r *thriftReader) logicalType() logicalType {
	var out logicalType
	var f field
	for r.next(&f) {
		kind, ok := logicalKinds[f.id]
		if !ok {
			kind = logicalUnknown
		}
		out.kind, out.id = kind, f.id
		if f.typ != thriftStruct || kind == logicalUnknown {
			r.skip(f)
			continue
		}
		r.logicalParameters(&out)
	}
	return out
}

func (r *thriftReader) logicalParameters(out *logicalType) {
	var p field
	for r.next(&p) {
		switch {
		case out.kind == logicalDecimal && p.id == 1:
			out.scale = r.int32(p)
		case out.kind == logicalDecimal && p.id == 2:
			out.precision = r.int32(p)
		case out.kind == logicalInt && p.id == 1:
			out.width = r.int32(p)
		case out.kind == logicalInt && p.id == 2:
			out.signed = r.bool(p)
		case (out.kind == logicalTime || out.kind == logicalTimestamp) && p.id == 1:
			out.utc = r.bool(p)
		case (out.kind == logicalTime || out.kind == logicalTimestamp) && p.id == 2 && p.typ == thriftStruct:
			out.unit = r.union()
		default:
			r.skip(p)
		}
	}
}

// meaning returns the logical type of an element; where only the converted type
// is given, what it stands for today.
func (e *schemaElement) meaning() logicalType {
	if e.logical.kind != logicalNone {
		return e.logical
	}
	switch c := e.converted; c {
	case 0, 4, 19:
		return logicalType{kind: logicalString}
	case 1, 2:
		return logicalType{kind: logicalMap}
	case 3:
		return logicalType{kind: logicalList}
	case 5:
		return logicalType{kind: logicalDecimal, scale: e.scale, precision: e.precision}
	case 6:
		return logicalType{kind: logicalDate}
	case 7, 8:
		return logicalType{kind: logicalTime, unit: int16(c - 6), utc: true}
	case 9, 10:
		return logicalType{kind: logicalTimestamp, unit: int16(c - 8), utc: true}
	case 11, 12, 13, 14:
		return logicalType{kind: logicalInt, width: 8 << (c - 11)}
	case 15, 16, 17, 18:
		return logicalType{kind: logicalInt, width: 8 << (c - 15), signed: true}
	case 20:
		return logicalType{kind: logicalBytes}
	case 21:
		return logicalType{kind: logicalInterval}
	case -1:
		return logicalType{}
	}
	return logicalType{kind: logicalUnknown}
}

type nodeKind uint8

const (
	leafNode nodeKind = iota
	structNode
	listNode // of variable or fixed size; a map is a list of structs
)

// node is a column, or a part of one, as it is in Arrow.
//
// The levels say how it is rebuilt from the levels that its leaves were stored
// with: an entry with a definition level of at least slotDef is a slot of the
// node, unless its repetition level is beyond rep, which makes it a part of the
// slot before; the slot is not null from def on; and of a list, it has an
// element from elemDef on.
type node struct {
	name     string
	kind     nodeKind
	typ      arrow.DataType
	nullable bool
	held     bool // never null by a hint of Arrow, though the file could say so
	metadata arrow.Metadata
	children []*node
	leaf     *leaf // of leaves
	slotDef  int16
	rep      int16
	def      int16
	elemDef  int16
	size     int32 // of lists of fixed size; else 0
}

func (n *node) field() arrow.Field {
	return arrow.Field{Name: n.name, Type: n.typ, Nullable: n.nullable, Metadata: n.metadata}
}

// firstLeaf returns a leaf whose levels tell the shape of n.
func (n *node) firstLeaf() *leaf {
	for n.leaf == nil {
		n = n.children[0]
	}
	return n.leaf
}

// leaves appends the leaves below n.
func (n *node) leaves(dst []*leaf) []*leaf {
	if n.leaf != nil {
		return append(dst, n.leaf)
	}
	for _, c := range n.children {
		dst = c.leaves(dst)
	}
	return dst
}

// leaf is a stored column.
type leaf struct {
	index   int
	path    string
	typ     physical
	length  int // of fixed bytes
	logical logicalType
	node    *node
	maxDef  int16
	maxRep  int16
	reason  string // why it cannot be read; "" if it can
}

const maxSchemaDepth = 100

// schemaBuilder turns the flat list of elements, in which each group is followed
// by its children, into a tree.
type schemaBuilder struct {
	elements []schemaElement
	pos      int
	leaves   []*leaf
}

// levels are those of a place in the tree.
type levels struct {
	def, rep, slotDef int16
	depth             int
	path              string
}

func (l levels) below(name string) levels {
	l.depth++
	if l.path != "" {
		name = l.path + "." + name
	}
	l.path = name
	return l
}

// intoList are the levels of the elements of a list.
func (l levels) intoList() levels {
	l.def++
	l.rep++
	l.slotDef = l.def
	return l
}

// buildSchema returns the columns and the leaves of a schema.
func buildSchema(elements []schemaElement) ([]*node, []*leaf, error) {
	if len(elements) == 0 || elements[0].isLeaf {
		return nil, nil, errors.New("footer is damaged: it has no schema")
	}
	b := &schemaBuilder{elements: elements, pos: 1}
	columns, err := b.fields(max(elements[0].children, 0), levels{})
	if err != nil {
		return nil, nil, fmt.Errorf("schema: %w", err)
	}
	if b.pos != len(elements) {
		return nil, nil, fmt.Errorf("schema: %d elements belong to no group", len(elements)-b.pos)
	}
	return columns, b.leaves, nil
}

func (b *schemaBuilder) fields(n int32, at levels) ([]*node, error) {
	if int(n) > len(b.elements)-b.pos {
		return nil, fmt.Errorf("group %q has %d fields, more than there are", at.path, n)
	}
	out := make([]*node, 0, n)
	for range n {
		c, err := b.field(at)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// take returns the next element.
func (b *schemaBuilder) take() (*schemaElement, error) {
	if b.pos >= len(b.elements) {
		return nil, errors.New("a group has more fields than there are")
	}
	b.pos++
	return &b.elements[b.pos-1], nil
}

// field builds the next element and what is below it.
func (b *schemaBuilder) field(at levels) (*node, error) {
	e, err := b.take()
	if err != nil {
		return nil, err
	}
	at = at.below(e.name)
	if at.depth > maxSchemaDepth {
		return nil, fmt.Errorf("field %.80q is nested more than %d deep", at.path, maxSchemaDepth)
	}
	switch e.repetition {
	case required:
		return b.content(e, at, false)
	case optional:
		at.def++
		return b.content(e, at, true)
	case repeated:
		// A repeated field outside a list is a list that cannot be null.
		elem, err := b.content(e, at.intoList(), false)
		if err != nil {
			return nil, err
		}
		return newList(e.name, at, elem, false), nil
	}
	return nil, fmt.Errorf("field %q has unknown repetition %d", at.path, e.repetition)
}

// content builds an element whose own repetition is already in the levels.
func (b *schemaBuilder) content(e *schemaElement, at levels, nullable bool) (*node, error) {
	if e.isLeaf && e.children <= 0 {
		return b.leaf(e, at, nullable), nil
	}
	if e.children <= 0 {
		return nil, fmt.Errorf("group %q has no fields", at.path)
	}
	if e.children == 1 && b.pos < len(b.elements) && b.elements[b.pos].repetition == repeated {
		switch e.meaning().kind { //nolint:exhaustive // only these two are groups of one repeated field
		case logicalList:
			return b.list(e, at, nullable)
		case logicalMap:
			return b.mapping(e, at, nullable)
		default:
		}
	}
	children, err := b.fields(e.children, at)
	if err != nil {
		return nil, err
	}
	return newStruct(e.name, at, children, nullable), nil
}

// takeRepeated takes the repeated field of an annotated list or map, and gives
// the levels of what is in it.
func (b *schemaBuilder) takeRepeated(at levels) (*schemaElement, levels, error) {
	c, err := b.take()
	if err != nil {
		return nil, levels{}, err
	}
	inner := at.intoList().below(c.name)
	if inner.depth > maxSchemaDepth {
		return nil, levels{}, fmt.Errorf("field %.80q is nested more than %d deep", at.path, maxSchemaDepth)
	}
	return c, inner, nil
}

// list builds an annotated list. Its one field is repeated. In today's form that
// is a group around the element; writers of old made it the element itself, and
// the specification's rules, taken in its order, tell which.
func (b *schemaBuilder) list(e *schemaElement, at levels, nullable bool) (*node, error) {
	c, inner, err := b.takeRepeated(at)
	if err != nil {
		return nil, err
	}
	kind := c.meaning().kind
	isElement := c.isLeaf || c.children != 1 || c.name == "array" || c.name == e.name+"_tuple" ||
		kind == logicalList || kind == logicalMap ||
		b.pos < len(b.elements) && b.elements[b.pos].repetition == repeated
	var elem *node
	if isElement {
		elem, err = b.content(c, inner, false)
	} else {
		elem, err = b.field(inner)
	}
	if err != nil {
		return nil, err
	}
	return newList(e.name, at, elem, nullable), nil
}

// mapping builds an annotated map: a repeated group of a key and a value. What
// is called a map and is something else becomes a list of what it is.
func (b *schemaBuilder) mapping(e *schemaElement, at levels, nullable bool) (*node, error) {
	c, inner, err := b.takeRepeated(at)
	if err != nil {
		return nil, err
	}
	var entry *node
	if !c.isLeaf && c.children == 1 {
		entry, err = b.field(inner) // keys without values
	} else {
		entry, err = b.content(c, inner, false)
	}
	if err != nil {
		return nil, err
	}
	out := newList(e.name, at, entry, nullable)
	if entry.kind == structNode && len(entry.children) == 2 && !entry.children[0].nullable {
		key, value := entry.children[0], entry.children[1]
		m := arrow.MapOf(key.typ, value.typ)
		m.SetItemNullable(value.nullable)
		out.typ = m
	}
	return out, nil
}

func newStruct(name string, at levels, children []*node, nullable bool) *node {
	fields := make([]arrow.Field, len(children))
	for i, c := range children {
		fields[i] = c.field()
	}
	return &node{
		name: name, kind: structNode, typ: arrow.StructOf(fields...), nullable: nullable, children: children,
		slotDef: at.slotDef, rep: at.rep, def: at.def,
	}
}

func newList(name string, at levels, elem *node, nullable bool) *node {
	return &node{
		name: name, kind: listNode, typ: arrow.ListOfField(elem.field()), nullable: nullable, children: []*node{elem},
		slotDef: at.slotDef, rep: at.rep, def: at.def, elemDef: at.def + 1,
	}
}

func (b *schemaBuilder) leaf(e *schemaElement, at levels, nullable bool) *node {
	l := &leaf{
		index: len(b.leaves), path: at.path, typ: e.typ, length: int(e.typeLength), logical: e.meaning(),
		maxDef: at.def, maxRep: at.rep,
	}
	b.leaves = append(b.leaves, l)
	n := &node{name: e.name, kind: leafNode, nullable: nullable, leaf: l, slotDef: at.slotDef, rep: at.rep, def: at.def}
	n.typ, l.reason = leafType(l)
	l.node = n
	return n
}
