package serving

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/ingest"
)

// jobStates are the states a job, or a view of it, ends in.
var jobStates = [...]string{wire.JobDone, wire.JobFailed, wire.JobCanceled}

const stateWaiting = "waiting"

// jobs are the materializations of this process: the running ones and the last
// that ended.
type jobs struct {
	keep int // ended ones

	mu      sync.Mutex
	closed  bool
	byID    map[string]*job
	order   []*job // oldest first
	ended   map[string]int64
	running sync.WaitGroup
}

// job is one materialization. Its goroutine belongs to jobs.running and ends
// with cancel.
type job struct {
	cancel context.CancelFunc

	mu       sync.Mutex
	state    wire.Job
	canceled bool          // by a caller, not by a fault
	changed  chan struct{} // closed and replaced at each change
}

// see returns the state, and what is closed when there is a newer one.
func (j *job) see() (wire.Job, <-chan struct{}) {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.state
	out.Views = slices.Clone(out.Views)
	return out, j.changed
}

func (j *job) update(change func(*wire.Job)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.state)
	close(j.changed)
	j.changed = make(chan struct{})
}

// ask marks the job as canceled by a caller and cancels it.
func (j *job) ask() {
	j.mu.Lock()
	j.canceled = true
	j.mu.Unlock()
	j.cancel()
}

func (j *job) wasAsked() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.canceled
}

// Materialize starts a materialization and returns it; see Wait, Job and
// CancelJob. A view that is being materialized already is CodeConflict.
func (s *Service) Materialize(ctx context.Context, project string, req wire.MaterializeRequest) (wire.Job, error) {
	views, err := s.materializable(project, req)
	if err != nil {
		return wire.Job{}, err
	}
	// The job outlives the request that starts it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	j := &job{cancel: cancel, changed: make(chan struct{}), state: wire.Job{
		ID: strings.ToLower(rand.Text()), Project: project, State: wire.JobRunning, Started: feature.FromTime(s.clock.Now()),
	}}
	for _, v := range views {
		j.state.Views = append(j.state.Views, wire.ViewProgress{View: v.Name, State: stateWaiting})
	}
	started, _ := j.see()
	if err := s.jobs.start(j, func() { s.run(ctx, j, views, req) }); err != nil {
		cancel()
		return wire.Job{}, err
	}
	return started, nil
}

// materializable returns the views that a request loads. Its faults are told
// all at once.
func (s *Service) materializable(project string, req wire.MaterializeRequest) ([]*feature.BoundView, error) {
	const op = "serving.Materialize"
	if req.Start != nil && req.End != nil && *req.Start >= *req.End {
		return nil, feature.Invalid(op, "materialization", []feature.Fault{{Field: "end", Detail: req.End.String() + " is not after start " + req.Start.String()}})
	}
	snap := s.registry.Snapshot()
	all, err := snap.Views(project)
	if err != nil {
		return nil, err
	}
	if len(req.Views) == 0 {
		return slices.DeleteFunc(slices.Clone(all), func(v *feature.BoundView) bool { return !v.IsOnline() }), nil
	}
	e := &feature.Error{Op: op, Subject: "project " + project}
	refuse := func(code feature.Code, name, detail string) {
		if e.Code == feature.CodeInternal {
			e.Code = code
		}
		e.Faults = append(e.Faults, feature.Fault{Field: "views", Detail: "view " + name + detail})
	}
	var out []*feature.BoundView
	for i, name := range req.Views {
		v, err := snap.View(project, name)
		switch {
		case err != nil:
			refuse(feature.CodeNotFound, name, " is not defined")
		case slices.Contains(req.Views[:i], name):
			refuse(feature.CodeInvalidArgument, name, " is given twice")
		case !v.IsOnline():
			refuse(feature.CodeFailedPrecondition, name, " is not online (its definition says online: false)")
		default:
			out = append(out, v)
		}
	}
	if len(e.Faults) > 0 {
		return nil, e
	}
	return out, nil
}

// start registers a job and runs it in a goroutine.
func (js *jobs) start(j *job, run func()) error {
	js.mu.Lock()
	defer js.mu.Unlock()
	if js.closed {
		return feature.Errorf(feature.CodeUnavailable, "serving.Materialize", "", "the service is closing")
	}
	for _, other := range js.order {
		if view := j.overlaps(other); view != "" {
			return feature.Errorf(feature.CodeConflict, "serving.Materialize", "view "+j.state.Project+"/"+view, "materialization %s is loading it", other.state.ID)
		}
	}
	if js.byID == nil {
		js.byID, js.ended = map[string]*job{}, map[string]int64{}
	}
	js.byID[j.state.ID] = j
	js.order = append(js.order, j)
	js.running.Go(func() {
		run()
		js.finished(j)
	})
	return nil
}

// overlaps returns a view that the other job has yet to finish and that j
// wants; empty if there is none.
func (j *job) overlaps(other *job) string {
	theirs, _ := other.see()
	if theirs.State != wire.JobRunning || theirs.Project != j.state.Project {
		return ""
	}
	for _, mine := range j.state.Views {
		if slices.ContainsFunc(theirs.Views, func(v wire.ViewProgress) bool { return v.View == mine.View }) {
			return mine.View
		}
	}
	return ""
}

// finished counts a job that has ended, and forgets the oldest beyond keep.
func (js *jobs) finished(j *job) {
	js.mu.Lock()
	defer js.mu.Unlock()
	state, _ := j.see()
	js.ended[state.State]++
	var ended []*job
	for _, other := range js.order {
		if state, _ := other.see(); state.State != wire.JobRunning {
			ended = append(ended, other)
		}
	}
	for _, old := range ended[:max(len(ended)-js.keep, 0)] {
		delete(js.byID, old.state.ID)
		js.order = slices.DeleteFunc(js.order, func(o *job) bool { return o == old })
	}
}

// run materializes views one after the other. A view that fails does not keep
// the others from being loaded.
func (s *Service) run(ctx context.Context, j *job, views []*feature.BoundView, req wire.MaterializeRequest) {
	defer j.cancel()
	var first error
	for i, v := range views {
		err := s.runView(ctx, j, i, v, req)
		if err != nil && first == nil {
			first = err
		}
	}
	j.update(func(state *wire.Job) {
		now := feature.FromTime(s.clock.Now())
		state.Finished = &now
		state.State = j.outcome(first)
		if state.State == wire.JobFailed {
			state.Error = wire.NewProblem(first, "")
		}
	})
}

// outcome names how a job or a view of it ended. It is called under the lock.
func (j *job) outcome(err error) string {
	switch {
	case err == nil:
		return wire.JobDone
	case j.canceled:
		return wire.JobCanceled
	}
	return wire.JobFailed
}

func (s *Service) runView(ctx context.Context, j *job, i int, v *feature.BoundView, req wire.MaterializeRequest) error {
	if ctx.Err() != nil {
		j.update(func(state *wire.Job) { state.Views[i].State = wire.JobCanceled })
		return ctx.Err()
	}
	started := s.clock.Now()
	show := func(p wire.ViewProgress, state string) {
		p.View, p.State = v.Name, state
		p.Seconds = s.clock.Now().Sub(started).Seconds()
		j.update(func(job *wire.Job) { job.Views[i] = p })
	}
	show(wire.ViewProgress{}, wire.JobRunning)
	progress, err := s.ingester.Materialize(ctx, ingest.MaterializeRequest{
		View: v, Full: req.Full, Start: req.Start, End: req.End,
		Progress: func(p wire.ViewProgress) { show(p, wire.JobRunning) },
	})
	s.dropIfGone(ctx, v)
	if err != nil {
		s.logFailure(ctx, j, v, err)
		state, _ := j.see()
		progress = state.Views[i]
	}
	j.mu.Lock()
	outcome := j.outcome(err)
	j.mu.Unlock()
	show(progress, outcome)
	return err
}

func (s *Service) logFailure(ctx context.Context, j *job, v *feature.BoundView, err error) {
	if !j.wasAsked() {
		s.log.ErrorContext(ctx, "materialization failed", "job", j.state.ID, "project", v.Project, "view", v.Name, "error", err)
	}
}

// find returns a job of a project.
func (js *jobs) find(project, id string) (*job, error) {
	js.mu.Lock()
	defer js.mu.Unlock()
	j, ok := js.byID[id]
	if !ok || j.state.Project != project {
		return nil, feature.Errorf(feature.CodeNotFound, "serving.Job", "materialization "+id, "there is none in project %s (this server remembers the last %d)", project, js.keep)
	}
	return j, nil
}

// Job returns a materialization.
func (s *Service) Job(_ context.Context, project, id string) (wire.Job, error) {
	j, err := s.jobs.find(project, id)
	if err != nil {
		return wire.Job{}, err
	}
	state, _ := j.see()
	return state, nil
}

// Jobs lists the materializations of a project that are remembered, newest
// first.
func (s *Service) Jobs(_ context.Context, project string) ([]wire.Job, error) {
	if _, err := s.registry.Snapshot().Views(project); err != nil {
		return nil, err
	}
	s.jobs.mu.Lock()
	defer s.jobs.mu.Unlock()
	out := []wire.Job{}
	for _, j := range slices.Backward(s.jobs.order) {
		if state, _ := j.see(); state.Project == project {
			out = append(out, state)
		}
	}
	return out, nil
}

// CancelJob cancels a materialization and returns it as it is then: what it
// has loaded stays, and the next run begins where the last complete one ended.
// One that has ended already stays as it is.
func (s *Service) CancelJob(_ context.Context, project, id string) (wire.Job, error) {
	j, err := s.jobs.find(project, id)
	if err != nil {
		return wire.Job{}, err
	}
	j.ask()
	state, _ := j.see()
	return state, nil
}

// Wait waits for a materialization to end. Progress, if not nil, is called
// with the states that are seen on the way, the last one included. An error is
// that of ctx; a materialization that failed is a result.
func (s *Service) Wait(ctx context.Context, project, id string, progress func(wire.Job)) (wire.Job, error) {
	j, err := s.jobs.find(project, id)
	if err != nil {
		return wire.Job{}, err
	}
	for {
		state, changed := j.see()
		if progress != nil {
			progress(state)
		}
		if state.State != wire.JobRunning {
			return state, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return state, ctx.Err()
		}
	}
}

// count returns how many jobs have ended, by state, and how many have not.
func (js *jobs) count() (ended map[string]int64, running int64) {
	js.mu.Lock()
	defer js.mu.Unlock()
	ended = map[string]int64{}
	for _, state := range jobStates {
		ended[state] = js.ended[state]
	}
	for _, j := range js.order {
		if state, _ := j.see(); state.State == wire.JobRunning {
			running++
		}
	}
	return ended, running
}

// close cancels every job and waits for their ends.
func (js *jobs) close(ctx context.Context) error {
	js.mu.Lock()
	js.closed = true
	for _, j := range js.order {
		j.ask()
	}
	js.mu.Unlock()
	done := make(chan struct{})
	go func() {
		js.running.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
