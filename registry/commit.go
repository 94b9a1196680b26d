package registry

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// proposal is what a writer wants to make of the revision it has read.
type proposal struct {
	plan     wire.Plan
	next     *projectState // nil deletes the project
	nextView feature.ViewID
	deletes  bool // the project itself goes, also an empty one
}

// update is one call of a writer.
type update struct {
	op       string
	project  string
	message  string
	expected *int64
	// propose is pure and may be called several times, each time on top of a
	// newer revision.
	propose func(base *Snapshot) (proposal, error)
}

// commit proposes on top of the newest revision and writes the next one.
//
// The put is the only point where writers meet: the storage lets one of them
// have the number. Whoever loses reads what won and proposes again, so that one
// writer advances in every round, whatever the others do; a writer that names
// the revision that it expects is told of the conflict instead.
func (r *Registry) commit(ctx context.Context, u update) (wire.Plan, error) {
	for {
		base, err := r.Refresh(ctx)
		if err != nil {
			return wire.Plan{}, err
		}
		if err := checkExpected(u, base); err != nil {
			return wire.Plan{}, err
		}
		p, err := u.propose(base)
		if err != nil || (len(p.plan.Changes) == 0 && !p.deletes) {
			return p.plan, err
		}
		written, err := r.put(ctx, base, u, p)
		if err != nil {
			return wire.Plan{}, err
		}
		if written {
			p.plan.To = base.Revision() + 1
			r.log.InfoContext(ctx, "registry revision written", slog.Int64("revision", p.plan.To),
				slog.String("project", u.project), slog.String("operation", u.op), slog.Int("changes", len(p.plan.Changes)))
			return p.plan, nil
		}
	}
}

func checkExpected(u update, base *Snapshot) error {
	if u.expected == nil || *u.expected == base.Revision() {
		return nil
	}
	return feature.Errorf(feature.CodeConflict, u.op, "project "+u.project,
		"the registry is at revision %d where %d is expected: plan again", base.Revision(), *u.expected)
}

// put writes the revision after base. It returns false when another writer was
// first.
func (r *Registry) put(ctx context.Context, base *Snapshot, u update, p proposal) (bool, error) {
	file := r.follow(base, u, p)
	data, err := encodeRevision(file)
	if err != nil {
		return false, err
	}
	// Decoded again, so that what is current here is what everybody else reads,
	// and shares no memory with the caller's definitions.
	next, err := decodeSnapshot(data, file.Revision)
	if err != nil {
		return false, err
	}
	failure := r.storage.PutIfAbsent(ctx, r.key(file.Revision), data)
	if failure == nil {
		r.advance(next)
		return true, nil
	}
	return r.settlePut(ctx, next, u, failure)
}

// settlePut finds out what became of a put that failed. Its answer may have
// been lost on the way, so that even "there is one already" can mean our own:
// the random writer in the file tells. When nobody can say, the outcome is
// unknown, and that is what the error says.
func (r *Registry) settlePut(ctx context.Context, ours *Snapshot, u update, failure error) (bool, error) {
	code := feature.CodeOf(failure)
	subject := subjectOf(ours.Revision())
	switch code {
	case feature.CodePermissionDenied, feature.CodeUnauthenticated, feature.CodeResourceExhausted,
		feature.CodeInvalidArgument, feature.CodeFailedPrecondition, feature.CodeTooLarge:
		return false, &feature.Error{Code: code, Op: u.op, Subject: subject, Err: failure}
	case feature.CodeAlreadyExists, feature.CodeConflict, feature.CodeInternal, feature.CodeNotFound, feature.CodeDataLoss,
		feature.CodeUnsupportedMediaType, feature.CodeUnavailable, feature.CodeDeadlineExceeded, feature.CodeCanceled:
	}
	data, err := r.read(ctx, ours.Revision())
	switch {
	case err != nil:
		return false, feature.Errorf(code, u.op, subject, "it is unknown whether it was written: %w; asking failed too: %w", failure, err)
	case data == nil:
		return false, feature.Errorf(codeOfMissing(code), u.op, subject, "it is not there now, and may still appear: %w", failure)
	}
	there, err := decodeSnapshot(data, ours.Revision())
	if err != nil {
		return false, err
	}
	r.advance(there)
	return there.file.Writer == ours.file.Writer, nil
}

// codeOfMissing returns the code of a put that failed and left nothing. A
// storage that says both "it exists" and "it is not there" is at fault itself.
func codeOfMissing(code feature.Code) feature.Code {
	if code == feature.CodeAlreadyExists {
		return feature.CodeUnavailable
	}
	return code
}

// follow makes the revision after base.
func (r *Registry) follow(base *Snapshot, u update, p proposal) *revisionFile {
	file := &revisionFile{
		Revision: base.Revision() + 1,
		Parent:   base.hash,
		Writer:   rand.Text(),
		Time:     max(feature.FromTime(r.clock.Now()), base.Time()+1),
		Project:  u.project,
		Message:  u.message,
		Changes:  p.plan.Changes,
		State:    state{NextView: p.nextView, Projects: map[string]*projectState{}},
	}
	for name, project := range base.file.State.Projects {
		if name != u.project {
			file.State.Projects[name] = project
		}
	}
	if p.next != nil {
		file.State.Projects[u.project] = p.next
	}
	return file
}

// keeper returns the state of a view that keeps its id, else nil.
type keeper func(name string) *viewState

// judge returns those of the changes that are refused.
type judge func(have *projectState, want feature.Definitions, changes []wire.Change) []wire.Change

// acceptAll is the judge of what cannot harm stored rows.
func acceptAll(*projectState, feature.Definitions, []wire.Change) []wire.Change { return nil }

// propose makes a proposal of wanted definitions, which are valid. A view for
// which keep returns a state keeps its id; judge says which changes are
// refused.
func propose(base *Snapshot, project string, want feature.Definitions, keep keeper, judge judge) (proposal, error) {
	have := base.state(project)
	d := differ{replaced: map[string]bool{}}
	for i := range want.Views {
		name := want.Views[i].Name
		d.replaced[name] = have.view(name) != nil && keep(name) == nil
	}
	d.diff(have.definitions(), want)
	next, nextView, err := settle(want, keep, base.file.State.NextView)
	if err != nil {
		return proposal{}, err
	}
	refused := judge(have, want, d.changes)
	return proposal{plan: d.plan(project, base.Revision(), refused), next: next, nextView: nextView}, nil
}

func refusedError(op string, p wire.Plan) error {
	if len(p.Refusals) == 0 {
		return nil
	}
	return &feature.Error{
		Code: feature.CodeFailedPrecondition, Op: op, Subject: "project " + p.Project, Faults: refusalFaults(p.Refusals),
	}
}

// checkMessage refuses what a file cannot hold exactly.
func checkMessage(op, message string) error {
	if feature.ValidText(message) {
		return nil
	}
	return feature.Invalid(op, "message", []feature.Fault{{Field: "message", Detail: "text is not valid UTF-8"}})
}

func rollbackMessage(revision int64) string { return fmt.Sprintf("rollback to revision %d", revision) }
