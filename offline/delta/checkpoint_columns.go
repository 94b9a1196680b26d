package delta

import (
	"maps"
	"slices"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/apache/arrow/go/v17/arrow/memory"
)

// The columns of a checkpoint: one for each kind of action, of which a row has
// one. Everything may be null, as in the checkpoints of others.

func optional(name string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true}
}

var (
	textType  = arrow.BinaryTypes.String
	longType  = arrow.PrimitiveTypes.Int64
	intType   = arrow.PrimitiveTypes.Int32
	boolType  = arrow.FixedWidthTypes.Boolean
	textMap   = arrow.MapOf(textType, textType)
	textList  = arrow.ListOfField(optional("element", textType))
	addFields = arrow.StructOf(
		optional("path", textType), optional("partitionValues", textMap), optional("size", longType),
		optional("modificationTime", longType), optional("dataChange", boolType), optional("stats", textType),
		optional("tags", textMap))
	removeFields = arrow.StructOf(
		optional("path", textType), optional("deletionTimestamp", longType), optional("dataChange", boolType),
		optional("extendedFileMetadata", boolType), optional("partitionValues", textMap), optional("size", longType))
	formatFields   = arrow.StructOf(optional("provider", textType), optional("options", textMap))
	metaDataFields = arrow.StructOf(
		optional("id", textType), optional("name", textType), optional("description", textType),
		optional("format", formatFields), optional("schemaString", textType), optional("partitionColumns", textList),
		optional("configuration", textMap), optional("createdTime", longType))
	protocolFields = arrow.StructOf(
		optional("minReaderVersion", intType), optional("minWriterVersion", intType),
		optional("readerFeatures", textList), optional("writerFeatures", textList))
	txnFields = arrow.StructOf(optional("appId", textType), optional("version", longType), optional("lastUpdated", longType))

	checkpointSchema = arrow.NewSchema([]arrow.Field{
		optional("txn", txnFields), optional("add", addFields), optional("remove", removeFields),
		optional("metaData", metaDataFields), optional("protocol", protocolFields),
	}, nil)
)

// actionRecord writes actions into columns.
func actionRecord(actions []action) arrow.Record {
	b := array.NewRecordBuilder(memory.DefaultAllocator, checkpointSchema)
	defer b.Release()
	for _, a := range actions {
		row := map[string][]any{}
		switch {
		case a.Txn != nil:
			row["txn"] = []any{a.Txn.AppID, a.Txn.Version, a.Txn.LastUpdated}
		case a.Add != nil:
			row["add"] = []any{
				a.Add.Path, a.Add.PartitionValues, a.Add.Size, a.Add.ModificationTime, a.Add.DataChange, a.Add.Stats, a.Add.Tags,
			}
		case a.Remove != nil:
			r := a.Remove
			row["remove"] = []any{r.Path, r.DeletionTimestamp, r.DataChange, r.ExtendedFileMetadata, r.PartitionValues, r.Size}
		case a.MetaData != nil:
			m := a.MetaData
			row["metaData"] = []any{
				m.ID, m.Name, m.Description,
				[]any{m.Format.Provider, m.Format.Options},
				m.SchemaString, m.PartitionColumns,
				m.Configuration, m.CreatedTime,
			}
		case a.Protocol != nil:
			p := a.Protocol
			row["protocol"] = []any{p.MinReaderVersion, p.MinWriterVersion, p.ReaderFeatures, p.WriterFeatures}
		}
		for i, f := range checkpointSchema.Fields() {
			if members, ok := row[f.Name]; ok {
				appendCell(b.Field(i), members)
			} else {
				b.Field(i).AppendNull()
			}
		}
	}
	return b.NewRecord()
}

// appendCell appends a member of an action; a nil pointer, map or list is null.
func appendCell(b array.Builder, v any) {
	switch b := b.(type) {
	case *array.StructBuilder:
		members, ok := v.([]any)
		if !ok {
			break
		}
		b.Append(true)
		for i, m := range members {
			appendCell(b.FieldBuilder(i), m)
		}
		return
	case *array.MapBuilder:
		if m := entries(v); m != nil {
			appendEntries(b, m)
			return
		}
	case *array.ListBuilder:
		if list, ok := v.([]string); ok && list != nil {
			b.Append(true)
			for _, s := range list {
				appendCell(b.ValueBuilder(), s)
			}
			return
		}
	default:
		if appendScalar(b, v) {
			return
		}
	}
	b.AppendNull()
}

func appendScalar(b array.Builder, v any) bool {
	switch v := v.(type) {
	case *string:
		return v != nil && appendScalar(b, *v)
	case *int64:
		return v != nil && appendScalar(b, *v)
	case *bool:
		return v != nil && appendScalar(b, *v)
	}
	switch b := b.(type) {
	case *array.StringBuilder:
		if s, ok := v.(string); ok {
			b.Append(s)
			return true
		}
	case *array.Int64Builder:
		if n, ok := v.(int64); ok {
			b.Append(n)
			return true
		}
	case *array.Int32Builder:
		if n, ok := v.(int); ok {
			b.Append(int32(n)) //nolint:gosec // a version of the protocol
			return true
		}
	case *array.BooleanBuilder:
		if t, ok := v.(bool); ok {
			b.Append(t)
			return true
		}
	}
	return false
}

func entries(v any) map[string]*string {
	switch m := v.(type) {
	case map[string]*string:
		return m
	case map[string]string:
		if m == nil {
			return nil
		}
		out := make(map[string]*string, len(m))
		for k, s := range m {
			out[k] = &s
		}
		return out
	}
	return nil
}

func appendEntries(b *array.MapBuilder, m map[string]*string) {
	b.Append(true)
	for _, k := range slices.Sorted(maps.Keys(m)) {
		appendCell(b.KeyBuilder(), k)
		appendCell(b.ItemBuilder(), m[k])
	}
}

// readRecord adds the actions of a batch of a checkpoint.
func (c *commit) readRecord(rec arrow.Record) {
	for i, f := range rec.Schema().Fields() {
		s, ok := rec.Column(i).(*array.Struct)
		if !ok {
			continue
		}
		cells := newCells(s)
		for row := range s.Len() {
			if s.IsNull(row) {
				continue
			}
			cells.row = row
			switch f.Name {
			case "txn":
				c.txns = append(c.txns, txnAction{AppID: cells.text("appId"), Version: cells.number("version"), LastUpdated: cells.long("lastUpdated")})
			case "add":
				c.adds = append(c.adds, cells.add())
			case "remove":
				c.removes = append(c.removes, cells.remove())
			case "metaData":
				c.metaData = cells.metadata()
			case "protocol":
				c.protocol = &protocolAction{
					MinReaderVersion: int(cells.number("minReaderVersion")), MinWriterVersion: int(cells.number("minWriterVersion")),
					ReaderFeatures: cells.list("readerFeatures"), WriterFeatures: cells.list("writerFeatures"),
				}
			}
		}
	}
}

func (c *cells) add() *addAction {
	a := &addAction{
		Path: c.text("path"), PartitionValues: c.entries("partitionValues"), Size: c.number("size"),
		ModificationTime: c.number("modificationTime"), DataChange: c.truth("dataChange"), Stats: c.optText("stats"),
		Tags: c.entries("tags"),
	}
	if dv, ok := c.byName["deletionVector"]; ok && !dv.IsNull(c.row) {
		a.DeletionVector = []byte("{}") // that there is one is all that matters
	}
	return a
}

func (c *cells) remove() *removeAction {
	r := &removeAction{
		Path: c.text("path"), DeletionTimestamp: c.long("deletionTimestamp"), DataChange: c.truth("dataChange"),
		PartitionValues: c.entries("partitionValues"), Size: c.long("size"),
	}
	if extended := c.truth("extendedFileMetadata"); extended {
		r.ExtendedFileMetadata = &extended
	}
	return r
}

func (c *cells) metadata() *metaDataAction {
	m := &metaDataAction{
		ID: c.text("id"), Name: c.optText("name"), Description: c.optText("description"),
		SchemaString: c.text("schemaString"), PartitionColumns: c.list("partitionColumns"),
		Configuration: withoutNulls(c.entries("configuration")), CreatedTime: c.long("createdTime"),
	}
	if s, ok := c.byName["format"].(*array.Struct); ok && !s.IsNull(c.row) {
		format := newCells(s)
		format.row = c.row
		m.Format.Provider = format.text("provider")
	}
	return m
}

// cells reads the members of one row of a struct column by name. One that is
// missing, or of another type than it should be, is null.
type cells struct {
	byName map[string]arrow.Array
	row    int
}

func newCells(s *array.Struct) *cells {
	c := &cells{byName: make(map[string]arrow.Array, s.NumField())}
	fields, _ := s.DataType().(*arrow.StructType)
	for i := range s.NumField() {
		c.byName[fields.Field(i).Name] = s.Field(i)
	}
	return c
}

func (c *cells) optText(name string) *string { return textAt(c.byName[name], c.row) }

func textAt(arr arrow.Array, i int) *string {
	if a, ok := arr.(*array.String); ok && !a.IsNull(i) {
		s := string(append([]byte(nil), a.Value(i)...)) // the column goes, the text stays
		return &s
	}
	return nil
}

func (c *cells) text(name string) string {
	if s := c.optText(name); s != nil {
		return *s
	}
	return ""
}

func (c *cells) long(name string) *int64 {
	switch a := c.byName[name].(type) {
	case *array.Int64:
		if !a.IsNull(c.row) {
			n := a.Value(c.row)
			return &n
		}
	case *array.Int32:
		if !a.IsNull(c.row) {
			n := int64(a.Value(c.row))
			return &n
		}
	}
	return nil
}

func (c *cells) number(name string) int64 {
	if n := c.long(name); n != nil {
		return *n
	}
	return 0
}

func (c *cells) truth(name string) bool {
	a, ok := c.byName[name].(*array.Boolean)
	return ok && !a.IsNull(c.row) && a.Value(c.row)
}

func (c *cells) list(name string) []string {
	a, ok := c.byName[name].(*array.List)
	if !ok || a.IsNull(c.row) {
		return nil
	}
	start, end := a.ValueOffsets(c.row)
	out := make([]string, 0, end-start)
	for i := start; i < end; i++ {
		if s := textAt(a.ListValues(), int(i)); s != nil {
			out = append(out, *s)
		}
	}
	return out
}

func (c *cells) entries(name string) map[string]*string {
	a, ok := c.byName[name].(*array.Map)
	if !ok || a.IsNull(c.row) {
		return nil
	}
	start, end := a.ValueOffsets(c.row)
	out := make(map[string]*string, end-start)
	for i := start; i < end; i++ {
		if k := textAt(a.Keys(), int(i)); k != nil {
			out[*k] = textAt(a.Items(), int(i))
		}
	}
	return out
}
