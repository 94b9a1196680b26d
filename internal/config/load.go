package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/granary-ml/granary/feature"
)

// FileName is the name of the file that is read where none is named.
const FileName = "granary.yaml"

// Load reads a configuration file. Its error is an invalid_argument with every
// fault of the file by its line, or a not_found.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	data, err := os.ReadFile(filepath.Clean(path))
	if errors.Is(err, os.ErrNotExist) {
		return nil, feature.Errorf(feature.CodeNotFound, "config", path, "there is no such file (granary init makes one)")
	}
	if err != nil {
		return nil, feature.Errorf(feature.CodeInvalidArgument, "config", path, "%w", err)
	}
	return Parse(path, data, env)
}

// Parse is Load of a file that was read.
func Parse(path string, data []byte, env func(string) (string, bool)) (*Config, error) {
	c := Default(filepath.Dir(path))
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	if err := dec.Decode(&doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, feature.Invalid("config", "", faultsOf(path, err))
	}
	if err := dec.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return nil, feature.Invalid("config", "", []feature.Fault{{Field: path, Detail: "more than one document"}})
	}
	x := expander{env: env, path: path, raw: map[string]string{}}
	x.expand(&doc, "")
	faults := x.faults
	if len(doc.Content) > 0 {
		faults = append(faults, decodeStrict(path, &doc, c)...)
	}
	if len(faults) > 0 {
		slices.SortStableFunc(faults, func(a, b feature.Fault) int { return lineOf(a) - lineOf(b) })
		return nil, feature.Invalid("config", "", faults)
	}
	c.raw = x.raw
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return c, nil
}

// decodeStrict decodes the document over the defaults. The YAML package is
// strict only when it reads text, and the document has changed since, so the
// keys are compared here.
func decodeStrict(path string, doc *yaml.Node, c *Config) []feature.Fault {
	faults := unknownKeys(path, doc.Content[0], c)
	if err := doc.Decode(c); err != nil {
		faults = append(faults, faultsOf(path, err)...)
	}
	return faults
}

// unknownKeys compares the keys of a document with those of the configuration,
// section by section.
func unknownKeys(path string, node *yaml.Node, c *Config) []feature.Fault {
	var known yaml.Node
	if err := known.Encode(c); err != nil {
		return []feature.Fault{{Field: path, Detail: err.Error()}}
	}
	return compareKeys(path, "", node, &known)
}

func compareKeys(path, section string, node, known *yaml.Node) []feature.Fault {
	if node.Kind != yaml.MappingNode || known.Kind != yaml.MappingNode {
		return nil
	}
	var faults []feature.Fault
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		value := valueOf(known, key.Value)
		if value == nil {
			faults = append(faults, feature.Fault{
				Field:  fmt.Sprintf("%s:%d", path, key.Line),
				Detail: fmt.Sprintf("there is no key %s (expected one of %s)", join(section, key.Value), strings.Join(keysOf(known), ", ")),
			})
			continue
		}
		faults = append(faults, compareKeys(path, join(section, key.Value), node.Content[i+1], value)...)
	}
	return faults
}

func join(section, key string) string {
	if section == "" {
		return key
	}
	return section + "." + key
}

// valueOf returns the value of a key of a mapping, or nil.
func valueOf(mapping *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

func keysOf(mapping *yaml.Node) []string {
	keys := make([]string, 0, len(mapping.Content)/2)
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		keys = append(keys, mapping.Content[i].Value)
	}
	return keys
}

var (
	yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)
	yamlType = regexp.MustCompile("cannot unmarshal !!(\\w+)(?: `[^`]*`)? into .*")
)

// faultsOf turns an error of the YAML package into faults that name the line.
func faultsOf(path string, err error) []feature.Fault {
	texts := []string{err.Error()}
	if many, ok := errors.AsType[*yaml.TypeError](err); ok {
		texts = many.Errors
	}
	faults := make([]feature.Fault, 0, len(texts))
	for _, text := range texts {
		f := feature.Fault{Field: path, Detail: strings.TrimPrefix(text, "yaml: ")}
		if m := yamlLine.FindStringSubmatch(text); m != nil {
			f = feature.Fault{Field: path + ":" + m[1], Detail: m[2]}
		}
		if m := yamlType.FindStringSubmatch(f.Detail); m != nil {
			f.Detail = fmt.Sprintf("a YAML %s does not belong here", m[1])
		}
		faults = append(faults, f)
	}
	return faults
}

// lineOf returns the line that a fault names after the file, or 0.
func lineOf(f feature.Fault) int {
	line, err := strconv.Atoi(f.Field[strings.LastIndexByte(f.Field, ':')+1:])
	if err != nil {
		return 0
	}
	return line
}

// expander replaces ${NAME} in the scalars of a document.
type expander struct {
	env    func(string) (string, bool)
	path   string
	raw    map[string]string
	faults []feature.Fault
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

func (x *expander) expand(node *yaml.Node, at string) {
	switch node.Kind {
	case yaml.DocumentNode:
		for _, child := range node.Content {
			x.expand(child, at)
		}
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			x.expand(node.Content[i+1], join(at, node.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, child := range node.Content {
			x.expand(child, fmt.Sprintf("%s[%d]", at, i))
		}
	case yaml.ScalarNode:
		x.scalar(node, at)
	case yaml.AliasNode:
	}
}

func (x *expander) scalar(node *yaml.Node, at string) {
	if !variable.MatchString(node.Value) {
		return
	}
	x.raw[at] = node.Value
	node.Value = variable.ReplaceAllStringFunc(node.Value, func(match string) string {
		name := match[2 : len(match)-1]
		value, ok := x.env(name)
		if !ok {
			x.faults = append(x.faults, feature.Fault{
				Field:  fmt.Sprintf("%s:%d", x.path, node.Line),
				Detail: fmt.Sprintf("%s: the environment variable %s is not set", at, name),
			})
		}
		return value
	})
}

// Validate tells every fault of the values at once.
func (c *Config) Validate() error {
	var faults []feature.Fault
	fault := func(field, format string, args ...any) {
		faults = append(faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
	if err := feature.CheckName(c.Project); err != nil {
		fault("project", "%v", err)
	}
	if c.Server != "" {
		if u, err := url.Parse(c.Server); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			fault("server", "%q is not the URL of a server (expected such as http://127.0.0.1:7787)", redactURL(c.Server))
		}
	}
	if c.Storage == "" {
		fault("storage", "a folder or bucket URL is missing")
	}
	if c.Online.Path == "" {
		fault("online.path", "a folder is missing")
	}
	if _, _, err := net.SplitHostPort(c.Serve.Listen); err != nil {
		fault("serve.listen", "%q is not an address (expected host:port, such as 127.0.0.1:7787)", c.Serve.Listen)
	}
	switch c.Log.Level {
	case "debug", "info", "warn", "error":
	default:
		fault("log.level", "%q is not a level (expected debug, info, warn or error)", c.Log.Level)
	}
	switch c.Log.Format {
	case "text", "json":
	default:
		fault("log.format", "%q is not a format (expected text or json)", c.Log.Format)
	}
	return feature.Invalid("config", "", faults)
}
