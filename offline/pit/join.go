package pit

import (
	"math"

	"github.com/granary-ml/granary/feature"
)

// Rule says which rows a spine row may be given.
type Rule struct {
	// TTL is how old a row may be, the end included; 0 is any age.
	TTL feature.TTL
	// KnownAt leaves out rows that were created after the spine row's time.
	KnownAt bool
}

// Status is what became of a spine row.
type Status uint8

// The statuses.
const (
	NotFound      Status = iota // no row of the key is old enough to be seen
	OutsideMaxAge               // the newest row is older than the TTL allows
	Found
)

// String returns the status as lookups write it.
func (s Status) String() string {
	switch s {
	case NotFound:
		return "NOT_FOUND"
	case OutsideMaxAge:
		return "OUTSIDE_MAX_AGE"
	case Found:
		return "FOUND"
	}
	return "UNKNOWN"
}

// none is the position of no row.
const none = math.MinInt64

// Join is the state of one join: for each row of the spine the newest row of
// the blocks so far. It is not safe for concurrent use.
type Join struct {
	spine Spine
	rule  Rule
	// event, created and position of the newest row, by spine row. The TTL is
	// not looked at until the end: if the newest row is too old, so are all.
	event, created, position []int64
	// latest bounds the event timestamps of the blocks to come. Within ordinal
	// k, rows from open[k] on have an answer that is newer than that.
	latest int64
	open   []int32
	known  availability
}

// NewJoin starts a join of a spine.
func NewJoin(spine Spine, rule Rule) *Join {
	n := spine.Len()
	j := &Join{
		spine: spine, rule: rule, latest: math.MaxInt64,
		event: make([]int64, n), created: make([]int64, n), position: make([]int64, n),
		open: make([]int32, spine.Keys()),
	}
	for i := range j.position {
		j.event[i], j.created[i], j.position[i] = math.MinInt64, math.MinInt64, none
	}
	if len(j.open) > 0 {
		copy(j.open, spine.first[1:])
	}
	return j
}

// Settle promises that no row of the blocks that are added from now on has an
// event timestamp after latest. Rows that have a newer answer need not be looked
// at again.
func (j *Join) Settle(latest feature.Timestamp) { j.latest = min(j.latest, int64(latest)) }

// Add offers the rows of a block. The order in which blocks are added does not
// change the answer.
func (j *Join) Add(b Block) {
	for _, g := range b.Groups {
		lo, hi := j.spine.first[g.Key], j.open[g.Key]
		for hi > lo && j.event[hi-1] > j.latest {
			hi--
		}
		j.open[g.Key] = hi
		rows := slice{
			event: b.Event[g.Start:g.End], created: b.Created[g.Start:g.End],
			position: b.Position + int64(g.Start),
		}
		// Rows of the spine before the oldest row of the group see none of it.
		lo += int32(Seek(j.spine.at[lo:hi], 0, rows.event[0])) //nolint:gosec // below the spine's length
		if lo == hi {
			continue
		}
		if j.rule.KnownAt {
			j.addKnown(rows, lo, hi)
		} else {
			j.addGroup(rows, lo, hi)
		}
	}
}

// slice is the rows of one group.
type slice struct {
	event, created []int64
	position       int64 // of the first row
}

// addGroup offers the rows of a group to the spine rows [lo, hi), none of which
// is before the first row.
func (j *Join) addGroup(rows slice, lo, hi int32) {
	seen := 1 // rows with event ≤ at: never fewer for a later spine row
	for i := lo; i < hi; i++ {
		seen = upperBoundFrom(rows.event, seen, j.spine.at[i])
		j.offer(i, rows, seen-1)
	}
}

// offer keeps row r of a group as the answer of spine row i if it is newer.
func (j *Join) offer(i int32, rows slice, r int) {
	event, created, position := rows.event[r], rows.created[r], rows.position+int64(r)
	switch {
	case event != j.event[i]:
		if event < j.event[i] {
			return
		}
	case created != j.created[i]:
		if created < j.created[i] {
			return
		}
	case position < j.position[i]:
		return
	}
	j.event[i], j.created[i], j.position[i] = event, created, position
}

// Row returns the position of the row that spine row i is given, and its event
// timestamp; both mean nothing unless the status is Found.
func (j *Join) Row(i int) (position int64, event feature.Timestamp, status Status) {
	event = feature.Timestamp(j.event[i])
	switch {
	case j.position[i] == none:
		return 0, 0, NotFound
	case !j.rule.TTL.Covers(event, feature.Timestamp(j.spine.at[i])):
		return 0, event, OutsideMaxAge
	}
	return j.position[i], event, Found
}
