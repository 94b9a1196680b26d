package registry

import (
	"bytes"
	"encoding"
	"reflect"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"github.com/granary-ml/granary/feature"
)

// MarshalYAML writes definitions so that ParseYAML reads the same: the keys in
// the order of the documentation, the lists in their own order, nothing that
// has its zero value.
func MarshalYAML(d feature.Definitions) ([]byte, error) {
	if len(d.Entities)+len(d.Sources)+len(d.Views)+len(d.Services) == 0 {
		return []byte("{}\n"), nil
	}
	node, err := yamlNode(reflect.ValueOf(d))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(node); err != nil {
		return nil, feature.Errorf(feature.CodeInternal, "registry.MarshalYAML", "definitions", "%w", err)
	}
	return out.Bytes(), nil
}

// yamlNode returns a value of a definition as a node; nil for what is left out.
func yamlNode(v reflect.Value) (*yaml.Node, error) {
	if v.IsZero() {
		return nil, nil
	}
	if item, ok := reflect.TypeAssert[feature.ServiceItem](v); ok {
		return serviceItemNode(item), nil
	}
	if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
		text, err := m.MarshalText()
		return plainNode(string(text)), err
	}
	switch v.Kind() { //nolint:exhaustive // the kinds that definitions are made of
	case reflect.Struct:
		return structNode(v)
	case reflect.Slice:
		return listNode(v)
	case reflect.Map:
		return mapNode(v)
	case reflect.Pointer:
		return boolNode(v.Elem().Bool()), nil
	case reflect.Bool:
		return boolNode(v.Bool()), nil
	default:
		return textNode(v.String())
	}
}

func structNode(v reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	m := membersOf(v.Type())
	for i, name := range m.names {
		value, err := yamlNode(v.Field(m.indexes[i]))
		if err != nil {
			return nil, err
		}
		if value != nil {
			n.Content = append(n.Content, plainNode(name), value)
		}
	}
	switch v.Interface().(type) {
	case feature.Feature, feature.JoinKey, feature.CSVOptions:
		if len(n.Content) <= 4 {
			n.Style = yaml.FlowStyle // a line each: {name: temp, type: float64}
		}
	}
	return n, nil
}

func listNode(v reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	if v.Type().Elem().Kind() == reflect.String {
		n.Style = yaml.FlowStyle
	}
	for i := range v.Len() {
		item, err := itemNode(v.Index(i))
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	return n, nil
}

// itemNode is yamlNode for what cannot be left out.
func itemNode(v reflect.Value) (*yaml.Node, error) {
	if v.Kind() == reflect.String {
		return textNode(v.String())
	}
	n, err := yamlNode(v)
	if n == nil && err == nil {
		n = &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	}
	return n, err
}

func mapNode(v reflect.Value) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for _, key := range sortedKeys(v) {
		name, err := textNode(key.String())
		if err != nil {
			return nil, err
		}
		value, err := textNode(v.MapIndex(key).String())
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, name, value)
	}
	return n, nil
}

func serviceItemNode(item feature.ServiceItem) *yaml.Node {
	ref := plainNode(feature.ServiceItem{View: item.View, Feature: item.Feature}.String())
	if item.As == "" {
		return ref
	}
	return &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle, Content: []*yaml.Node{
		plainNode("ref"), ref, plainNode("as"), plainNode(item.As),
	}}
}

// plainNode writes text that the library may quote as it sees fit.
func plainNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
}

func boolNode(v bool) *yaml.Node {
	if v {
		return plainNode("true")
	}
	return plainNode("false")
}

// truthy are texts that older readers of YAML take for true and false.
var truthy = map[string]bool{"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true}

// textNode writes any text: where it could be read as something else, or its
// blanks and breaks could be lost, in double quotes.
func textNode(text string) (*yaml.Node, error) {
	if !feature.ValidText(text) {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "registry.MarshalYAML", "definitions", "text %q is not valid UTF-8", text)
	}
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
	odd := func(r rune) bool { return !unicode.IsPrint(r) }
	if text == "" || truthy[strings.ToLower(text)] || strings.ContainsFunc(text, odd) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, nil
}
