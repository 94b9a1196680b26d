package registry

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// historyReads bounds how many revisions History reads at once.
const historyReads = 16

// History returns the revisions that changed a project, newest first; with an
// empty project those of all. A deleted project still has its history; one that
// never was is CodeNotFound. Each revision is read once in the life of the
// registry, so the first call costs a Get for each.
func (r *Registry) History(ctx context.Context, project string) ([]wire.Revision, error) {
	newest, err := r.Refresh(ctx)
	if err != nil {
		return nil, err
	}
	entries, err := r.entries(ctx, newest)
	if err != nil {
		return nil, err
	}
	out := make([]wire.Revision, 0, len(entries))
	for _, e := range slices.Backward(entries) {
		if project == "" || e.Project == project {
			out = append(out, e)
		}
	}
	if len(out) == 0 && project != "" {
		return nil, feature.Errorf(feature.CodeNotFound, "registry.History", "project "+project, "there is no such project, and there never was")
	}
	return out, nil
}

// entries returns the history from revision 1 to the newest.
func (r *Registry) entries(ctx context.Context, newest *Snapshot) ([]wire.Revision, error) {
	out := make([]wire.Revision, newest.Revision())
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(historyReads)
	for i := range out {
		revision := int64(i) + 1
		if cached, ok := r.history.get(revision); ok {
			out[i] = cached
			continue
		}
		group.Go(func() error {
			s, err := r.At(ctx, revision)
			if err != nil {
				return err
			}
			out[i] = s.entry()
			r.history.put(out[i])
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return out, nil
}

func (s *Snapshot) entry() wire.Revision {
	return wire.Revision{
		Revision: s.file.Revision, Time: s.file.Time, Project: s.file.Project, Message: s.file.Message, Changes: s.file.Changes,
	}
}

func (h *historyCache) get(revision int64) (wire.Revision, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.entries[revision]
	return e, ok
}

func (h *historyCache) put(e wire.Revision) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries[e.Revision] = e
}

// Rollback writes a new revision with the definitions that a project had at an
// old one; history is never cut. CodeNotFound if there is no such revision, or
// the project was not there at it.
//
// A view that was there all the time keeps its id and its rows. A view that was
// deleted since, or deleted and made again, comes back with a new id and empty:
// its old id stands for rows that are gone.
func (r *Registry) Rollback(ctx context.Context, project string, revision int64, expected *int64) (wire.Plan, error) {
	const op = "registry.Rollback"
	if _, err := r.Refresh(ctx); err != nil {
		return wire.Plan{}, err
	}
	old, err := r.At(ctx, revision)
	if err != nil {
		return wire.Plan{}, err
	}
	target := old.state(project)
	if target == nil {
		return wire.Plan{}, feature.Errorf(feature.CodeNotFound, op, "project "+project, "it was not there at revision %d", revision)
	}
	return r.commit(ctx, update{
		op: op, project: project, message: rollbackMessage(revision), expected: expected,
		propose: func(base *Snapshot) (proposal, error) {
			if err := checkProject(op, project, base); err != nil {
				return proposal{}, err
			}
			have := base.state(project)
			// Nothing to judge: under one id join keys, time columns and types
			// never change, so the stored rows fit the old definition; and a
			// feature that goes keeps its slot.
			return propose(base, project, target.definitions(), func(name string) *viewState {
				was, is := target.view(name), have.view(name)
				if was == nil || is == nil || was.ID != is.ID {
					return nil
				}
				return is
			}, acceptAll)
		},
	})
}
