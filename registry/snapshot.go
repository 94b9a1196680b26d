package registry

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/granary-ml/granary/feature"
)

// Snapshot is the registry at one revision. It is immutable and may be kept and
// shared; what its methods return is shared as well and must not be changed.
type Snapshot struct {
	file     *revisionFile
	hash     string
	projects map[string]*project
}

// project is a project of a snapshot, with its views bound.
type project struct {
	definitions feature.Definitions
	views       []*feature.BoundView
	entityAt    map[string]int
	sourceAt    map[string]int
	viewAt      map[string]int
	serviceAt   map[string]int
}

func emptySnapshot() *Snapshot {
	return &Snapshot{file: &revisionFile{State: state{NextView: 1}}, projects: map[string]*project{}}
}

// decodeSnapshot reads the file of a revision.
func decodeSnapshot(data []byte, revision int64) (*Snapshot, error) {
	file, hash, err := decodeRevision(data)
	if err != nil {
		return nil, &feature.Error{Code: feature.CodeOf(err), Op: "registry.Decode", Subject: subjectOf(revision), Err: errors.New(detailOf(err))}
	}
	s, err := newSnapshot(file, hash)
	if err == nil && s.Revision() != revision {
		return nil, feature.Errorf(feature.CodeDataLoss, "registry.Decode", subjectOf(revision), "the file holds revision %d", s.Revision())
	}
	return s, err
}

// newSnapshot binds the views of a revision.
//
// It checks what binding needs and not more. Validate is not asked: its rules
// may become stricter, and every revision that was ever written must open.
func newSnapshot(file *revisionFile, hash string) (*Snapshot, error) {
	s := &Snapshot{file: file, hash: hash, projects: make(map[string]*project, len(file.State.Projects))}
	ids := map[feature.ViewID]bool{0: true}
	for name, stored := range file.State.Projects {
		if stored == nil {
			return nil, s.damaged("project %s is null", name)
		}
		p := newProject(stored)
		for i := range stored.Views {
			v := &stored.Views[i]
			if ids[v.ID] || v.ID >= file.State.NextView {
				return nil, s.damaged("view %s/%s has the id %d, which is not its own", name, v.Definition.Name, v.ID)
			}
			ids[v.ID] = true
			bound, err := p.bind(name, v)
			if err != nil {
				return nil, s.damaged("view %s/%s: %w", name, v.Definition.Name, err)
			}
			p.views = append(p.views, bound)
		}
		s.projects[name] = p
	}
	return s, nil
}

func (s *Snapshot) damaged(format string, args ...any) error {
	return feature.Errorf(feature.CodeDataLoss, "registry.Decode", subjectOf(s.Revision()), format, args...)
}

func newProject(stored *projectState) *project {
	d := stored.definitions()
	return &project{
		definitions: d,
		entityAt:    positions(d.Entities, func(e feature.Entity) string { return e.Name }),
		sourceAt:    positions(d.Sources, func(s feature.Source) string { return s.Name }),
		viewAt:      positions(d.Views, func(v feature.View) string { return v.Name }),
		serviceAt:   positions(d.Services, func(s feature.Service) string { return s.Name }),
	}
}

func positions[T any](list []T, name func(T) string) map[string]int {
	at := make(map[string]int, len(list))
	for i := range list {
		at[name(list[i])] = i
	}
	return at
}

func (p *project) bind(name string, v *viewState) (*feature.BoundView, error) {
	b := &feature.BoundView{View: v.Definition, Project: name, ID: v.ID}
	for _, e := range b.Entities {
		i, ok := p.entityAt[e]
		if !ok {
			return nil, fmt.Errorf("its entity %s is missing", e)
		}
		b.Keys = append(b.Keys, p.definitions.Entities[i].JoinKeys...)
	}
	if b.Source != "" {
		i, ok := p.sourceAt[b.Source]
		if !ok {
			return nil, fmt.Errorf("its source %s is missing", b.Source)
		}
		b.SourceDef = p.definitions.Sources[i]
	}
	for _, s := range v.Slots {
		b.SlotTypes = append(b.SlotTypes, s.Type)
	}
	for _, f := range b.Features {
		at := v.slotOf(f.Name)
		if at < 0 || v.Slots[at].Type != f.Type {
			return nil, fmt.Errorf("its feature %s has no slot of its type", f.Name)
		}
		b.Slots = append(b.Slots, at)
	}
	return b, nil
}

// Revision returns the number of the revision; 0 is the empty registry.
func (s *Snapshot) Revision() int64 { return s.file.Revision }

// Time returns when the revision was written. A later revision has a later
// time.
func (s *Snapshot) Time() feature.Timestamp { return s.file.Time }

// Projects returns the names of the projects in order.
func (s *Snapshot) Projects() []string { return slices.Sorted(maps.Keys(s.projects)) }

// Definitions returns all that a project defines, each list ordered by name.
func (s *Snapshot) Definitions(project string) (feature.Definitions, error) {
	p, err := s.project(project)
	if err != nil {
		return feature.Definitions{}, err
	}
	return p.definitions, nil
}

// Views returns the views of a project, ordered by name.
func (s *Snapshot) Views(project string) ([]*feature.BoundView, error) {
	p, err := s.project(project)
	if err != nil {
		return nil, err
	}
	return p.views, nil
}

// View returns a view; CodeNotFound names what is missing, the project or the
// view.
func (s *Snapshot) View(project, name string) (*feature.BoundView, error) {
	p, err := s.project(project)
	if err != nil {
		return nil, err
	}
	i, ok := p.viewAt[name]
	if !ok {
		return nil, missing(project, KindView, name)
	}
	return p.views[i], nil
}

// Entity returns an entity, as View does.
func (s *Snapshot) Entity(project, name string) (feature.Entity, error) {
	p, err := s.project(project)
	if err != nil {
		return feature.Entity{}, err
	}
	i, ok := p.entityAt[name]
	if !ok {
		return feature.Entity{}, missing(project, KindEntity, name)
	}
	return p.definitions.Entities[i], nil
}

// Source returns a source, as View does.
func (s *Snapshot) Source(project, name string) (feature.Source, error) {
	p, err := s.project(project)
	if err != nil {
		return feature.Source{}, err
	}
	i, ok := p.sourceAt[name]
	if !ok {
		return feature.Source{}, missing(project, KindSource, name)
	}
	return p.definitions.Sources[i], nil
}

// Service returns a service, as View does.
func (s *Snapshot) Service(project, name string) (feature.Service, error) {
	p, err := s.project(project)
	if err != nil {
		return feature.Service{}, err
	}
	i, ok := p.serviceAt[name]
	if !ok {
		return feature.Service{}, missing(project, KindService, name)
	}
	return p.definitions.Services[i], nil
}

func (s *Snapshot) project(name string) (*project, error) {
	p, ok := s.projects[name]
	if !ok {
		return nil, feature.Errorf(feature.CodeNotFound, "", "project "+name, "there is no such project")
	}
	return p, nil
}

// state returns the stored state of a project, or nil.
func (s *Snapshot) state(project string) *projectState { return s.file.State.Projects[project] }

func missing(project, kind, name string) error {
	return feature.Errorf(feature.CodeNotFound, "", kind+" "+project+"/"+name, "there is no such %s", kind)
}
