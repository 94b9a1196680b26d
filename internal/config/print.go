package config

import (
	"bytes"
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML returns the effective configuration. Values that came from the
// environment stand as ${NAME} again; a password in a URL is left out.
func (c *Config) YAML() ([]byte, error) {
	var doc yaml.Node
	if err := doc.Encode(c); err != nil {
		return nil, err
	}
	c.conceal(&doc, "")
	var out bytes.Buffer
	enc := yaml.NewEncoder(&out)
	enc.SetIndent(2)
	if err := enc.Encode(&doc); err != nil {
		return nil, err
	}
	return out.Bytes(), enc.Close()
}

// conceal puts the written form back where a value came from the environment,
// and redacts URLs.
func (c *Config) conceal(node *yaml.Node, at string) {
	switch node.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(node.Content); i += 2 {
			c.conceal(node.Content[i+1], join(at, node.Content[i].Value))
		}
	case yaml.SequenceNode:
		for i, child := range node.Content {
			c.conceal(child, fmt.Sprintf("%s[%d]", at, i))
		}
	case yaml.ScalarNode:
		if raw, ok := c.raw[at]; ok {
			node.SetString(raw)
			return
		}
		if strings.Contains(node.Value, "://") {
			node.Value = redactURL(node.Value)
		}
	case yaml.DocumentNode, yaml.AliasNode:
	}
}

// secretWords mark the parameters of a URL that are not shown.
var secretWords = []string{"secret", "password", "token", "key", "signature"}

// redactURL returns a URL without its password and without parameters whose
// name sounds like a secret.
func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "(not a URL)"
	}
	query := u.Query()
	for name := range query {
		for _, word := range secretWords {
			if strings.Contains(strings.ToLower(name), word) {
				query.Set(name, "xxxxx")
			}
		}
	}
	if len(query) > 0 {
		u.RawQuery = query.Encode()
	}
	return u.Redacted()
}
