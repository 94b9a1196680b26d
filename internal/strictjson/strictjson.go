// Package strictjson reads JSON the way every native surface does: names match
// exactly, a member given twice, an unknown member, trailing data, invalid
// UTF-8 and a lone surrogate are errors.
package strictjson

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
)

// Unmarshal reads one JSON value into dst. Its error is an invalid_argument
// with a fault that names the place in the document.
func Unmarshal(data []byte, dst any) error {
	return wrap(json.Unmarshal(data, dst, json.RejectUnknownMembers(true)))
}

// UnmarshalRead is Unmarshal from a reader; errors of the reader come back as
// they are.
func UnmarshalRead(r io.Reader, dst any) error {
	return wrap(json.UnmarshalRead(r, dst, json.RejectUnknownMembers(true)))
}

func wrap(err error) error {
	var syntactic *jsontext.SyntacticError
	var semantic *json.SemanticError
	switch {
	case err == nil:
		return nil
	case feature.CodeOf(err) != feature.CodeInternal:
		return err
	case errors.As(err, &syntactic):
		return fault(syntactic.JSONPointer, fmt.Sprintf("not valid JSON at byte %d: %v", syntactic.ByteOffset, syntactic.Err))
	case errors.As(err, &semantic):
		return fault(semantic.JSONPointer, semanticDetail(semantic))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fault("", "not valid JSON: it ends too early")
	}
	return err
}

func semanticDetail(err *json.SemanticError) string {
	switch {
	case err.Err == nil:
		return kindName(err.JSONKind) + " does not belong here"
	case errors.Is(err.Err, json.ErrUnknownName):
		return "no such member"
	case err.JSONKind == '0' && errors.Is(err.Err, strconv.ErrSyntax):
		return "a number that is not a whole one"
	}
	return err.Err.Error()
}

func kindName(k jsontext.Kind) string {
	switch k {
	case 'n':
		return "a null"
	case 't', 'f':
		return "a bool"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '[', ']':
		return "a JSON array"
	case '{', '}':
		return "a JSON object"
	case jsontext.KindInvalid:
	}
	return "this value"
}

func fault(pointer jsontext.Pointer, detail string) error {
	var names []string
	for name := range pointer.Tokens() {
		names = append(names, name)
	}
	return feature.Invalid("", "body", []feature.Fault{{Field: strings.Join(names, "."), Detail: detail}})
}

// Value reads one JSON value into a type by the rules of ingest: nothing that
// the text says is lost. raw is valid JSON, as a jsontext.Decoder gives it.
func Value(t feature.Type, raw jsontext.Value) (feature.Value, error) {
	switch raw.Kind() {
	case 'n':
		return feature.Null(t), nil
	case 't', 'f':
		if t != feature.Bool {
			return feature.Value{}, fmt.Errorf("%s where %s is expected", raw, t)
		}
		return feature.BoolValue(raw.Kind() == 't'), nil
	case '"':
		text, err := jsontext.AppendUnquote(nil, raw)
		if err != nil {
			return feature.Value{}, errors.New("text is not valid UTF-8")
		}
		return feature.ParseString(t, string(text))
	case '0':
		return feature.ParseNumber(t, string(raw))
	case '[':
		return list(t, raw)
	case '{', '}', ']', jsontext.KindInvalid:
	}
	return feature.Value{}, fmt.Errorf("a JSON object where %s is expected", t)
}

func list(t feature.Type, raw jsontext.Value) (feature.Value, error) {
	if t.IsScalar() {
		return feature.Value{}, fmt.Errorf("a JSON array where %s is expected", t)
	}
	var parts []jsontext.Value
	if err := json.Unmarshal(raw, &parts); err != nil {
		return feature.Value{}, err
	}
	if t.IsVector() && len(parts) != int(t.Dim) {
		return feature.Value{}, fmt.Errorf("%d elements where %s is expected", len(parts), t)
	}
	elems := make([]feature.Value, len(parts))
	for i, part := range parts {
		e, err := Value(t.Elem(), part)
		if err != nil {
			return feature.Value{}, fmt.Errorf("element %d: %w", i, err)
		}
		if e.IsNull() && t.IsVector() {
			return feature.Value{}, fmt.Errorf("element %d is null, and the elements of %s are not", i, t)
		}
		elems[i] = e
	}
	return feature.ListValue(t, elems), nil
}
