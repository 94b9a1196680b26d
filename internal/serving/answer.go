package serving

import (
	"context"
	"time"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/online"
)

// tally counts the values of answers by status.
type tally [online.OutsideMaxAge + 1]int64

// statusTexts are the statuses as they stand in an answer.
var statusTexts = [...]string{
	online.Present: `"PRESENT"`, online.NullValue: `"NULL_VALUE"`,
	online.NotFound: `"NOT_FOUND"`, online.OutsideMaxAge: `"OUTSIDE_MAX_AGE"`,
}

// appendAnswer appends the answer of a filled lookup: the join keys as they
// were given, then the features in request order.
func (k *scratch) appendAnswer(ctx context.Context, dst []byte, t *tally) ([]byte, error) {
	dst = append(dst, `{"columns":[`...)
	for i := range k.plan.keys {
		dst = append(dst, k.plan.keyHeads[i]...)
		dst = append(dst, k.columns[i].text...)
		dst = append(dst, "]},"...)
	}
	k.prepareTimes()
	for i := range k.plan.columns {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = k.appendColumn(dst, &k.plan.columns[i], t); err != nil {
			return nil, err
		}
	}
	return append(dst, k.plan.tail...), nil
}

func (k *scratch) appendColumn(dst []byte, c *planColumn, t *tally) ([]byte, error) {
	dst = append(dst, c.head...)
	cells := k.cells[c.view*k.n : (c.view+1)*k.n]
	layout := k.plan.views[c.view].layout
	for row := range cells {
		if row > 0 {
			dst = append(dst, ',')
		}
		cell := &cells[row]
		if cell.status != online.Present {
			t[cell.status]++
			dst = append(dst, "null"...)
			continue
		}
		t[cell.statusOf(c.slot)]++
		var err error
		if dst, err = layout.AppendJSON(dst, cell.packed, c.slot); err != nil {
			return nil, err
		}
	}
	if k.include&includeStatus != 0 {
		dst = append(dst, `],"status":[`...)
		for row := range cells {
			if row > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, statusTexts[cells[row].statusOf(c.slot)]...)
		}
	}
	if k.include&includeEvent != 0 {
		dst = append(append(dst, `],"event_timestamp":[`...), k.times[c.view].events...)
	}
	if k.include&includeAge != 0 {
		dst = append(append(dst, `],"age_seconds":[`...), k.times[c.view].ages...)
	}
	return append(dst, "]}"...), nil
}

// prepareTimes writes the times of each view once: they are the same in every
// column of it.
func (k *scratch) prepareTimes() {
	k.times = grow(k.times, len(k.plan.views))
	for i := range k.times {
		t := &k.times[i]
		t.events, t.ages = t.events[:0], t.ages[:0]
		cells := k.cells[i*k.n : (i+1)*k.n]
		if k.include&includeEvent != 0 {
			t.events = appendTimes(t.events, cells, appendEvent)
		}
		if k.include&includeAge != 0 {
			t.ages = appendTimes(t.ages, cells, func(dst []byte, event feature.Timestamp) []byte {
				return feature.AppendFloatJSON(dst, ageSeconds(event, k.now), 64)
			})
		}
	}
}

func appendTimes(dst []byte, cells []cell, one func([]byte, feature.Timestamp) []byte) []byte {
	for row := range cells {
		if row > 0 {
			dst = append(dst, ',')
		}
		if cells[row].status == online.NotFound {
			dst = append(dst, "null"...)
			continue
		}
		dst = one(dst, cells[row].event)
	}
	return dst
}

func appendEvent(dst []byte, event feature.Timestamp) []byte {
	return append(event.AppendText(append(dst, '"')), '"')
}

// ageSeconds returns the age of a row, never negative: a row that is dated a
// little ahead of the clock counts as now.
func ageSeconds(event, now feature.Timestamp) float64 {
	return float64(max(now-event, 0)) / float64(time.Second/time.Microsecond)
}
