package cases

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v17/arrow"
	"github.com/apache/arrow/go/v17/arrow/array"
	"github.com/stretchr/testify/require"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/columns"
)

// table is a script's table: names and JSON cells.
type table struct {
	names []string
	rows  [][]string
}

const day = "2024-01-01T"

var timeOfDay = regexp.MustCompile(`^\d\d:\d\d(:\d\d(\.\d+)?)?$`)

// parseTable reads a table of a script.
func parseTable(t *testing.T, text string) table {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(text), "\n")
	tab := table{names: strings.Fields(lines[0])}
	for _, line := range lines[1:] {
		cells := splitCells(t, line)
		require.Len(t, cells, len(tab.names), "line %q", line)
		tab.rows = append(tab.rows, cells)
	}
	return tab
}

// splitCells cuts a line at blanks that are not inside quotes or brackets.
func splitCells(t *testing.T, line string) []string {
	t.Helper()
	var cells []string
	var cell strings.Builder
	quoted, depth := false, 0
	flush := func() {
		if cell.Len() > 0 {
			cells = append(cells, toJSON(cell.String()))
			cell.Reset()
		}
	}
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case c == '\\' && quoted:
			cell.WriteByte(c)
			i++
			c = line[i]
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[':
			depth++
		case c == ']':
			depth--
		case c == ' ' && depth == 0:
			flush()
			continue
		}
		cell.WriteByte(c)
	}
	flush()
	require.False(t, quoted || depth != 0, "line %q", line)
	return cells
}

func toJSON(cell string) string {
	switch {
	case timeOfDay.MatchString(cell):
		return `"` + day + cell + `Z"`
	case cell[0] == '"' || json.Valid([]byte(cell)):
		return cell
	}
	quoted, _ := json.Marshal(cell)
	return string(quoted)
}

// parseTime reads a time of a command.
func parseTime(t *testing.T, text string) feature.Timestamp {
	t.Helper()
	if timeOfDay.MatchString(text) {
		text = day + text
	}
	ts, err := feature.ParseTimestamp(text)
	require.NoError(t, err)
	return ts
}

// ndjson returns the rows as one JSON object a line.
func (tab table) ndjson() string {
	var b strings.Builder
	for _, row := range tab.rows {
		for i, cell := range row {
			fmt.Fprintf(&b, "%c%q:%s", "{,"[min(i, 1)], tab.names[i], cell)
		}
		b.WriteString("}\n")
	}
	return b.String()
}

// columns returns the cells by column.
func (tab table) columns() map[string][]json.RawMessage {
	out := map[string][]json.RawMessage{}
	for i, name := range tab.names {
		out[name] = []json.RawMessage{}
		for _, row := range tab.rows {
			out[name] = append(out[name], json.RawMessage(row[i]))
		}
	}
	return out
}

// String prints the table aligned.
func (tab table) String() string {
	lines := append([][]string{tab.names}, tab.rows...)
	width := make([]int, len(tab.names))
	for _, line := range lines {
		for i, cell := range line {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			fmt.Fprintf(&text, "%-*s  ", width[i], cell)
		}
		b.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return b.String()
}

// shown returns a JSON value as scripts print it: timestamps bare, and without
// the day where it is the day of the scripts.
func shown(raw string) string {
	text := strings.Trim(raw, `"`)
	if len(text) < len(day) || !strings.HasPrefix(raw, `"`) {
		return raw
	}
	if _, err := feature.ParseTimestamp(text); err != nil {
		return raw
	}
	if rest, ok := strings.CutPrefix(text, day); ok {
		return strings.TrimSuffix(rest, "Z")
	}
	return text
}

// readAll prints every row of a reader.
func readAll(t *testing.T, r array.RecordReader) (table, error) {
	t.Helper()
	defer r.Release()
	var tab table
	for _, f := range r.Schema().Fields() {
		tab.names = append(tab.names, f.Name)
	}
	for r.Next() {
		rec := r.Record()
		for i := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for c := range row {
				v, err := columns.Value(rec.Column(c), i, featureType(t, rec.Column(c).DataType()))
				require.NoError(t, err)
				row[c] = shown(string(v.AppendJSON(nil)))
			}
			tab.rows = append(tab.rows, row)
		}
	}
	return tab, r.Err()
}

// featureType is the inverse of columns.DataType.
func featureType(t *testing.T, dt arrow.DataType) feature.Type {
	t.Helper()
	for kind := feature.KindBool; kind <= feature.KindTimestamp; kind++ {
		scalar := feature.Type{Kind: kind}
		candidates := []feature.Type{scalar, feature.ListOf(scalar)}
		if v, ok := dt.(*arrow.FixedSizeListType); ok {
			candidates = append(candidates, feature.Vector(uint32(v.Len())))
		}
		for _, c := range candidates {
			if arrow.TypeEqual(columns.DataType(c), dt) {
				return c
			}
		}
	}
	require.Fail(t, "no feature type", "%s", dt)
	return feature.Type{}
}
