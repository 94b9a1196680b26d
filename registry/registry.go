package registry

import (
	"context"
	"log/slog"
	"sync/atomic"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/clock"
)

// Storage holds the files of the revisions.
type Storage interface {
	// Get returns a file, or CodeNotFound.
	Get(ctx context.Context, key string) ([]byte, error)
	// PutIfAbsent writes a file that is not there yet, whole and durably, or
	// returns CodeAlreadyExists.
	PutIfAbsent(ctx context.Context, key string, data []byte) error
}

// Options of a registry; the zero value is good.
type Options struct {
	Clock  clock.Clock  // clock.Real if nil
	Prefix string       // "registry/" if empty
	Log    *slog.Logger // discarded if nil
}

// Registry is the registry of one storage.
type Registry struct {
	current atomic.Pointer[Snapshot]
}

var errSoon = feature.Errorf(feature.CodeInternal, "registry", "", "not built yet")

// Open reads the newest revision.
func Open(context.Context, Storage, Options) (*Registry, error) { return nil, errSoon }

// Snapshot returns the newest revision that this process has seen.
func (r *Registry) Snapshot() *Snapshot { return r.current.Load() }

// Refresh looks for newer revisions.
func (r *Registry) Refresh(context.Context) (*Snapshot, error) { return nil, errSoon }

// At returns a revision.
func (r *Registry) At(context.Context, int64) (*Snapshot, error) { return nil, errSoon }

// Plan compares.
func (r *Registry) Plan(context.Context, string, wire.ApplyRequest) (wire.Plan, error) {
	return wire.Plan{}, errSoon
}

// Apply changes.
func (r *Registry) Apply(context.Context, string, wire.ApplyRequest) (wire.Plan, error) {
	return wire.Plan{}, errSoon
}

// Delete deletes one definition; kind is entity, source, view or service.
func (r *Registry) Delete(ctx context.Context, project, kind, name string, expected *int64) (wire.Plan, error) {
	return wire.Plan{}, errSoon
}

// DeleteProject deletes a project.
func (r *Registry) DeleteProject(ctx context.Context, project string, expected *int64) (wire.Plan, error) {
	return wire.Plan{}, errSoon
}

// History lists the revisions of a project, newest first.
func (r *Registry) History(ctx context.Context, project string) ([]wire.Revision, error) {
	return nil, errSoon
}

// Rollback writes a new revision with the definitions of an old one.
func (r *Registry) Rollback(ctx context.Context, project string, revision int64, expected *int64) (wire.Plan, error) {
	return wire.Plan{}, errSoon
}

// Snapshot is the state at one revision.
type Snapshot struct{}

// Revision returns the number.
func (s *Snapshot) Revision() int64 { return 0 }

// Time returns when it was written.
func (s *Snapshot) Time() feature.Timestamp { return 0 }

// Projects returns the names of the projects.
func (s *Snapshot) Projects() []string { return nil }

// Definitions returns all that a project defines.
func (s *Snapshot) Definitions(project string) (feature.Definitions, error) {
	return feature.Definitions{}, errSoon
}

// View returns a view.
func (s *Snapshot) View(project, name string) (*feature.BoundView, error) { return nil, errSoon }

// Views returns all views.
func (s *Snapshot) Views(project string) ([]*feature.BoundView, error) { return nil, errSoon }

// Entity returns an entity.
func (s *Snapshot) Entity(project, name string) (feature.Entity, error) {
	return feature.Entity{}, errSoon
}

// Source returns a source.
func (s *Snapshot) Source(project, name string) (feature.Source, error) {
	return feature.Source{}, errSoon
}

// Service returns a service.
func (s *Snapshot) Service(project, name string) (feature.Service, error) {
	return feature.Service{}, errSoon
}

// Select resolves a service or references.
func (s *Snapshot) Select(project, service string, refs []string) (feature.Selection, error) {
	return feature.Selection{}, errSoon
}

// ParseYAML reads definitions.
func ParseYAML(file string, data []byte) (feature.Definitions, error) {
	return feature.Definitions{}, errSoon
}

// LoadDefinitions reads files and folders.
func LoadDefinitions(paths ...string) (feature.Definitions, error) {
	return feature.Definitions{}, errSoon
}

// LoadProject is LoadDefinitions with the project that the files name, or "".
func LoadProject(paths ...string) (project string, d feature.Definitions, err error) {
	return "", d, errSoon
}

// MarshalYAML writes definitions.
func MarshalYAML(d feature.Definitions) ([]byte, error) { return nil, errSoon }
