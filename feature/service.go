package feature

import (
	"bytes"
	"encoding/json"
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

// UnmarshalJSON reads both forms; an unknown member is an error.
func (i *ServiceItem) UnmarshalJSON(data []byte) error {
	var item serviceItemJSON
	if err := json.Unmarshal(data, &item.Ref); err != nil {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&item); err != nil {
			return fmt.Errorf(`a feature of a service is "view:feature", "view", or {"ref": "view:feature", "as": "name"}: %w`, err)
		}
	}
	i.View, i.Feature, _ = strings.Cut(item.Ref, ":")
	i.As = item.As
	return nil
}
