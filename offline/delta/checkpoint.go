package delta

import (
	"context"

	"github.com/granary-ml/granary/feature"
)

type lastCheckpoint struct {
	Version     int64  `json:"version"`
	Size        int64  `json:"size"`
	SizeInBytes int64  `json:"sizeInBytes,omitzero"`
	AddFiles    *int64 `json:"numOfAddFiles,omitzero"`
}

func (l *Log) writeCheckpoint(_ context.Context, _ *Snapshot) error { return nil }

func (l *Log) readCheckpoint(_ context.Context, _ checkpointRef) (*state, error) {
	return nil, feature.Errorf(feature.CodeInternal, "delta.read", l.subject(), "checkpoints are not read yet")
}
