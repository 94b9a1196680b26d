package serving

import (
	"context"
	"encoding/json"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

const opOnline = "serving.Online"

// Online looks features up. It is AppendOnline with Go types: the request and
// the answer are the same bytes.
func (s *Service) Online(ctx context.Context, project string, req wire.OnlineRequest) (*wire.OnlineResponse, error) {
	if req.Entities == nil {
		req.Entities = map[string][]wire.RawValue{}
	}
	body, err := json.Marshal(req)
	if err != nil {
		return nil, feature.Errorf(feature.CodeInvalidArgument, opOnline, "lookup", "a value is not valid JSON: %w", err)
	}
	answer, err := s.AppendOnline(ctx, nil, project, body)
	if err != nil {
		return nil, err
	}
	out := &wire.OnlineResponse{}
	if err := json.Unmarshal(answer, out); err != nil {
		return nil, feature.Errorf(feature.CodeInternal, opOnline, "lookup", "own answer: %w", err)
	}
	return out, nil
}

// AppendOnline answers a lookup: body is the JSON of a wire.OnlineRequest, and
// the JSON of its wire.OnlineResponse is appended to dst. On an error dst comes
// back as it was.
func (s *Service) AppendOnline(ctx context.Context, dst []byte, project string, body []byte) ([]byte, error) {
	k := s.takeScratch()
	defer s.giveScratch(k)
	if err := s.lookup(ctx, k, project, body); err != nil {
		return dst, err
	}
	var tally tally
	out, err := k.appendAnswer(ctx, dst, &tally)
	if err != nil {
		return dst, err
	}
	s.stats.lookup(k.n, tally)
	return out, nil
}

func (s *Service) takeScratch() *scratch {
	if k, ok := s.scratches.Get().(*scratch); ok {
		return k
	}
	return &scratch{}
}

func (s *Service) giveScratch(k *scratch) {
	if k.reusable() {
		k.forget()
		s.scratches.Put(k)
	}
}

// lookup does all of a lookup but writing the answer.
func (s *Service) lookup(ctx context.Context, k *scratch, project string, body []byte) error {
	if err := s.prepare(k, project, body); err != nil {
		return err
	}
	if err := s.read(ctx, k); err != nil {
		return err
	}
	k.now = feature.FromTime(s.clock.Now())
	return k.fill()
}

// prepare reads the request: its plan and its keys. Faults of the request, of
// its feature list and of its entities are told together.
func (s *Service) prepare(k *scratch, project string, body []byte) error {
	req, err := k.parser.parse(body)
	if err != nil {
		return err
	}
	k.include = req.include
	faults := req.faults
	if req.nameless {
		return feature.Invalid(opOnline, "lookup", faults)
	}
	k.planKey = appendPlanKey(k.planKey[:0], project, &req)
	p, err := s.planOf(k.planKey, s.registry.Snapshot(), project, &req)
	if err != nil {
		if len(faults) == 0 {
			return err
		}
		return feature.Invalid(opOnline, "lookup", append(faults, faultsOf(err)...))
	}
	k.plan = p
	faults = append(faults, k.readKeys(p, req.entities)...)
	if len(faults) == 0 {
		faults = k.buildKeys(p)
	}
	if len(faults) > 0 {
		return feature.Invalid(opOnline, "lookup", faults)
	}
	if most := s.options.MaxLookupValues; k.n > most/max(len(p.columns), 1) {
		return feature.Errorf(feature.CodeTooLarge, opOnline, "lookup", "%d entities × %d features are more than %d values", k.n, len(p.columns), most)
	}
	return nil
}

// faultsOf returns the faults of an error, or the error as one.
func faultsOf(err error) []feature.Fault {
	if faults := feature.FaultsOf(err); len(faults) > 0 {
		return faults
	}
	return []feature.Fault{{Detail: err.Error()}}
}

// read asks the store for the rows of all views at once.
func (s *Service) read(ctx context.Context, k *scratch) error {
	k.lookups = grow(k.lookups, len(k.plan.views))
	for i, v := range k.plan.views {
		k.lookups[i] = online.Lookup{View: v.view.ID, Keys: k.groups[v.group].keys}
	}
	return s.online.Read(ctx, k.lookups, &k.rows)
}

// fill takes the rows apart as far as all their features share it: is there a
// row, how old is it, is it good.
func (k *scratch) fill() error {
	k.cells = grow(k.cells, k.n*len(k.plan.views))
	for i, v := range k.plan.views {
		at := k.groups[v.group].at
		oldest := v.view.TTL.Oldest(k.now)
		for row := range k.n {
			c := &k.cells[i*k.n+row]
			*c = cell{status: online.NotFound}
			key := row
			if at != nil {
				key = at[row]
			}
			if key < 0 {
				continue
			}
			packed := k.rows.Row(i, key)
			if packed == nil {
				continue
			}
			version, err := online.VersionOf(packed)
			if err != nil {
				return err
			}
			*c = cell{packed: packed, event: version.Event, status: online.Present}
			if version.Event < oldest {
				c.status = online.OutsideMaxAge
			}
		}
	}
	return nil
}

// status returns the status of one value of a row.
func (c *cell) statusOf(slot int) online.Status {
	if c.status == online.Present && online.IsNull(c.packed, slot) {
		return online.NullValue
	}
	return c.status
}
