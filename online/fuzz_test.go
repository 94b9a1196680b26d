package online_test

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// fuzzTypes are the slots that FuzzPackedRow reads from any bytes.
var fuzzTypes = []feature.Type{
	feature.Bool, feature.String, feature.Int32, feature.ListOf(feature.Bytes), feature.Float64,
	feature.ListOf(feature.Int64), feature.Vector(2), feature.Bytes, feature.TimestampType, feature.ListOf(feature.Bool),
}

// FuzzPackedRow reads rows that have a right checksum and are damaged
// otherwise: no panic, and a value exactly where there is JSON.
func FuzzPackedRow(f *testing.F) {
	v := viewOf(f, fuzzTypes)
	elems := func(t feature.Type, v ...feature.Value) feature.Value { return feature.ListValue(feature.ListOf(t), v) }
	whole, err := v.Append(nil, 1, 2, []feature.Value{
		feature.BoolValue(true), feature.StringValue("text"), feature.Int32Value(-1),
		elems(feature.Bytes, feature.BytesValue([]byte("a")), feature.Null(feature.Bytes), feature.BytesValue([]byte("bc"))),
		feature.Float64Value(0.5), elems(feature.Int64, feature.Int64Value(1), feature.Null(feature.Int64)),
		feature.VectorValue([]float32{1, 2}), feature.BytesValue([]byte{0, 1}), feature.TimestampValue(3), elems(feature.Bool),
	})
	require.NoError(f, err)
	f.Add(whole[:len(whole)-4])
	f.Add(whole[:24])
	empty, err := v.Append(nil, 1, 2, make([]feature.Value, len(fuzzTypes)))
	require.NoError(f, err)
	f.Add(empty[:len(empty)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		sum := crc32.Checksum(body, crc32.MakeTable(crc32.Castagnoli))
		packed := binary.LittleEndian.AppendUint32(slices.Clip(body), sum)
		if online.Check(packed) != nil {
			return
		}
		for slot := range fuzzTypes {
			value, err := v.Value(packed, slot)
			text, jsonErr := v.AppendJSON(nil, packed, slot)
			require.Equal(t, err == nil, jsonErr == nil, "slot %d: %v, %v", slot, err, jsonErr)
			if err != nil {
				require.Equal(t, feature.CodeDataLoss, feature.CodeOf(err))
				continue
			}
			if fuzzTypes[slot].Kind != feature.KindString { // text is checked where it is packed
				require.True(t, json.Valid(text), "slot %d: %s", slot, text)
			}
			require.Equal(t, value.String(), string(text))
		}
	})
}

// FuzzRowKey parses any bytes as the key of a row.
func FuzzRowKey(f *testing.F) {
	f.Add(online.AppendRowKey(nil, 1, 2, "entity"))
	f.Add(online.AppendMarkKey(nil, 1))
	f.Fuzz(func(t *testing.T, key []byte) {
		view, generation, entity, ok := online.ParseRowKey(key)
		if ok {
			require.Equal(t, key, online.AppendRowKey(nil, view, generation, entity))
		}
	})
}
