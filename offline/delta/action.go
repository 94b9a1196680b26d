package delta

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
)

// The actions of a log entry as they stand in JSON, one to a line. Members that
// are not listed are other writers' and are skipped; what they would mean for a
// reader is announced by the protocol action, which is checked.

type action struct {
	CommitInfo jsontext.Value  `json:"commitInfo,omitempty"`
	Protocol   *protocolAction `json:"protocol,omitzero"`
	MetaData   *metaDataAction `json:"metaData,omitzero"`
	Txn        *txnAction      `json:"txn,omitzero"`
	Remove     *removeAction   `json:"remove,omitzero"`
	Add        *addAction      `json:"add,omitzero"`
}

// commitInfo is free-form in the protocol. Time is ours: microseconds, where
// Timestamp has milliseconds.
type commitInfo struct {
	Timestamp           int64                     `json:"timestamp"`
	InCommitTimestamp   int64                     `json:"inCommitTimestamp,omitzero"`
	Time                int64                     `json:"granaryTime,omitzero"`
	Operation           string                    `json:"operation"`
	OperationParameters map[string]jsontext.Value `json:"operationParameters"`
	OperationMetrics    map[string]jsontext.Value `json:"operationMetrics,omitempty"`
	ReadVersion         *int64                    `json:"readVersion,omitzero"`
	IsBlindAppend       bool                      `json:"isBlindAppend"`
	EngineInfo          string                    `json:"engineInfo,omitempty"`
	TxnID               string                    `json:"txnId,omitempty"`
}

type protocolAction struct {
	MinReaderVersion int      `json:"minReaderVersion"`
	MinWriterVersion int      `json:"minWriterVersion"`
	ReaderFeatures   []string `json:"readerFeatures,omitzero"`
	WriterFeatures   []string `json:"writerFeatures,omitzero"`
}

type metaDataAction struct {
	ID               string            `json:"id"`
	Name             *string           `json:"name,omitzero"`
	Description      *string           `json:"description,omitzero"`
	Format           formatSpec        `json:"format"`
	SchemaString     string            `json:"schemaString"`
	PartitionColumns []string          `json:"partitionColumns"`
	Configuration    map[string]string `json:"configuration"`
	CreatedTime      *int64            `json:"createdTime,omitzero"`
}

type formatSpec struct {
	Provider string            `json:"provider"`
	Options  map[string]string `json:"options"`
}

type txnAction struct {
	AppID       string `json:"appId"`
	Version     int64  `json:"version"`
	LastUpdated *int64 `json:"lastUpdated,omitzero"`
}

type addAction struct {
	Path             string             `json:"path"`
	PartitionValues  map[string]*string `json:"partitionValues"`
	Size             int64              `json:"size"`
	ModificationTime int64              `json:"modificationTime"`
	DataChange       bool               `json:"dataChange"`
	Stats            *string            `json:"stats,omitzero"`
	Tags             map[string]*string `json:"tags,omitempty"`
	DeletionVector   jsontext.Value     `json:"deletionVector,omitempty"`
}

type removeAction struct {
	Path                 string             `json:"path"`
	DeletionTimestamp    *int64             `json:"deletionTimestamp,omitzero"`
	DataChange           bool               `json:"dataChange"`
	ExtendedFileMetadata *bool              `json:"extendedFileMetadata,omitzero"`
	PartitionValues      map[string]*string `json:"partitionValues,omitempty"`
	Size                 *int64             `json:"size,omitzero"`
}

// commit is one log entry, read.
type commit struct {
	version  int64
	time     feature.Timestamp
	info     commitInfo
	protocol *protocolAction
	metaData *metaDataAction
	txns     []txnAction
	adds     []*addAction
	removes  []*removeAction
}

// parseCommit reads a log entry. One that does not parse is CodeDataLoss: to
// skip a line would be to lose rows, or to bring deleted ones back.
func parseCommit(version int64, name string, data []byte) (*commit, error) {
	c := &commit{version: version}
	line, actions := 0, 0
	for text := range bytes.Lines(data) {
		line++
		if len(bytes.TrimSpace(text)) == 0 {
			continue
		}
		actions++
		if err := c.parseAction(text); err != nil {
			return nil, feature.Errorf(feature.CodeDataLoss, "delta.read", name, "line %d: %w", line, err)
		}
	}
	if actions == 0 {
		return nil, feature.Errorf(feature.CodeDataLoss, "delta.read", name, "the entry is empty")
	}
	c.time = c.info.time()
	return c, nil
}

func (c *commit) parseAction(text []byte) error {
	var a action
	if err := json.Unmarshal(text, &a); err != nil {
		return fmt.Errorf("not an action: %w", err)
	}
	switch {
	case a.CommitInfo != nil:
		// It is free-form: what does not fit is left out.
		_ = json.Unmarshal(a.CommitInfo, &c.info)
	case a.Protocol != nil:
		c.protocol = a.Protocol
	case a.MetaData != nil:
		c.metaData = a.MetaData
	case a.Txn != nil:
		c.txns = append(c.txns, *a.Txn)
	case a.Add != nil:
		c.adds = append(c.adds, a.Add)
	case a.Remove != nil:
		c.removes = append(c.removes, a.Remove)
	}
	return nil
}

// time returns when the commit says it was made; 0 if it does not.
func (i *commitInfo) time() feature.Timestamp {
	switch {
	case i.Time != 0:
		return feature.Timestamp(i.Time)
	case i.InCommitTimestamp != 0:
		return fromMillis(i.InCommitTimestamp)
	}
	return fromMillis(i.Timestamp)
}

func fromMillis(ms int64) feature.Timestamp { return feature.Timestamp(ms * 1000) }

func floorMillis(t feature.Timestamp) int64 {
	ms := int64(t) / 1000
	if int64(t)%1000 < 0 {
		ms--
	}
	return ms
}

// append adds the lines of the entry to dst, in the order that the protocol
// asks for: what the commit is first, what it does last.
func (c *commit) append(dst []byte) ([]byte, error) {
	info, err := marshal(c.info)
	if err != nil {
		return nil, err
	}
	actions := []action{{CommitInfo: info}}
	if c.protocol != nil {
		actions = append(actions, action{Protocol: c.protocol})
	}
	if c.metaData != nil {
		actions = append(actions, action{MetaData: c.metaData})
	}
	for i := range c.txns {
		actions = append(actions, action{Txn: &c.txns[i]})
	}
	for _, r := range c.removes {
		actions = append(actions, action{Remove: r})
	}
	for _, a := range c.adds {
		actions = append(actions, action{Add: a})
	}
	for _, a := range actions {
		line, err := marshal(a)
		if err != nil {
			return nil, err
		}
		dst = append(append(dst, line...), '\n')
	}
	return dst, nil
}

// marshal writes JSON that is the same for the same content.
func marshal(v any) ([]byte, error) { return json.Marshal(v, json.Deterministic(true)) }

func textValue(s string) jsontext.Value { return jsontext.Value(feature.AppendStringJSON(nil, s)) }

func textOf(raw jsontext.Value) string {
	if raw.Kind() == '"' {
		if text, err := jsontext.AppendUnquote(nil, raw); err == nil {
			return string(text)
		}
	}
	return string(raw)
}
