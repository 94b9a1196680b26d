package online_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/online/onlinetest"
)

// TestGolden runs the scripts of the formats: testdata/rowcodec shows what is
// written now; testdata/format_v1 holds the bytes that version 1 wrote, as
// input, which open for ever. The commands are
//
//	pack    columns as "type value"; prints the packed row
//	open    the types; then the packed row in hex; prints what it holds
//	key     view=1 generation=0 entity=hex; prints the key of the row
//	parse   a key in hex
//	mark    a mark in hex
func TestGolden(t *testing.T) {
	for _, folder := range []string{"testdata/rowcodec", "testdata/format_v1"} {
		datadriven.Walk(t, folder, func(t *testing.T, path string) {
			t.Helper()
			datadriven.RunTest(t, path, runGolden)
		})
	}
}

func runGolden(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "pack":
		return goldenPack(t, d)
	case "open":
		return goldenOpen(t, d)
	case "key":
		var view, generation uint32
		var entity string
		d.ScanArgs(t, "view", &view)
		d.ScanArgs(t, "generation", &generation)
		d.MaybeScanArgs(t, "entity", &entity)
		key := online.AppendRowKey(nil, feature.ViewID(view), online.Generation(generation), feature.EntityKey(unhex(t, entity)))
		return hex.EncodeToString(key) + "\n"
	case "parse":
		view, generation, entity, ok := online.ParseRowKey(unhex(t, d.Input))
		if !ok {
			return "no key of a row\n"
		}
		return fmt.Sprintf("view=%d generation=%d entity=%x\n", view, generation, string(entity))
	case "mark":
		m, err := online.ParseMark(unhex(t, d.Input))
		if err != nil {
			return err.Error() + "\n"
		}
		require.Equal(t, unhex(t, d.Input), online.AppendMark(nil, m))
		return fmt.Sprintf("version=%d through=%s\n", m.Version, m.Through)
	}
	d.Fatalf(t, "no command %s", d.Cmd)
	return ""
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	raw, err := hex.DecodeString(strings.Join(strings.Fields(text), ""))
	require.NoError(t, err)
	return raw
}

func goldenPack(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var types []feature.Type
	var values []feature.Value
	for line := range strings.Lines(d.Input) {
		typeText, valueText, _ := strings.Cut(strings.TrimSpace(line), " ")
		typ, err := feature.ParseType(typeText)
		require.NoError(t, err)
		types = append(types, typ)
		values = append(values, onlinetest.ParseValue(t, typ, valueText))
	}
	packed, err := viewOf(t, types).Append(nil, onlinetest.At(t, "10:00"), onlinetest.At(t, "10:01"), values)
	require.NoError(t, err)
	return hexLines(packed)
}

// hexLines prints a packed row eight bytes to a line.
func hexLines(b []byte) string {
	var out strings.Builder
	for i := 0; i < len(b); i += 8 {
		fmt.Fprintf(&out, "%3d  % x\n", i, b[i:min(i+8, len(b))])
	}
	return out.String()
}

func goldenOpen(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var types []feature.Type
	first, rest, _ := strings.Cut(d.Input, "\n")
	for text := range strings.FieldsSeq(first) {
		typ, err := feature.ParseType(text)
		require.NoError(t, err)
		types = append(types, typ)
	}
	packed, v := unhex(t, rest), viewOf(t, types)
	if err := online.Check(packed); err != nil {
		return err.Error() + "\n"
	}
	version, err := online.VersionOf(packed)
	require.NoError(t, err)
	var out strings.Builder
	fmt.Fprintf(&out, "event=%s created=%s\n", version.Event, version.Created)
	for slot, typ := range types {
		value, err := v.Value(packed, slot)
		if err != nil {
			fmt.Fprintf(&out, "%s: %v\n", typ, err)
			continue
		}
		fmt.Fprintf(&out, "%s %s\n", typ, value)
	}
	return out.String()
}
