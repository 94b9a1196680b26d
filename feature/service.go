package feature

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Service is the named, ordered list of features that one model asks for.
type Service struct {
	Name        string            `json:"name"`
	Features    []ServiceItem     `json:"features"`
	Description string            `json:"description,omitempty"`
	Owner       string            `json:"owner,omitempty"`
	Tags        map[string]string `json:"tags,omitempty"`
}

// ServiceItem selects one feature of a view, or all of them where Feature is
// empty, and may rename the one. Its short form is the text "view:feature" or
// "view"; with a rename it is {"ref": "view:feature", "as": "name"}.
type ServiceItem struct {
	View    string
	Feature string
	As      string
}

type serviceItemJSON struct {
	Ref string `json:"ref"`
	As  string `json:"as"`
}

// String returns the short form, with " as name" for a rename.
func (i ServiceItem) String() string {
	text := i.ref()
	if i.As != "" {
		text += " as " + i.As
	}
	return text
}

func (i ServiceItem) ref() string {
	if i.Feature == "" {
		return i.View
	}
	return i.View + ":" + i.Feature
}

// MarshalJSON writes the short form where there is no rename.
func (i ServiceItem) MarshalJSON() ([]byte, error) {
	if i.As == "" {
		return json.Marshal(i.ref())
	}
	return json.Marshal(serviceItemJSON{Ref: i.ref(), As: i.As})
}

// UnmarshalJSON reads both forms; a member that is not known, not spelled
// exactly or not a text is an error.
func (i *ServiceItem) UnmarshalJSON(data []byte) error {
	var item serviceItemJSON
	if err := json.Unmarshal(data, &item.Ref); err != nil || item.Ref == "" {
		if item, err = readServiceItem(data); err != nil {
			return fmt.Errorf(`%w (expected "view:feature", "view", or {"ref": "view:feature", "as": "name"})`, err)
		}
	}
	parsed, err := ParseServiceItem(item.Ref, item.As)
	if err == nil {
		*i = parsed
	}
	return err
}

// readServiceItem reads the long form. A struct would take "Ref" for "ref", and
// the names of members match exactly.
func readServiceItem(data []byte) (serviceItemJSON, error) {
	var item serviceItemJSON
	var members map[string]*string
	if err := json.Unmarshal(data, &members); err != nil {
		return item, errors.New("not a feature of a service")
	}
	for name, value := range members {
		switch {
		case value == nil:
			return item, fmt.Errorf("member %q is null", clip(name))
		case name == "ref":
			item.Ref = *value
		case name == "as":
			item.As = *value
		default:
			return item, fmt.Errorf("no such member: %q", clip(name))
		}
	}
	if item.Ref == "" {
		return item, errors.New(`member "ref" is missing`)
	}
	return item, nil
}

// ParseServiceItem reads what an item selects, "view:feature" or "view", and
// takes its new name, or none.
func ParseServiceItem(text, as string) (ServiceItem, error) {
	view, name, one := strings.Cut(text, ":")
	parts := []string{view}
	if one {
		parts = append(parts, name)
	}
	if as != "" {
		parts = append(parts, as)
	}
	for _, part := range parts {
		if err := CheckName(part); err != nil {
			return ServiceItem{}, fmt.Errorf("feature of a service %q: %w", clip(text), err)
		}
	}
	return ServiceItem{View: view, Feature: name, As: as}, nil
}
