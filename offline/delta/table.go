package delta

import (
	"github.com/granary-ml/granary/feature"
)

// OwnVersion stands, as the Version of an AppTransaction, for the version that
// the commit itself gets.
const OwnVersion int64 = -1

// Field is a column of a table.
type Field struct {
	Name     string
	Type     feature.Type
	Nullable bool
	Metadata map[string]string // free; keys that begin with "granary." are ours
}

// Metadata describes a table at a version.
type Metadata struct {
	ID               string // made by Create if empty; never changes
	Name             string
	Description      string
	Fields           []Field
	PartitionColumns []string
	Configuration    map[string]string
	Created          feature.Timestamp // kept to the millisecond; made by Create if zero
}

// ColumnStats bounds the values of a column of a file.
type ColumnStats struct {
	Min, Max feature.Value // bounds, not necessarily values of the column; null if unknown
	Nulls    int64         // negative if unknown
}

// Stats is what the log knows about the rows of a file.
type Stats struct {
	Rows    int64 // negative if unknown
	Columns map[string]ColumnStats
}

// File is a Parquet file of a table.
type File struct {
	Path             string // key below the table's prefix
	Size             int64  // bytes
	ModificationTime feature.Timestamp
	DataChange       bool              // false for files that only rearrange rows
	PartitionValues  map[string]string // a null value is left out
	Stats            Stats
	Tags             map[string]string
	// Version is the version that added the file, set by Commit and by replay;
	// 0 if unknown. It is not read by Commit.
	Version int64

	add *addAction // as the log has it
}

// AppTransaction records that an application has come to a version of its own,
// together with the rows of the commit.
type AppTransaction struct {
	ID      string
	Version int64 // OwnVersion: the version of the commit
	Updated feature.Timestamp
}

// Transaction is what one commit does.
type Transaction struct {
	// Read is the snapshot that the transaction was computed from; nil for a
	// blind append, which depends on nothing.
	Read       *Snapshot
	Operation  string // such as "WRITE"; read by people
	Parameters map[string]string
	Add        []File
	Remove     []File // by Path; only with Read
	Apps       []AppTransaction
	Metadata   *Metadata // nil: unchanged; only with Read
}

// Protocol is what a table asks of its readers and writers.
type Protocol struct {
	MinReaderVersion int
	MinWriterVersion int
	ReaderFeatures   []string
	WriterFeatures   []string
}

// CommitInfo is what the log says about one version.
type CommitInfo struct {
	Version     int64
	Time        feature.Timestamp
	Operation   string
	Parameters  map[string]string
	Engine      string
	BlindAppend bool
	Added       int // files
	Removed     int // files
}

// Snapshot is a table at a version. It is immutable and safe for concurrent
// use; its slices and maps must not be changed.
type Snapshot struct {
	Version  int64
	Time     feature.Timestamp // when the version was committed; increases strictly
	Metadata Metadata
	Protocol Protocol
	Files    []File // in commit order, then in the order within the commit

	latest  feature.Timestamp // of all versions seen: that of the newest, unless clocks went back
	apps    *appIndex
	removed []removedFile
}

// App returns the version that an application had come to at this version of
// the table.
func (s *Snapshot) App(id string) (int64, bool) {
	t, ok := s.apps.at(id, s.Version)
	return t.version, ok
}
