package offline

import (
	"errors"
	"fmt"
	"math"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/feature"
)

// Columns from outside come in many types. The functions here return how to read
// a row of an array that is not null, so that the type is looked at once per
// array and not per row.

// integers reads any integer. An unsigned one beyond int64 reads as a negative
// number by its bits; see outOfRange.
func integers(arr arrow.Array) (func(i int) int64, error) {
	switch a := arr.(type) {
	case *array.Int64:
		return a.Value, nil
	case *array.Int32:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	case *array.Int16:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	case *array.Int8:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	case *array.Uint32:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	case *array.Uint16:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	case *array.Uint8:
		return func(i int) int64 { return int64(a.Value(i)) }, nil
	}
	return nil, fmt.Errorf("%s is not an integer", arr.DataType())
}

// texts reads text or bytes.
func texts(arr arrow.Array) (func(i int) string, error) {
	switch a := arr.(type) {
	case *array.String:
		return a.Value, nil
	case *array.LargeString:
		return a.Value, nil
	case *array.StringView:
		return a.Value, nil
	}
	return nil, fmt.Errorf("%s is not text", arr.DataType())
}

// binaries reads bytes.
func binaries(arr arrow.Array) (func(i int) []byte, error) {
	switch a := arr.(type) {
	case *array.Binary:
		return a.Value, nil
	case *array.LargeBinary:
		return a.Value, nil
	case *array.BinaryView:
		return a.Value, nil
	case *array.FixedSizeBinary:
		return a.Value, nil
	}
	return nil, fmt.Errorf("%s is not bytes", arr.DataType())
}

// instants reads times of any kind: timestamps of any unit, floored to the
// microsecond, dates, and text as feature.ParseTimestamp reads it. A time
// outside the range of timestamps is an error.
func instants(arr arrow.Array) (func(i int) (feature.Timestamp, error), error) {
	const day, milli = 86400e6, 1000
	switch a := arr.(type) {
	case *array.Timestamp:
		t, ok := a.DataType().(*arrow.TimestampType)
		if !ok {
			return nil, fmt.Errorf("%s is not a time", arr.DataType())
		}
		if t.Unit == arrow.Nanosecond {
			return func(i int) (feature.Timestamp, error) { return feature.FromNanos(int64(a.Value(i))), nil }, nil
		}
		unit := map[arrow.TimeUnit]int64{arrow.Second: 1e6, arrow.Millisecond: 1e3, arrow.Microsecond: 1}[t.Unit]
		return func(i int) (feature.Timestamp, error) { return inMicros(int64(a.Value(i)), unit) }, nil
	case *array.Dictionary:
		value, err := instants(a.Dictionary())
		if err != nil {
			return nil, err
		}
		return func(i int) (feature.Timestamp, error) { return value(a.GetValueIndex(i)) }, nil
	case *array.Date32:
		return func(i int) (feature.Timestamp, error) { return inMicros(int64(a.Value(i)), day) }, nil
	case *array.Date64:
		return func(i int) (feature.Timestamp, error) { return inMicros(int64(a.Value(i)), milli) }, nil
	}
	text, err := texts(arr)
	if err != nil {
		return nil, fmt.Errorf("%s is not a time", arr.DataType())
	}
	return func(i int) (feature.Timestamp, error) { return feature.ParseTimestamp(text(i)) }, nil
}

// inMicros converts a time of a unit that is so many microseconds.
func inMicros(v, unit int64) (feature.Timestamp, error) {
	if v > math.MaxInt64/unit || v < math.MinInt64/unit || !feature.Timestamp(v*unit).Valid() {
		return 0, errors.New("timestamp outside 0001-01-01 to 9999-12-31T23:59:59.999999Z")
	}
	return feature.Timestamp(v * unit), nil
}
