package offline

import (
	"context"
	"errors"

	"github.com/apache/arrow/go/v17/arrow/array"

	"github.com/granary-ml/granary/api/wire"
	"github.com/granary-ml/granary/feature"
)

// ScanRequest selects rows of a table. The zero value is all of the newest
// version.
type ScanRequest struct {
	// Columns of the table, in the order wanted; none is all.
	Columns []string
	// Interval of event timestamps; the zero Interval is all.
	Interval feature.Interval
	// Keys of the entities wanted; nil is all.
	Keys []feature.EntityKey
	AsOf wire.AsOf
	// Shard of Shards, from 0: each row of one version is in exactly one of
	// them, the same one every time. Shards 0 is 1.
	Shard, Shards int
}

// Scan reads the rows of a table file by file, each sorted by (join keys, event
// timestamp, created timestamp). The schema is that of columns.TableSchema; a
// feature that a file does not know is null in its rows.
func (s *Store) Scan(_ context.Context, _ *feature.BoundView, _ ScanRequest) (array.RecordReader, error) {
	return nil, errors.ErrUnsupported
}
