package serving

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
	"github.com/granary-ml/granary/registry"
)

// plan is a feature list compiled at a revision: all that a lookup needs to
// know and that does not depend on its entities. It is immutable and shared.
type plan struct {
	revision int64
	keys     []feature.JoinKey // of all views, each once
	keyHeads [][]byte          // {"name":"driver_id","values":[
	groups   []keyGroup
	views    []planView
	columns  []planColumn
	tail     []byte // ],"revision":42}
}

// keyGroup is a sequence of join keys that identifies the rows of at least one
// view. Views with the same join keys share the entity keys of a request.
type keyGroup struct {
	columns []int // into plan.keys
	keys    []feature.JoinKey
}

// planView is a view that is read.
type planView struct {
	view   *feature.BoundView
	layout *online.Layout
	group  int // into plan.groups
}

// planColumn is a feature column of the answer.
type planColumn struct {
	name string
	head []byte // {"name":"driver_stats:trips","values":[
	typ  feature.Type
	view int // into plan.views
	slot int
}

// compile makes the plan of a selection. Its faults are about the selection
// as a whole: join keys that disagree, views that are not served.
func compile(sel feature.Selection) (*plan, error) {
	keys, faults := sel.JoinKeys()
	if len(faults) > 0 {
		return nil, feature.Invalid("", "lookup", faults)
	}
	p := &plan{revision: sel.Revision, keys: keys}
	for _, k := range keys {
		p.keyHeads = append(p.keyHeads, columnHead(k.Name))
	}
	at := map[feature.ViewID]int{}
	for _, v := range sel.Views() {
		if !v.IsOnline() {
			faults = append(faults, feature.Fault{Field: "features", Detail: "view " + v.Name + " is not online (its definition says online: false)"})
		}
		at[v.ID] = len(p.views)
		p.views = append(p.views, planView{view: v, layout: online.NewLayout(v), group: p.group(v.Keys)})
	}
	if len(faults) > 0 {
		return nil, &feature.Error{Code: feature.CodeFailedPrecondition, Subject: "lookup", Faults: faults}
	}
	for _, f := range sel.Features {
		name := f.As
		if name == "" {
			name = f.Ref().String()
		}
		p.columns = append(p.columns, planColumn{name: name, head: columnHead(name), typ: f.Type(), view: at[f.View.ID], slot: f.Slot()})
	}
	p.tail = append(strconv.AppendInt([]byte(`],"revision":`), sel.Revision, 10), '}')
	return p, nil
}

func columnHead(name string) []byte {
	return append(feature.AppendStringJSON([]byte(`{"name":`), name), `,"values":[`...)
}

// group returns the group of a view's join keys.
func (p *plan) group(keys []feature.JoinKey) int {
	columns := make([]int, len(keys))
	for i, k := range keys {
		columns[i] = slices.IndexFunc(p.keys, func(known feature.JoinKey) bool { return known.Name == k.Name })
	}
	for i, g := range p.groups {
		if slices.Equal(g.columns, columns) {
			return i
		}
	}
	p.groups = append(p.groups, keyGroup{columns: columns, keys: keys})
	return len(p.groups) - 1
}

// planCache holds the plans of one revision by what they were asked with. It
// is copied to be changed, so that finding a plan takes no lock and no memory.
// It is dropped as a whole when the registry moves on or when it is full.
type planCache struct{ current atomic.Pointer[planSet] }

type planSet struct {
	revision int64
	plans    map[string]*plan
}

const (
	// maxPlans bounds the plans of a revision; a service asks in few ways.
	maxPlans = 512
	// maxPlanKeyBytes bounds the text of a feature list that is worth keeping.
	maxPlanKeyBytes = 64 << 10
)

func (c *planCache) find(revision int64, key []byte) *plan {
	set := c.current.Load()
	if set == nil || set.revision != revision {
		return nil
	}
	return set.plans[string(key)]
}

// add keeps a plan. Two adds at once may lose one; it is compiled again.
func (c *planCache) add(p *plan, key []byte) {
	if len(key) > maxPlanKeyBytes {
		return
	}
	old := c.current.Load()
	if old != nil && old.revision > p.revision {
		return
	}
	next := &planSet{revision: p.revision, plans: map[string]*plan{}}
	if old != nil && old.revision == p.revision && len(old.plans) < maxPlans {
		maps.Copy(next.plans, old.plans)
	}
	next.plans[string(key)] = p
	c.current.CompareAndSwap(old, next)
}

// appendPlanKey appends what identifies the plan of a request: the text of its
// feature list and its service, in which no byte is 0.
func appendPlanKey(dst []byte, project string, req *request) []byte {
	dst = append(append(dst, project...), 0)
	dst = append(append(dst, req.features...), 0)
	return append(dst, req.service...)
}

// planOf finds or compiles the plan of a request.
func (s *Service) planOf(key []byte, snap *registry.Snapshot, project string, req *request) (*plan, error) {
	if p := s.plans.find(snap.Revision(), key); p != nil {
		return p, nil
	}
	refs, faults := readRefs(req.features)
	if len(faults) > 0 {
		return nil, feature.Invalid("", "lookup", faults)
	}
	service := ""
	if req.service != nil {
		service, _ = unquote(req.service)
	}
	sel, err := snap.Select(project, service, refs)
	if err != nil {
		return nil, err
	}
	p, err := compile(sel)
	if err != nil {
		return nil, err
	}
	s.plans.add(p, key)
	return p, nil
}

// readRefs reads the feature list; each element must be text.
func readRefs(raw jsontext.Value) ([]string, []feature.Fault) {
	if raw == nil {
		return nil, nil
	}
	var items []jsontext.Value
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, []feature.Fault{{Field: "features", Detail: err.Error()}}
	}
	var faults []feature.Fault
	refs := make([]string, len(items))
	for i, item := range items {
		text, ok := unquote(item)
		if !ok {
			faults = append(faults, feature.Fault{Field: fmt.Sprintf("features[%d]", i), Detail: clip(item) + ` is not text (expected "view:feature")`})
		}
		refs[i] = text
	}
	return refs, faults
}
