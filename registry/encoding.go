package registry

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/internal/strictjson"
)

// formatVersion is the version of the files, described byte by byte in
// docs/format/registry.md. A member that is added, renamed or removed needs a
// new version: files are read strictly.
const formatVersion = 1

// envelope is a file: the version and the hash of the bytes of the revision as
// they stand in it.
type envelope struct {
	Format   int             `json:"format"`
	SHA256   string          `json:"sha256"`
	Revision json.RawMessage `json:"revision"`
}

// revisionFile is the content of a file.
type revisionFile struct {
	Revision int64 `json:"revision"`
	// Parent is the hash of the revision before, empty for revision 1. It tells
	// when a file was replaced.
	Parent string `json:"parent,omitempty"`
	// Writer is random for each write. Whoever is told that the file exists
	// already finds out by it whether it was an earlier try of its own.
	Writer  string            `json:"writer"`
	Time    feature.Timestamp `json:"time"` // strictly increases
	Project string            `json:"project"`
	Message string            `json:"message,omitempty"`
	Changes []wire.Change     `json:"changes"`
	State   state             `json:"state"`
}

// encodeRevision writes a file. One content has one spelling: members in the
// order of the structs, maps by key, no blanks.
func encodeRevision(file *revisionFile) ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(file); err != nil {
		return nil, feature.Errorf(feature.CodeInternal, "registry.Encode", subjectOf(file.Revision), "%w", err)
	}
	raw := bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	out := fmt.Appendf(nil, `{"format":%d,"sha256":%q,"revision":`, formatVersion, hashOf(raw))
	out = append(out, raw...)
	return append(out, "}\n"...), nil
}

// decodeRevision reads a file and returns the hash of its revision. Damaged
// bytes are CodeDataLoss, a newer format is CodeFailedPrecondition.
func decodeRevision(data []byte) (*revisionFile, string, error) {
	damaged := func(format string, args ...any) (*revisionFile, string, error) {
		return nil, "", feature.Errorf(feature.CodeDataLoss, "", "", format, args...)
	}
	// Leniently first: a newer format may have any shape beside its number.
	var head envelope
	if err := json.Unmarshal(data, &head); err != nil {
		return damaged("it is not a revision of a registry: %w", err)
	}
	if head.Format > formatVersion {
		return nil, "", feature.Errorf(feature.CodeFailedPrecondition, "", "",
			"it has format %d and this program reads up to %d: use a newer granary", head.Format, formatVersion)
	}
	var e envelope
	if err := strictjson.Unmarshal(data, &e); err != nil {
		return damaged("it is not a revision of a registry: %s", detailOf(err))
	}
	if e.Format < 1 {
		return damaged("it has no format number")
	}
	hash := hashOf(e.Revision)
	if hash != e.SHA256 {
		return damaged("its bytes hash to %s and not to %s as it says", hash, e.SHA256)
	}
	file := &revisionFile{}
	if err := strictjson.Unmarshal(e.Revision, file); err != nil {
		return damaged("%s", detailOf(err))
	}
	if file.Revision < 1 {
		return damaged("it has the revision number %d (expected 1 or more)", file.Revision)
	}
	return file, hash, nil
}

func hashOf(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// detailOf returns the text of an error without its subject, so that it reads
// well inside another.
func detailOf(err error) string {
	if e, ok := errors.AsType[*feature.Error](err); ok {
		return e.Detail()
	}
	return err.Error()
}
