package feature

import (
	"errors"
	"fmt"
	"strings"
)

// Ref names a feature of a view: "driver_stats:trips".
type Ref struct {
	View    string
	Feature string
}

// String returns "view:feature".
func (r Ref) String() string { return r.View + ":" + r.Feature }

// FullName returns "view__feature", the column name under full names.
func (r Ref) FullName() string { return r.View + "__" + r.Feature }

// ParseRef reads "view:feature".
func ParseRef(text string) (Ref, error) {
	view, name, ok := strings.Cut(text, ":")
	if !ok {
		return Ref{}, fmt.Errorf("%q is not a feature reference (expected view:feature)", clip(text))
	}
	for _, part := range []string{view, name} {
		if err := CheckName(part); err != nil {
			return Ref{}, fmt.Errorf("feature reference %q: %w", clip(text), err)
		}
	}
	return Ref{View: view, Feature: name}, nil
}

// MarshalText implements encoding.TextMarshaler.
func (r Ref) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler by ParseRef.
func (r *Ref) UnmarshalText(text []byte) error {
	v, err := ParseRef(string(text))
	if err == nil {
		*r = v
	}
	return err
}

// MaxNameBytes is the length of the longest name.
const MaxNameBytes = 128

// CheckName tells what is wrong with the name of a project, entity, view,
// service, source, feature or join key: [A-Za-z_][A-Za-z0-9_-]*, at most 128
// bytes, compared exactly.
func CheckName(name string) error {
	switch {
	case name == "":
		return errors.New("a name is missing")
	case len(name) > MaxNameBytes:
		return fmt.Errorf("name %q has %d bytes, more than %d", clip(name), len(name), MaxNameBytes)
	}
	for i, c := range []byte(name) {
		letter := c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		inner := c == '-' || c >= '0' && c <= '9'
		if !letter && (i == 0 || !inner) {
			return fmt.Errorf("name %q is not allowed (expected letters, digits, _ and -, not starting with a digit or -)", clip(name))
		}
	}
	return nil
}
