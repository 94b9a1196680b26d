package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/granary-ml/granary/internal/clock"
)

// progress shows how far a command is, on standard error: a bar on a terminal,
// a plain line every few seconds elsewhere. It belongs to one goroutine.
type progress interface {
	// Update tells how many rows were read and how much of the whole is done; a
	// whole of 0 is not known.
	Update(rows, done, whole int64)
	// End takes the bar away.
	End()
}

// newProgress returns a progress that names what is being done.
func (a *app) newProgress(what string) progress {
	meter := meter{what: what, clock: a.clock, start: a.clock.Now()}
	switch {
	case a.flags.quiet:
		return silent{}
	case isTerminal(a.stderr):
		return newBar(a.stderr, meter)
	}
	return &lines{w: a.stderr, meter: meter, last: meter.start}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// meter knows how fast a thing goes.
type meter struct {
	what  string
	clock clock.Clock
	start time.Time
}

// rate returns rows per second since the start.
func (m meter) rate(rows int64) int64 {
	elapsed := m.clock.Now().Sub(m.start).Seconds()
	if elapsed <= 0 {
		return 0
	}
	return int64(float64(rows) / elapsed)
}

// left returns how long it takes if it goes on as so far.
func (m meter) left(done, whole int64) (time.Duration, bool) {
	if done <= 0 || whole <= 0 {
		return 0, false
	}
	elapsed := m.clock.Now().Sub(m.start)
	return time.Duration(float64(elapsed) * float64(max(whole-done, 0)) / float64(done)), true
}

type silent struct{}

// Update implements progress.
func (silent) Update(_, _, _ int64) {}

// End implements progress.
func (silent) End() {}

// bar is a progress on a terminal.
type bar struct {
	meter meter
	bar   *progressbar.ProgressBar
	last  time.Time
}

// drawEvery is how often the bar is drawn.
const drawEvery = 100 * time.Millisecond

func newBar(w io.Writer, m meter) *bar {
	return &bar{meter: m, bar: progressbar.NewOptions64(-1,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(m.what),
		progressbar.OptionSetWidth(30),
		progressbar.OptionSetSpinnerChangeInterval(0), // it would draw by a goroutine that never ends
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionSetElapsedTime(true),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionFullWidth(),
	)}
}

// Update implements progress.
func (b *bar) Update(rows, done, whole int64) {
	now := b.meter.clock.Now()
	if now.Sub(b.last) < drawEvery {
		return
	}
	b.last = now
	if whole > 0 && b.bar.GetMax64() != whole {
		b.bar.ChangeMax64(whole)
	}
	b.bar.Describe(fmt.Sprintf("%s  %s  %s/s", b.meter.what, rowsText(rows), rowsText(b.meter.rate(rows))))
	_ = b.bar.Set64(done)
}

// End implements progress.
func (b *bar) End() { _ = b.bar.Clear() }

// lineEvery is how often a plain line is written.
const lineEvery = 2 * time.Second

// lines is a progress where there is no terminal.
type lines struct {
	w     io.Writer
	meter meter
	last  time.Time
}

// Update implements progress.
func (l *lines) Update(rows, done, whole int64) {
	now := l.meter.clock.Now()
	if now.Sub(l.last) < lineEvery {
		return
	}
	l.last = now
	line := fmt.Sprintf("%s: %s, %s/s", l.meter.what, rowsText(rows), rowsText(l.meter.rate(rows)))
	if left, ok := l.meter.left(done, whole); ok {
		line += fmt.Sprintf(", %d%%, %s left", 100*done/whole, seconds(left))
	}
	_, _ = fmt.Fprintln(l.w, line)
}

// End implements progress.
func (l *lines) End() {}
