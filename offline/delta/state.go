package delta

import (
	"cmp"
	"slices"
	"strconv"
	"sync"

	"github.com/granary-ml/granary/feature"
)

// The tags of a file that are ours. A checkpoint sums the log up and forgets
// which version a file came with, and others may rewrite it in an order of their
// own; rows of one time are ordered by both.
const (
	commitTag   = "granary.commit"   // the version that added the file
	positionTag = "granary.position" // its place among the files of the version
)

// state replays the log, one commit at a time. The history of a table is one
// line, so each snapshot shares what it has in common with the next: files and
// removed are only ever appended to, or copied; a snapshot sees its own length
// of them. A state is not safe for concurrent use, its snapshots are.
type state struct {
	subject  string // the table, for messages
	version  int64  // -1: nothing yet
	time     feature.Timestamp
	latest   feature.Timestamp
	protocol Protocol
	metadata Metadata
	types    map[string]feature.Type // of the columns
	files    []File
	index    map[string]int // path to place in files
	removed  []removedFile
	apps     *appIndex
}

// removedFile is a tombstone: it tells those who clean up since when a file may
// go. Checkpoints keep it for as long as the protocol asks.
type removedFile struct {
	path    string // decoded
	removal *removeAction
}

func newState(subject string) *state {
	return &state{subject: subject, version: -1, index: map[string]int{}, apps: &appIndex{}}
}

// snapshot returns the state as it stands.
func (s *state) snapshot() *Snapshot {
	return &Snapshot{
		Version: s.version, Time: s.time, Metadata: s.metadata, Protocol: s.protocol,
		Files:  slices.Clip(s.files),
		latest: s.latest, apps: s.apps, removed: slices.Clip(s.removed),
	}
}

// apply replays the next commit. After an error the state is as before.
func (s *state) apply(c *commit) error {
	protocol, metadata, types, err := s.describe(c)
	if err != nil {
		return err
	}
	adds, err := decodeAdds(c, types)
	if err != nil {
		return err
	}
	removed, err := decodeRemoves(c)
	if err != nil {
		return err
	}
	s.protocol, s.metadata, s.types = protocol, metadata, types
	s.drop(adds, removed)
	for _, f := range adds {
		s.index[f.Path] = len(s.files)
		s.files = append(s.files, f)
	}
	s.removed = append(s.removed, removed...)
	for _, t := range c.txns {
		s.apps.put(c.version, t)
	}
	s.version, s.time, s.latest = c.version, c.time, max(s.latest, c.time)
	return nil
}

// describe returns protocol and columns as the commit leaves them, checked.
func (s *state) describe(c *commit) (Protocol, Metadata, map[string]feature.Type, error) {
	protocol, metadata, types := s.protocol, s.metadata, s.types
	if c.protocol != nil {
		protocol = Protocol(*c.protocol)
	}
	if c.metaData != nil {
		// The protocol may say why the columns cannot be understood.
		if err := protocol.checkRead(s.subject, &Metadata{Configuration: c.metaData.Configuration}); err != nil {
			return protocol, metadata, nil, err
		}
		var err error
		if metadata, err = decodeMetadata(c.metaData); err != nil {
			return protocol, metadata, nil, err
		}
		types = make(map[string]feature.Type, len(metadata.Fields))
		for _, f := range metadata.Fields {
			types[f.Name] = f.Type
		}
	}
	if protocol.MinReaderVersion == 0 || types == nil {
		return protocol, metadata, nil, feature.Errorf(feature.CodeDataLoss, "delta.read", s.subject,
			"version %d leaves the table without a protocol or a schema", c.version)
	}
	err := protocol.checkRead(s.subject, &metadata)
	return protocol, metadata, types, err
}

// drop takes out the files that are removed, or added anew. It copies, since
// snapshots share the list.
func (s *state) drop(adds []File, removed []removedFile) {
	gone := map[int]bool{}
	for _, f := range adds {
		if i, ok := s.index[f.Path]; ok {
			gone[i] = true
		}
	}
	for _, r := range removed {
		if i, ok := s.index[r.path]; ok {
			gone[i] = true
		}
	}
	if len(gone) == 0 {
		return
	}
	kept := make([]File, 0, len(s.files))
	for i, f := range s.files {
		if !gone[i] {
			kept = append(kept, f)
		}
	}
	s.setFiles(kept)
}

func (s *state) setFiles(files []File) {
	s.files = files
	s.index = make(map[string]int, len(files))
	for i, f := range files {
		s.index[f.Path] = i
	}
}

// order puts files of a checkpoint into the order of their commits; those whose
// commit is unknown come first, as the checkpoint has them.
func (s *state) order() {
	files := slices.Clone(s.files)
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(tagNumber(a, positionTag), tagNumber(b, positionTag)))
	})
	s.setFiles(files)
}

func tagNumber(f File, tag string) int64 {
	n, err := strconv.ParseInt(f.Tags[tag], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// decodeAdds reads the files of a log entry: their version is the entry's,
// whatever their tags say, since a restore brings old tags back.
func decodeAdds(c *commit, types map[string]feature.Type) ([]File, error) {
	files := make([]File, len(c.adds))
	for i, a := range c.adds {
		f, err := decodeAdd(a, types)
		if err != nil {
			return nil, err
		}
		f.Version = c.version
		files[i] = f
	}
	return files, nil
}

func decodeAdd(a *addAction, types map[string]feature.Type) (File, error) {
	path, err := decodePath(a.Path)
	if err != nil {
		return File{}, err
	}
	if dv := a.DeletionVector; len(dv) > 0 && dv.Kind() != 'n' {
		return File{}, feature.Errorf(feature.CodeFailedPrecondition, "delta.read", "file "+path,
			"it has a deletion vector, which cannot be read here")
	}
	return File{
		Path: path, Size: a.Size, ModificationTime: fromMillis(a.ModificationTime), DataChange: a.DataChange,
		PartitionValues: withoutNulls(a.PartitionValues), Stats: decodeStats(a.Stats, types), Tags: withoutNulls(a.Tags),
		add: a,
	}, nil
}

func decodeRemoves(c *commit) ([]removedFile, error) {
	removed := make([]removedFile, len(c.removes))
	for i, r := range c.removes {
		path, err := decodePath(r.Path)
		if err != nil {
			return nil, err
		}
		removed[i] = removedFile{path: path, removal: r}
	}
	return removed, nil
}

// withoutNulls leaves nulls out. An empty partition value is a null, too: the
// protocol has one text for both.
func withoutNulls(m map[string]*string) map[string]string {
	var out map[string]string
	for k, v := range m {
		if v == nil {
			continue
		}
		if out == nil {
			out = make(map[string]string, len(m))
		}
		out[k] = *v
	}
	return out
}

// appIndex has every version that applications came to, and when. Snapshots of
// one replay share it, each looking no further than its own version, so that a
// table with a million idempotency keys costs no copy a commit.
type appIndex struct{ m sync.Map } // id to []appEntry, by commit

type appEntry struct {
	commit  int64
	version int64
	updated *int64
}

func (x *appIndex) put(commit int64, t txnAction) {
	var entries []appEntry
	if old, ok := x.m.Load(t.AppID); ok {
		entries, _ = old.([]appEntry)
	}
	// A full slice: readers hold the old one.
	entries = append(slices.Clip(entries), appEntry{commit: commit, version: t.Version, updated: t.LastUpdated})
	x.m.Store(t.AppID, entries)
}

func (x *appIndex) at(id string, version int64) (appEntry, bool) {
	old, ok := x.m.Load(id)
	if !ok {
		return appEntry{}, false
	}
	entries, _ := old.([]appEntry)
	for _, e := range slices.Backward(entries) {
		if e.commit <= version {
			return e, true
		}
	}
	return appEntry{}, false
}

// ids returns the applications known at a version, in order.
func (x *appIndex) ids(version int64) []string {
	var ids []string
	x.m.Range(func(key, _ any) bool {
		id, _ := key.(string)
		if _, ok := x.at(id, version); ok {
			ids = append(ids, id)
		}
		return true
	})
	slices.Sort(ids)
	return ids
}
