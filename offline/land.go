package offline

import (
	"context"
	"maps"
	"path"
	"slices"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/delta"
)

// appID is the application id under which the log keeps an idempotency key.
func appID(key string) string { return "granary.idempotency/" + key }

// Landed tells whether an append of this idempotency key has landed, and the
// version of the table that did.
func (s *Store) Landed(ctx context.Context, v *feature.BoundView, key string) (version int64, ok bool, err error) {
	if key == "" {
		return 0, false, nil
	}
	t, err := s.open(ctx, v, wire.AsOf{})
	if err != nil || t.snap == nil {
		return 0, false, err
	}
	version, ok = t.snap.App(appID(key))
	return version, ok, nil
}

// landAttempts bounds how often a commit is tried again that depends on what it
// has read, when others were first.
const landAttempts = 20

// land commits the files of an append, and makes the table or its new columns
// first where they are not there. Repeated tells that an append of the
// idempotency key was there before.
func (s *Store) land(ctx context.Context, v *feature.BoundView, tx delta.Transaction, key string) (version int64, repeated bool, err error) {
	log := s.log(v)
	for range landAttempts {
		snap, err := s.tableFor(ctx, v)
		if err != nil {
			return 0, false, err
		}
		tx.Metadata, err = evolve(snap.Metadata, v)
		if err != nil {
			return 0, false, err
		}
		tx.Read = nil
		if tx.Metadata != nil {
			tx.Read = snap
		}
		if key != "" {
			if version, ok := snap.App(appID(key)); ok {
				return version, true, nil
			}
			tx.Read = snap
			tx.Apps = []delta.AppTransaction{{ID: appID(key), Version: delta.OwnVersion, Updated: feature.FromTime(s.o.Clock.Now())}}
		}
		version, err := log.Commit(ctx, tx)
		switch feature.CodeOf(err) { //nolint:exhaustive // two codes say that somebody else was first
		case feature.CodeConflict, feature.CodeAlreadyExists:
			if err != nil {
				continue
			}
		default:
		}
		return version, false, err
	}
	return 0, false, feature.Errorf(feature.CodeConflict, "offline.Append", v.Subject(), "others were first %d times: try again later", landAttempts)
}

// tableFor returns the newest version of the view's table, which is made if it
// is not there.
func (s *Store) tableFor(ctx context.Context, v *feature.BoundView) (*delta.Snapshot, error) {
	log := s.log(v)
	snap, err := log.Snapshot(ctx)
	if err == nil || feature.CodeOf(err) != feature.CodeNotFound {
		return snap, err
	}
	_, err = log.Create(ctx, delta.Metadata{Name: v.Name, Description: v.Description, Fields: fieldsOf(v)})
	if err != nil && feature.CodeOf(err) != feature.CodeAlreadyExists {
		return nil, err
	}
	return log.Snapshot(ctx)
}

// fieldsOf returns the columns of the view's table. They are nullable in the
// log: a table that says otherwise asks its writers to check.
func fieldsOf(v *feature.BoundView) []delta.Field {
	field := func(name string, t feature.Type) delta.Field { return delta.Field{Name: name, Type: t, Nullable: true} }
	out := make([]delta.Field, 0, len(v.Keys)+2+len(v.Features))
	for _, k := range v.Keys {
		out = append(out, field(k.Name, k.Type))
	}
	out = append(out, field(v.EventColumn(), feature.TimestampType), field(v.CreatedColumn(), feature.TimestampType))
	for _, f := range v.Features {
		out = append(out, field(f.Name, f.Type))
	}
	return out
}

// evolve returns the metadata of a table that also has the columns of the view
// that are new, nil if there are none. A column of another type is refused.
func evolve(m delta.Metadata, v *feature.BoundView) (*delta.Metadata, error) {
	have := make(map[string]feature.Type, len(m.Fields))
	for _, f := range m.Fields {
		have[f.Name] = f.Type
	}
	var added []delta.Field
	for _, f := range fieldsOf(v) {
		t, ok := have[f.Name]
		switch {
		case !ok:
			added = append(added, f)
		case t != f.Type:
			return nil, feature.Errorf(feature.CodeFailedPrecondition, "offline.Append", v.Subject(),
				"column %s is %s in the table and %s in the view: make a new view", f.Name, t, f.Type)
		}
	}
	if added == nil {
		return nil, nil
	}
	m.Fields = slices.Concat(m.Fields, added)
	m.Configuration = maps.Clone(m.Configuration)
	return &m, nil
}

// removeFiles removes files that no commit names. What cannot be removed stays
// until the table is vacuumed.
func (s *Store) removeFiles(ctx context.Context, v *feature.BoundView, files []delta.File) {
	ctx = context.WithoutCancel(ctx)
	for _, f := range files {
		if err := s.bucket.Delete(ctx, path.Join(TablePath(v), f.Path)); err != nil {
			s.o.Log.WarnContext(ctx, "a file of no commit could not be removed", "table", TablePath(v), "file", f.Path, "error", err)
		}
	}
}
