package delta

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
	"github.com/granary-ml/granary/offline/parquetio"
)

// A checkpoint is the state at a version as a Parquet file of actions, one to a
// row. It is written after the commit of its version by whoever made the commit:
// a checkpoint that is missing or damaged costs time, and never truth.

// lastCheckpoint is the content of _last_checkpoint.
type lastCheckpoint struct {
	Version     int64  `json:"version"`
	Size        int64  `json:"size"` // actions
	SizeInBytes int64  `json:"sizeInBytes,omitzero"`
	AddFiles    *int64 `json:"numOfAddFiles,omitzero"`
}

// removedFor is how long a checkpoint keeps the tombstones of removed files;
// it is Delta's default for readers of old versions.
const removedFor = 7 * 24 * time.Hour

func checkpointFile(version int64) string { return fmt.Sprintf("%020d.checkpoint.parquet", version) }

func (l *Log) writeCheckpoint(ctx context.Context, s *Snapshot) error {
	actions, err := s.actions()
	if err != nil {
		return err
	}
	var buf bytes.Buffer
	if err := encodeCheckpoint(&buf, actions); err != nil {
		return err
	}
	size := int64(buf.Len())
	if err := l.replace(ctx, checkpointFile(s.Version), buf.Bytes()); err != nil {
		return err
	}
	files := int64(len(s.Files))
	hint, err := marshal(lastCheckpoint{Version: s.Version, Size: int64(len(actions)), SizeInBytes: size, AddFiles: &files})
	if err != nil {
		return err
	}
	return l.replace(ctx, lastCheckpointFile, hint)
}

// replace writes a file of the log that may be there already.
func (l *Log) replace(ctx context.Context, name string, data []byte) error {
	w, err := l.b.Create(ctx, l.dir+name, bucket.CreateOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = w.Abort() }() // after the commit it does nothing
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Commit()
}

// actions sums the snapshot up: what a checkpoint holds, in its order.
func (s *Snapshot) actions() ([]action, error) {
	metaData, err := s.Metadata.encode()
	if err != nil {
		return nil, err
	}
	protocol := protocolAction(s.Protocol)
	actions := []action{{Protocol: &protocol}, {MetaData: metaData}}
	for _, id := range s.apps.ids(s.Version) {
		e, _ := s.apps.at(id, s.Version)
		actions = append(actions, action{Txn: &txnAction{AppID: id, Version: e.version, LastUpdated: e.updated}})
	}
	actions = append(actions, s.tombstones()...)
	position := 0
	for i := range s.Files {
		f := &s.Files[i]
		if i > 0 && f.Version != s.Files[i-1].Version {
			position = 0
		}
		actions = append(actions, action{Add: f.tagged(position)})
		position++
	}
	return actions, nil
}

// tagged returns the file's action with its commit and place in its tags, which
// is where a reader of the checkpoint finds them. A place counts files that are
// still there, and so keeps their order.
func (f *File) tagged(position int) *addAction {
	add := *f.add
	add.DataChange = false // a checkpoint brings no rows
	add.Tags = make(map[string]*string, len(f.Tags)+2)
	maps.Copy(add.Tags, f.add.Tags)
	if f.Version > 0 {
		commit, place := strconv.FormatInt(f.Version, 10), strconv.Itoa(position)
		add.Tags[commitTag], add.Tags[positionTag] = &commit, &place
	}
	return &add
}

// tombstones returns the removals that cleaners still must wait for: those of
// files that are not back, within the time that old versions may be read.
func (s *Snapshot) tombstones() []action {
	present := make(map[string]bool, len(s.Files))
	for i := range s.Files {
		present[s.Files[i].Path] = true
	}
	oldest := floorMillis(s.Time.Add(-removedFor))
	var out []action
	for _, r := range slices.Backward(s.removed) { // the newest of a path
		deleted := r.removal.DeletionTimestamp
		if present[r.path] || deleted == nil || *deleted < oldest {
			continue
		}
		present[r.path] = true
		removal := *r.removal
		removal.DataChange = false
		out = append(out, action{Remove: &removal})
	}
	slices.Reverse(out)
	return out
}

// readCheckpoint returns the state that a checkpoint holds.
func (l *Log) readCheckpoint(ctx context.Context, ref checkpointRef) (*state, error) {
	c := &commit{version: ref.version}
	for _, name := range ref.files {
		if err := l.readCheckpointFile(ctx, name, c); err != nil {
			return nil, err
		}
	}
	adds := c.adds
	c.adds = nil
	at, err := l.commitTime(ctx, ref)
	if err != nil {
		return nil, err
	}
	c.time = at
	st := newState(l.subject())
	if err := st.apply(c); err != nil {
		return nil, err
	}
	files := make([]File, len(adds))
	for i, a := range adds {
		if files[i], err = decodeAdd(a, st.types); err != nil {
			return nil, err
		}
		files[i].Version = tagNumber(files[i], commitTag)
	}
	st.setFiles(files)
	st.order()
	return st, nil
}

// commitTime returns when the version of a checkpoint was committed. The log
// entry says it; if that was cleaned up, the time of the checkpoint is the best
// there is.
func (l *Log) commitTime(ctx context.Context, ref checkpointRef) (feature.Timestamp, error) {
	c, err := l.readCommit(ctx, ref.version)
	if err == nil {
		return c.time, nil
	}
	if feature.CodeOf(err) != feature.CodeNotFound {
		return 0, err
	}
	o, err := l.b.Stat(ctx, l.dir+ref.files[0])
	return feature.FromTime(o.ModTime), err
}

func (l *Log) readCheckpointFile(ctx context.Context, name string, c *commit) error {
	key := l.dir + name
	o, err := l.b.Stat(ctx, key)
	if err != nil {
		return err
	}
	err = decodeCheckpoint(ctx, bucket.NewReaderAt(ctx, l.b, key, o.Size), key, c)
	if err != nil {
		return feature.Errorf(feature.CodeOf(err), "delta.read", key, "%w", err)
	}
	return nil
}

// encodeCheckpoint and decodeCheckpoint are all that knows of Parquet.

func encodeCheckpoint(dst *bytes.Buffer, actions []action) error {
	w, err := parquetio.NewWriter(dst, checkpointSchema, parquetio.WriterOptions{Codec: parquetio.Snappy})
	if err != nil {
		return err
	}
	rec := actionRecord(actions)
	defer rec.Release()
	if err := w.Write(rec); err != nil {
		return err
	}
	_, err = w.Close()
	return err
}

// decodeCheckpoint adds the actions of a file to c. Columns that are not ours
// are not read.
func decodeCheckpoint(ctx context.Context, r *bucket.ReaderAt, name string, c *commit) error {
	f, err := parquetio.Open(r, r.Size(), name, parquetio.ReaderOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was only read
	var columns []string
	for _, field := range f.Schema().Fields() {
		if checkpointSchema.HasField(field.Name) && field.Type.ID() == arrow.STRUCT {
			columns = append(columns, field.Name)
		}
	}
	if !slices.Contains(columns, "add") {
		return feature.Errorf(feature.CodeDataLoss, "delta.read", name, "it is not a checkpoint: there is no column add")
	}
	for rec, err := range f.Records(ctx, parquetio.ScanOptions{Columns: columns}) {
		if err != nil {
			return err
		}
		c.readRecord(rec)
		rec.Release()
	}
	return nil
}
