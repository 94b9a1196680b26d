package delta

import (
	"slices"
	"strings"

	"github.com/granary-ml/granary/feature"
)

// The protocol that tables are created with. Writer version 2 stands for append
// only tables and column invariants, both of which are honoured: the first by
// refusing removals, the second by refusing to write where there are any.
const (
	readerVersion = 1
	writerVersion = 2
	// Versions 3 and 7 name their features one by one.
	readerFeaturesVersion = 3
	writerFeaturesVersion = 7
)

// legacyReaderFeatures and legacyWriterFeatures are what the versions before
// the lists of features stand for, each including those below it.
var (
	legacyReaderFeatures = map[int][]string{2: {"columnMapping"}}
	legacyWriterFeatures = map[int][]string{
		3: {"checkConstraints"}, 4: {"changeDataFeed", "generatedColumns"}, 5: {"columnMapping"}, 6: {"identityColumns"},
	}
	knownWriterFeatures = []string{"appendOnly", "invariants"}
)

func features(version, listedFrom int, listed []string, legacy map[int][]string) []string {
	if version >= listedFrom {
		return listed
	}
	var all []string
	for v := range version + 1 {
		all = append(all, legacy[v]...)
	}
	return all
}

// checkRead refuses a table that this package cannot read in full. Column
// mapping is harmless as long as no column is mapped.
func (p *Protocol) checkRead(subject string, m *Metadata) error {
	if p.MinReaderVersion > readerFeaturesVersion {
		return feature.Errorf(feature.CodeFailedPrecondition, "delta.read", subject,
			"the table asks for reader version %d (at most %d is known)", p.MinReaderVersion, readerFeaturesVersion)
	}
	var unknown []string
	for _, f := range features(p.MinReaderVersion, readerFeaturesVersion, p.ReaderFeatures, legacyReaderFeatures) {
		mode := m.Configuration["delta.columnMapping.mode"]
		if f == "columnMapping" && (mode == "" || mode == "none") {
			continue
		}
		unknown = append(unknown, f)
	}
	return refuse(subject, "read", unknown)
}

// checkWrite refuses a table that this package cannot write to without breaking
// what the table promises.
func (p *Protocol) checkWrite(subject string, m *Metadata) error {
	if p.MinWriterVersion > writerFeaturesVersion {
		return feature.Errorf(feature.CodeFailedPrecondition, "delta.write", subject,
			"the table asks for writer version %d (at most %d is known)", p.MinWriterVersion, writerFeaturesVersion)
	}
	var unknown []string
	for _, f := range features(p.MinWriterVersion, writerFeaturesVersion, p.WriterFeatures, legacyWriterFeatures) {
		if !slices.Contains(knownWriterFeatures, f) {
			unknown = append(unknown, f)
		}
	}
	for _, f := range m.Fields {
		if _, ok := f.Metadata["delta.invariants"]; ok {
			unknown = append(unknown, "invariants (of column "+f.Name+")")
		}
	}
	return refuse(subject, "write", unknown)
}

func refuse(subject, verb string, unknown []string) error {
	if len(unknown) == 0 {
		return nil
	}
	return feature.Errorf(feature.CodeFailedPrecondition, "delta."+verb, subject,
		"the table uses table features that cannot be %s here: %s",
		map[string]string{"read": "read", "write": "written"}[verb], strings.Join(unknown, ", "))
}
