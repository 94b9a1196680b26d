package wire

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/granary-ml/granary/feature"
)

// The options of requests whose body is rows travel in the query. Each type
// writes its own parameters and reads them back; what has its default is not
// written. Reading tells every fault at once: an unknown parameter, one that is
// given twice, one that cannot be read.

// Query returns the options as query parameters.
func (o HistoricalOptions) Query() url.Values {
	q := url.Values{}
	setList(q, "features", o.Features)
	setText(q, "service", o.Service)
	setText(q, "time_column", o.TimeColumn)
	setBool(q, "full_names", o.FullNames)
	setBool(q, "known_at", o.KnownAt)
	o.AsOf.set(q)
	return q
}

// ParseHistoricalQuery reads what HistoricalOptions.Query writes.
func ParseHistoricalQuery(q url.Values) (HistoricalOptions, error) {
	p := newQueryReader(q)
	o := HistoricalOptions{
		Features:   p.list("features"),
		Service:    p.text("service"),
		TimeColumn: p.text("time_column"),
		FullNames:  p.flag("full_names"),
		KnownAt:    p.flag("known_at"),
		AsOf:       p.asOf(),
	}
	return o, p.err()
}

// Query returns the options as query parameters. Entities are JSON, so that
// their values keep their types.
func (o ExportOptions) Query() url.Values {
	q := url.Values{}
	setList(q, "columns", o.Columns)
	if o.Interval != (feature.Interval{}) {
		if o.Interval.Start > math.MinInt64 {
			q.Set("start", o.Interval.Start.String())
		}
		if o.Interval.End < math.MaxInt64 {
			q.Set("end", o.Interval.End.String())
		}
	}
	if len(o.Entities) > 0 {
		if text, err := json.Marshal(o.Entities); err == nil {
			q.Set("entities", string(text))
		}
	}
	o.AsOf.set(q)
	if o.Shards > 1 {
		q.Set("shard", fmt.Sprintf("%d/%d", o.Shard, o.Shards))
	}
	return q
}

// ParseExportQuery reads what ExportOptions.Query writes. The entities are
// checked to be an object of arrays; their values are read by the view's types
// later.
func ParseExportQuery(q url.Values) (ExportOptions, error) {
	p := newQueryReader(q)
	o := ExportOptions{
		Columns:  p.list("columns"),
		Interval: p.interval(),
		Entities: p.entities(),
		AsOf:     p.asOf(),
	}
	o.Shard, o.Shards = p.shard()
	return o, p.err()
}

// Query returns the options as query parameters. The idempotency key is not
// among them: it travels in the header Idempotency-Key.
func (o PushOptions) Query() url.Values {
	q := url.Values{}
	if o.Online != o.Offline {
		to := "offline"
		if o.Online {
			to = "online"
		}
		q.Set("to", to)
	}
	setBool(q, "strict", o.Strict)
	return q
}

// ParsePushQuery reads what PushOptions.Query writes.
func ParsePushQuery(q url.Values) (PushOptions, error) {
	p := newQueryReader(q)
	o := PushOptions{Strict: p.flag("strict")}
	for _, to := range p.list("to") {
		switch to {
		case "online":
			o.Online = true
		case "offline":
			o.Offline = true
		default:
			p.fault("to", "%q is neither online nor offline", to)
		}
	}
	return o, p.err()
}

// ParseExpectedQuery reads the one parameter of a DELETE of a definition:
// expected_revision, the revision that the caller believes is current.
func ParseExpectedQuery(q url.Values) (*int64, error) {
	p := newQueryReader(q)
	text := p.text("expected_revision")
	if text == "" {
		return nil, p.err()
	}
	v, err := strconv.ParseInt(text, 10, 64)
	if err != nil || v < 0 {
		p.fault("expected_revision", "%q is not a revision (expected a whole number)", text)
	}
	return &v, p.err()
}

// ParseEmptyQuery refuses every parameter.
func ParseEmptyQuery(q url.Values) error { return newQueryReader(q).err() }

func (a AsOf) set(q url.Values) {
	switch {
	case a.Version != nil:
		q.Set("as_of", strconv.FormatInt(*a.Version, 10))
	case a.Time != nil:
		q.Set("as_of", a.Time.String())
	}
}

// ParseAsOf reads a table version (digits only) or a commit time (RFC 3339);
// empty text is the newest version.
func ParseAsOf(text string) (AsOf, error) {
	if text == "" {
		return AsOf{}, nil
	}
	if strings.Trim(text, "0123456789") == "" {
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return AsOf{}, fmt.Errorf("%q is not a table version", text)
		}
		return AsOf{Version: &v}, nil
	}
	t, err := feature.ParseTimestamp(text)
	if err != nil {
		return AsOf{}, fmt.Errorf("%q is neither a table version nor a time", text)
	}
	return AsOf{Time: &t}, nil
}

func setText(q url.Values, name, v string) {
	if v != "" {
		q.Set(name, v)
	}
}

func setBool(q url.Values, name string, v bool) {
	if v {
		q.Set(name, "true")
	}
}

func setList(q url.Values, name string, v []string) {
	if len(v) > 0 {
		q.Set(name, strings.Join(v, ","))
	}
}

// queryReader takes parameters out of a query and gathers the faults.
type queryReader struct {
	left   url.Values
	faults []feature.Fault
}

func newQueryReader(q url.Values) *queryReader { return &queryReader{left: maps.Clone(q)} }

func (p *queryReader) fault(name, format string, args ...any) {
	p.faults = append(p.faults, feature.Fault{Field: "query." + name, Detail: fmt.Sprintf(format, args...)})
}

func (p *queryReader) text(name string) string {
	values := p.left[name]
	delete(p.left, name)
	if len(values) == 0 {
		return ""
	}
	if len(values) > 1 {
		p.fault(name, "given %d times", len(values))
	}
	return values[0]
}

// list reads values that are separated by commas, given twice, or both.
func (p *queryReader) list(name string) []string {
	values := p.left[name]
	delete(p.left, name)
	var out []string
	for _, v := range values {
		if v != "" {
			out = append(out, strings.Split(v, ",")...)
		}
	}
	return out
}

func (p *queryReader) flag(name string) bool {
	switch text := p.text(name); text {
	case "", "false":
		return false
	case "true":
		return true
	default:
		p.fault(name, "%q is neither true nor false", text)
		return false
	}
}

func (p *queryReader) asOf() AsOf {
	a, err := ParseAsOf(p.text("as_of"))
	if err != nil {
		p.fault("as_of", "%v", err)
	}
	return a
}

func (p *queryReader) timestamp(name string, otherwise feature.Timestamp) feature.Timestamp {
	text := p.text(name)
	if text == "" {
		return otherwise
	}
	t, err := feature.ParseTimestamp(text)
	if err != nil {
		p.fault(name, "%v", err)
	}
	return t
}

func (p *queryReader) interval() feature.Interval {
	bounded := p.left.Has("start") || p.left.Has("end")
	i := feature.Interval{
		Start: p.timestamp("start", math.MinInt64),
		End:   p.timestamp("end", math.MaxInt64),
	}
	switch {
	case !bounded:
		return feature.Interval{}
	case i.Empty() && len(p.faults) == 0:
		p.fault("end", "%s is not after start %s", i.End, i.Start)
	}
	return i
}

func (p *queryReader) entities() map[string][]RawValue {
	text := p.text("entities")
	if text == "" {
		return nil
	}
	var out map[string][]RawValue
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		p.fault("entities", `not a JSON object of arrays, such as {"driver_id": [1001]}`)
	}
	return out
}

func (p *queryReader) shard() (shard, shards int) {
	text := p.text("shard")
	if text == "" {
		return 0, 0
	}
	a, b, _ := strings.Cut(text, "/")
	shard, errA := strconv.Atoi(a)
	shards, errB := strconv.Atoi(b)
	if errA != nil || errB != nil || shard < 0 || shard >= shards {
		p.fault("shard", "%q is not a shard (expected i/n with i from 0 to n-1)", text)
	}
	return shard, shards
}

// err refuses what was not taken, too.
func (p *queryReader) err() error {
	for _, name := range slices.Sorted(maps.Keys(p.left)) {
		p.fault(name, "no such parameter")
	}
	return feature.Invalid("", "query", p.faults)
}
