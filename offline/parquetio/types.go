package parquetio

import (
	"fmt"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/decimal128"
	"github.com/apache/arrow/go/v17/arrow/decimal256"
)

// int96Type is what an INT96 becomes. It counts nanoseconds of a Julian day, for
// which Arrow's nanoseconds are too few: they end in 1677 and 2262.
var int96Type = &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}

// leafType returns the Arrow type of a leaf. Where we cannot read it, that of
// its stored form, and the reason.
func leafType(l *leaf) (typ arrow.DataType, reason string) {
	plain, ok := plainType(l)
	switch {
	case !ok:
		return arrow.BinaryTypes.Binary, fmt.Sprintf("stored as %s of length %d, which does not exist", l.typ, l.length)
	case l.logical.kind == logicalUnknown:
		return plain, fmt.Sprintf("logical type %d is not known", l.logical.id)
	case l.logical.kind == logicalNull:
		return arrow.Null, ""
	}
	if t := annotatedType(l); t != nil {
		return t, ""
	}
	return plain, fmt.Sprintf("logical type %d cannot be stored as %s", l.logical.id, l.typ)
}

// plainType returns the Arrow type of a stored form without annotation.
func plainType(l *leaf) (arrow.DataType, bool) {
	switch l.typ {
	case physicalBool:
		return arrow.FixedWidthTypes.Boolean, true
	case physicalInt32:
		return arrow.PrimitiveTypes.Int32, true
	case physicalInt64:
		return arrow.PrimitiveTypes.Int64, true
	case physicalInt96:
		return int96Type, true
	case physicalFloat:
		return arrow.PrimitiveTypes.Float32, true
	case physicalDouble:
		return arrow.PrimitiveTypes.Float64, true
	case physicalBytes:
		return arrow.BinaryTypes.Binary, true
	case physicalFixedBytes:
		return &arrow.FixedSizeBinaryType{ByteWidth: l.length}, l.length > 0 && l.length <= maxFixedBytes
	}
	return nil, false
}

const maxFixedBytes = 1 << 20

// annotatedType returns the Arrow type of an annotated leaf, nil if the
// annotation does not go with the stored form.
func annotatedType(l *leaf) arrow.DataType {
	plain, _ := plainType(l)
	switch l.logical.kind {
	case logicalNone, logicalVariant:
		return plain
	case logicalBytes, logicalString:
		return textType(l)
	case logicalDecimal:
		return decimalType(l)
	case logicalDate:
		if l.typ == physicalInt32 {
			return arrow.FixedWidthTypes.Date32
		}
	case logicalTime:
		return timeType(l)
	case logicalTimestamp:
		return timestampType(l)
	case logicalInt:
		return intType(l)
	case logicalUUID, logicalInterval:
		if l.typ == physicalFixedBytes {
			return plain
		}
	case logicalFloat16:
		if l.typ == physicalFixedBytes && l.length == 2 {
			return arrow.FixedWidthTypes.Float16
		}
	case logicalMap, logicalList, logicalNull, logicalUnknown:
	}
	return nil
}

func textType(l *leaf) arrow.DataType {
	switch {
	case l.typ == physicalBytes && l.logical.kind == logicalString:
		return arrow.BinaryTypes.String
	case l.typ == physicalBytes:
		return arrow.BinaryTypes.Binary
	}
	return nil
}

func decimalType(l *leaf) arrow.DataType {
	p, s := l.logical.precision, l.logical.scale
	switch l.typ {
	case physicalInt32, physicalInt64, physicalBytes, physicalFixedBytes:
	case physicalBool, physicalInt96, physicalFloat, physicalDouble:
		return nil
	default:
		return nil
	}
	switch {
	case p < 1 || s < 0 || s > p || p > decimal256.MaxPrecision || l.length > 32:
		return nil
	case p <= decimal128.MaxPrecision && l.length <= 16:
		return &arrow.Decimal128Type{Precision: p, Scale: s}
	}
	return &arrow.Decimal256Type{Precision: p, Scale: s}
}

func timeType(l *leaf) arrow.DataType {
	switch {
	case l.typ == physicalInt32 && l.logical.unit == 1:
		return arrow.FixedWidthTypes.Time32ms
	case l.typ == physicalInt64 && l.logical.unit == 2:
		return arrow.FixedWidthTypes.Time64us
	case l.typ == physicalInt64 && l.logical.unit == 3:
		return arrow.FixedWidthTypes.Time64ns
	}
	return nil
}

func timestampType(l *leaf) arrow.DataType {
	if l.typ != physicalInt64 || l.logical.unit < 1 || l.logical.unit > 3 {
		return nil
	}
	unit := [...]arrow.TimeUnit{1: arrow.Millisecond, 2: arrow.Microsecond, 3: arrow.Nanosecond}[l.logical.unit]
	zone := ""
	if l.logical.utc {
		zone = "UTC"
	}
	return &arrow.TimestampType{Unit: unit, TimeZone: zone}
}

func intType(l *leaf) arrow.DataType {
	types := map[int32][2]arrow.DataType{
		8:  {arrow.PrimitiveTypes.Uint8, arrow.PrimitiveTypes.Int8},
		16: {arrow.PrimitiveTypes.Uint16, arrow.PrimitiveTypes.Int16},
		32: {arrow.PrimitiveTypes.Uint32, arrow.PrimitiveTypes.Int32},
		64: {arrow.PrimitiveTypes.Uint64, arrow.PrimitiveTypes.Int64},
	}
	pair, ok := types[l.logical.width]
	if !ok || (l.logical.width == 64) != (l.typ == physicalInt64) || (l.typ != physicalInt32 && l.typ != physicalInt64) {
		return nil
	}
	return pair[boolRank(l.logical.signed)]
}

// width returns how many bytes a stored value takes in memory, 0 for text. Bools
// take a byte each until the batch is done.
func (l *leaf) width() int {
	switch l.typ {
	case physicalBool:
		return 1
	case physicalInt32, physicalFloat:
		return 4
	case physicalInt64, physicalDouble:
		return 8
	case physicalInt96:
		return 12
	case physicalFixedBytes:
		return l.length
	case physicalBytes:
	}
	return 0
}
