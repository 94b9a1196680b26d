package serving

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/strictjson"
)

// request is a lookup request that has been checked to be valid JSON, but not
// been read: its members are spans of the body. A member that is absent or
// null is nil.
type request struct {
	features jsontext.Value
	service  jsontext.Value
	entities jsontext.Value
	include  include
	faults   []feature.Fault
	nameless bool // what is asked for cannot be read: there is no plan to find
}

// include is the set of what is answered beside the values.
type include uint8

const (
	includeStatus include = 1 << iota
	includeEvent
	includeAge
)

func (r *request) fault(field, format string, args ...any) {
	r.faults = append(r.faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
}

// parser scans lookup requests. It is used again for the next one; spans of
// the request before stay valid as long as its body does.
type parser struct {
	dec *jsontext.Decoder
	buf bytes.Buffer
}

// parse scans body. What is not valid JSON is an error; what is valid but
// wrong is told in the request's faults, so that the caller can tell it
// together with what only the plan can see.
func (p *parser) parse(body []byte) (request, error) {
	p.buf = *bytes.NewBuffer(body) // the decoder reads a Buffer in place
	if p.dec == nil {
		p.dec = jsontext.NewDecoder(&p.buf)
	} else {
		p.dec.Reset(&p.buf)
	}
	var req request
	if err := p.scan(body, &req); err != nil {
		return request{}, refine(body, err)
	}
	return req, nil
}

// refine returns the error that every other request of the surface would get
// for the same body: the slow reader tells what and where.
func refine(body []byte, err error) error {
	var slow wire.OnlineRequest
	if told := strictjson.Unmarshal(body, &slow); told != nil {
		return told
	}
	return feature.Errorf(feature.CodeInvalidArgument, "", "body", "not valid JSON: %w", err)
}

var errNotObject = errors.New("a lookup is a JSON object")

func (p *parser) scan(body []byte, req *request) error {
	if p.dec.PeekKind() != '{' {
		return errNotObject
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	for p.dec.PeekKind() != '}' {
		name, err := p.value(body)
		if err != nil {
			return err
		}
		raw, err := p.value(body)
		if err != nil {
			return err
		}
		req.set(name, raw)
	}
	if _, err := p.dec.ReadToken(); err != nil {
		return err
	}
	if _, err := p.dec.ReadToken(); !errors.Is(err, io.EOF) {
		return errors.New("data after the request")
	}
	return nil
}

// value reads the next value and returns it as a span of body.
func (p *parser) value(body []byte) (jsontext.Value, error) {
	raw, err := p.dec.ReadValue()
	if err != nil {
		return nil, err
	}
	end := p.dec.InputOffset()
	return body[end-int64(len(raw)) : end : end], nil
}

type member uint8

const (
	memberUnknown member = iota
	memberFeatures
	memberService
	memberEntities
	memberInclude
)

func memberOf(name jsontext.Value) member {
	switch {
	case isString(name, "features"):
		return memberFeatures
	case isString(name, "service"):
		return memberService
	case isString(name, "entities"):
		return memberEntities
	case isString(name, "include"):
		return memberInclude
	}
	return memberUnknown
}

func (r *request) set(name, raw jsontext.Value) {
	m, kind := memberOf(name), raw.Kind()
	if kind == 'n' && m != memberUnknown {
		return
	}
	switch m {
	case memberFeatures:
		if r.expect("features", kind, '[') {
			r.features = raw
		} else {
			r.nameless = true
		}
	case memberService:
		if r.expect("service", kind, '"') {
			r.service = raw
		} else {
			r.nameless = true
		}
	case memberEntities:
		if r.expect("entities", kind, '{') {
			r.entities = raw
		}
	case memberInclude:
		if r.expect("include", kind, '[') {
			r.setInclude(raw)
		}
	case memberUnknown:
		text, _ := unquote(name)
		r.fault(clip([]byte(text)), "no such member")
	}
}

func (r *request) expect(field string, kind, want jsontext.Kind) bool {
	if kind != want {
		r.fault(field, "a JSON %s where a JSON %s is expected", kindName(kind), kindName(want))
	}
	return kind == want
}

// kindName names a kind of JSON value for a message.
func kindName(k jsontext.Kind) string {
	switch k {
	case jsontext.KindBeginArray:
		return "array"
	case jsontext.KindBeginObject:
		return "object"
	case jsontext.KindTrue, jsontext.KindFalse:
		return "boolean"
	case jsontext.KindNull, jsontext.KindString, jsontext.KindNumber, jsontext.KindInvalid, jsontext.KindEndObject, jsontext.KindEndArray:
	}
	return k.String()
}

func (r *request) setInclude(raw jsontext.Value) {
	list := arrayOf(raw)
	for i := 0; ; i++ {
		item, ok := list.next()
		if !ok {
			return
		}
		text, isText := unquote(item)
		switch {
		case isText && text == wire.IncludeStatus:
			r.include |= includeStatus
		case isText && text == wire.IncludeEventTimestamp:
			r.include |= includeEvent
		case isText && text == wire.IncludeAge:
			r.include |= includeAge
		default:
			r.fault(fmt.Sprintf("include[%d]", i), "%s cannot be included (expected %q, %q or %q)",
				clip(item), wire.IncludeStatus, wire.IncludeEventTimestamp, wire.IncludeAge)
		}
	}
}

// clip shortens a span of a request for a message.
func clip(raw []byte) string {
	const most = 80
	if len(raw) <= most {
		return string(raw)
	}
	return string(bytes.ToValidUTF8(raw[:most], nil)) + "…"
}
