package registry

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/granary-ml/granary/feature"
)

// document is one file of definitions.
type document struct {
	Project     string            `json:"project,omitempty"`
	Entities    []feature.Entity  `json:"entities,omitempty"`
	Sources     []feature.Source  `json:"sources,omitempty"`
	Views       []feature.View    `json:"views,omitempty"`
	Services    []feature.Service `json:"services,omitempty"`
	definitions feature.Definitions
}

// ParseYAML reads the definitions of one file: the keys entities, sources,
// views and services, each a list whose items have the members of the JSON
// form, and optionally project. Several documents in one file add up.
//
// It is strict: a key that is not known, or is given twice, a value of the
// wrong kind, an alias or a tag is a fault. Every fault is told at once, as
// CodeInvalidArgument, its field being "file:line". References between
// definitions are not looked at: they may lead to other files; see
// LoadDefinitions.
func ParseYAML(file string, data []byte) (feature.Definitions, error) {
	d := newYAMLDecoder(file)
	doc := d.parse(data)
	return doc.definitions, feature.Invalid("registry.ParseYAML", "file "+file, d.faults)
}

// yamlDecoder decodes YAML nodes into structs by their JSON names, so that the
// two spellings cannot drift apart, and remembers on which line each place is.
type yamlDecoder struct {
	file   string
	faults []feature.Fault
	lines  map[string]string // a place such as "views[weather].ttl" to "file:line"
}

func newYAMLDecoder(file string) *yamlDecoder {
	return &yamlDecoder{file: file, lines: map[string]string{}}
}

func (d *yamlDecoder) fault(line int, path, format string, args ...any) {
	detail := fmt.Sprintf(format, args...)
	if path != "" {
		detail = path + ": " + detail
	}
	d.faults = append(d.faults, feature.Fault{Field: d.at(line), Detail: detail})
}

func (d *yamlDecoder) at(line int) string {
	if line == 0 {
		return d.file
	}
	return d.file + ":" + strconv.Itoa(line)
}

func (d *yamlDecoder) parse(data []byte) document {
	var out document
	if !feature.ValidText(string(data)) {
		d.fault(lineOfBadText(data), "", "text is not valid UTF-8")
		return out
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var node yaml.Node
		err := dec.Decode(&node)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			d.syntax(err)
			return out
		}
		d.document(&node, &out)
	}
}

func (d *yamlDecoder) document(node *yaml.Node, out *document) {
	if len(node.Content) == 0 || isNull(node.Content[0]) {
		return // only comments
	}
	doc := document{Project: out.Project}
	d.decode("", node.Content[0], reflect.ValueOf(&doc).Elem())
	if out.Project != "" && doc.Project != out.Project {
		d.fault(node.Content[0].Line, "project", "the file names two projects, %s and %s", out.Project, doc.Project)
	}
	out.Project = doc.Project
	out.definitions = out.definitions.Merge(feature.Definitions{
		Entities: doc.Entities, Sources: doc.Sources, Views: doc.Views, Services: doc.Services,
	})
}

func lineOfBadText(data []byte) int {
	for i, line := range bytes.Split(data, []byte("\n")) {
		if !feature.ValidText(string(line)) {
			return i + 1
		}
	}
	return 0
}

// yamlLine is how the YAML library tells where it stopped.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?`)

func (d *yamlDecoder) syntax(err error) {
	text := err.Error()
	line := 0
	if m := yamlLine.FindStringSubmatch(text); m != nil {
		line, _ = strconv.Atoi(m[1]) // no number is line 0, the file as a whole
		text = text[len(m[0]):]
	}
	d.fault(line, "", "not valid YAML: %s", text)
}

// decode reads a node into dst, which has the zero value.
func (d *yamlDecoder) decode(path string, n *yaml.Node, dst reflect.Value) {
	d.lines[path] = d.at(n.Line)
	switch {
	case n.Kind == yaml.AliasNode || n.Anchor != "":
		d.fault(n.Line, path, "anchors and aliases are not read: write it out")
		return
	case n.Style&yaml.TaggedStyle != 0:
		d.fault(n.Line, path, "a tag such as %s is not read", n.Tag)
		return
	}
	if item, ok := reflect.TypeAssert[*feature.ServiceItem](dst.Addr()); ok {
		d.serviceItem(path, n, item)
		return
	}
	if text, ok := reflect.TypeAssert[encoding.TextUnmarshaler](dst.Addr()); ok {
		d.text(path, n, text)
		return
	}
	switch dst.Kind() { //nolint:exhaustive // the kinds that definitions are made of
	case reflect.Struct:
		d.structure(path, n, dst)
	case reflect.Slice:
		d.list(path, n, dst)
	case reflect.Map:
		d.stringMap(path, n, dst)
	case reflect.Pointer:
		dst.Set(reflect.New(dst.Type().Elem()))
		d.decode(path, n, dst.Elem())
	case reflect.Bool:
		d.boolean(path, n, dst)
	case reflect.String:
		if s, ok := d.scalar(path, n); ok {
			dst.SetString(s)
		}
	default:
		d.fault(n.Line, path, "no value is expected here")
	}
}

// scalar returns the text of a scalar as it is written; whether the library
// takes it for a number or a date does not matter where text is expected.
func (d *yamlDecoder) scalar(path string, n *yaml.Node) (string, bool) {
	switch {
	case n.Kind != yaml.ScalarNode:
		d.fault(n.Line, path, "%s where a text is expected", nodeName(n))
	case isNull(n):
		d.fault(n.Line, path, "a value is missing")
	default:
		return n.Value, true
	}
	return "", false
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

func nodeName(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode, yaml.DocumentNode, yaml.AliasNode:
	}
	if isNull(n) {
		return "nothing"
	}
	return strconv.Quote(n.Value)
}

func (d *yamlDecoder) text(path string, n *yaml.Node, dst encoding.TextUnmarshaler) {
	s, ok := d.scalar(path, n)
	if !ok {
		return
	}
	if err := dst.UnmarshalText([]byte(s)); err != nil {
		d.fault(n.Line, path, "%v", err)
	}
}

func (d *yamlDecoder) boolean(path string, n *yaml.Node, dst reflect.Value) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		d.fault(n.Line, path, "%s where true or false is expected", nodeName(n))
		return
	}
	dst.SetBool(strings.EqualFold(n.Value, "true"))
}

// structure reads a mapping into a struct.
func (d *yamlDecoder) structure(path string, n *yaml.Node, dst reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.fault(n.Line, path, "%s where a mapping is expected", nodeName(n))
		return
	}
	members := membersOf(dst.Type())
	d.mapping(path, n, func(key, value *yaml.Node) {
		at := join(path, key.Value)
		i, ok := members.index(key.Value)
		if !ok {
			d.fault(key.Line, at, "no such key (expected %s)", strings.Join(members.names, ", "))
			return
		}
		d.decode(at, value, dst.Field(i))
		d.lines[at] = d.at(key.Line)
	})
}

// mapping calls member for each pair, and tells keys that are no text or are
// given twice.
func (d *yamlDecoder) mapping(path string, n *yaml.Node, member func(key, value *yaml.Node)) {
	first := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		line, twice := first[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 || key.ShortTag() == "!!merge" || isNull(key):
			d.fault(key.Line, path, "a key is a plain text")
		case twice:
			d.fault(key.Line, join(path, key.Value), "the key stands on line %d already", line)
		default:
			first[key.Value] = key.Line
			member(key, value)
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func (d *yamlDecoder) list(path string, n *yaml.Node, dst reflect.Value) {
	if n.Kind != yaml.SequenceNode {
		d.fault(n.Line, path, "%s where a list is expected", nodeName(n))
		return
	}
	if len(n.Content) == 0 {
		return
	}
	out := reflect.MakeSlice(dst.Type(), len(n.Content), len(n.Content))
	for i, item := range n.Content {
		d.decode(path+"["+itemName(item, i)+"]", item, out.Index(i))
	}
	dst.Set(out)
}

// itemName is how Validate names an item of a list: by its name where it has
// one, else by its position.
func itemName(n *yaml.Node, i int) string {
	if n.Kind == yaml.MappingNode {
		for j := 0; j+1 < len(n.Content); j += 2 {
			if n.Content[j].Value == "name" && n.Content[j+1].Kind == yaml.ScalarNode {
				return n.Content[j+1].Value
			}
		}
	}
	return strconv.Itoa(i)
}

func (d *yamlDecoder) stringMap(path string, n *yaml.Node, dst reflect.Value) {
	if n.Kind != yaml.MappingNode {
		d.fault(n.Line, path, "%s where a mapping is expected", nodeName(n))
		return
	}
	out := map[string]string{}
	d.mapping(path, n, func(key, value *yaml.Node) {
		var text string
		d.decode(path+"["+key.Value+"]", value, reflect.ValueOf(&text).Elem())
		out[key.Value] = text
	})
	if len(out) > 0 {
		dst.Set(reflect.ValueOf(out))
	}
}

// serviceItem reads "view:feature", "view", or {ref: …, as: …}.
func (d *yamlDecoder) serviceItem(path string, n *yaml.Node, dst *feature.ServiceItem) {
	var item struct {
		Ref string `json:"ref"`
		As  string `json:"as"`
	}
	faults := len(d.faults)
	if n.Kind == yaml.MappingNode {
		d.structure(path, n, reflect.ValueOf(&item).Elem())
	} else {
		item.Ref, _ = d.scalar(path, n)
	}
	if len(d.faults) > faults {
		return
	}
	parsed, err := feature.ParseServiceItem(item.Ref, item.As)
	if err != nil {
		d.fault(n.Line, path, "%v", err)
	}
	*dst = parsed
}

// members are the fields of a struct by their JSON names.
type members struct {
	names   []string
	indexes []int
}

func membersOf(t reflect.Type) members {
	var m members
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			m.names = append(m.names, name)
			m.indexes = append(m.indexes, i)
		}
	}
	return m
}

func (m members) index(name string) (int, bool) {
	for i, n := range m.names {
		if n == name {
			return m.indexes[i], true
		}
	}
	return 0, false
}
