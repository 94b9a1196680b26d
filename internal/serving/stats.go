package serving

import (
	"sync/atomic"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/online"
)

// Stats are counts since the service was made.
type Stats struct {
	Lookups    int64                           // that were answered
	Entities   int64                           // rows of the lookups
	Values     [online.OutsideMaxAge + 1]int64 // of the lookups, by online.Status
	Pushes     int64                           // that were answered, wholly or not
	Accepted   int64                           // rows of the pushes
	Rejected   int64                           // rows of the pushes
	Superseded int64                           // accepted rows that are not served
	Jobs       map[string]int64                // materializations that have ended, by state
	Running    int64                           // materializations that have not
}

// Stats returns the counts.
func (s *Service) Stats() Stats {
	c := &s.stats
	out := Stats{
		Lookups: c.lookups.Load(), Entities: c.entities.Load(),
		Pushes: c.pushes.Load(), Accepted: c.accepted.Load(), Rejected: c.rejected.Load(), Superseded: c.superseded.Load(),
	}
	out.Jobs, out.Running = s.jobs.count()
	for status := range c.values {
		out.Values[status] = c.values[status].Load()
	}
	return out
}

type stats struct {
	lookups, entities, pushes, accepted, rejected, superseded atomic.Int64

	values [online.OutsideMaxAge + 1]atomic.Int64
}

func (s *stats) lookup(entities int, t tally) {
	s.lookups.Add(1)
	s.entities.Add(int64(entities))
	for status, n := range t {
		if n > 0 {
			s.values[status].Add(n)
		}
	}
}

func (s *stats) pushed(r wire.PushResult) {
	s.pushes.Add(1)
	s.accepted.Add(r.Accepted)
	s.rejected.Add(int64(len(r.Rejected)))
	s.superseded.Add(r.Superseded)
}
