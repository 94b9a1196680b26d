package delta

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/granary-ml/granary/feature"
	"github.com/granary-ml/granary/offline/bucket"
)

const (
	createOperation = "CREATE TABLE"
	writeOperation  = "WRITE"
	engineInfo      = "granary"
)

// Create makes the table: version 0. CodeAlreadyExists if there is one; the
// faults of the description come all at once.
func (l *Log) Create(ctx context.Context, m Metadata) (int64, error) {
	const op = "delta.Create"
	if err := m.validate(op); err != nil {
		return 0, err
	}
	now := feature.FromTime(l.clock.Now())
	if m.ID == "" {
		m.ID = l.newID()
	}
	if m.Created == 0 {
		m.Created = now
	}
	metaData, err := m.encode()
	if err != nil {
		return 0, err
	}
	c := &commit{
		time:     now,
		info:     l.info(now, createOperation, nil),
		protocol: &protocolAction{MinReaderVersion: readerVersion, MinWriterVersion: writerVersion},
		metaData: metaData,
	}
	landed, err := l.put(ctx, c)
	if err != nil {
		return 0, err
	}
	if landed.info.TxnID != c.info.TxnID {
		return 0, feature.Errorf(feature.CodeAlreadyExists, op, l.subject(), "there is a table already")
	}
	return 0, nil
}

func (l *Log) info(now feature.Timestamp, operation string, parameters map[string]string) commitInfo {
	info := commitInfo{
		Timestamp: floorMillis(now), Time: int64(now), Operation: operation, EngineInfo: engineInfo, TxnID: l.newID(),
		OperationParameters: make(map[string]jsontext.Value, len(parameters)),
	}
	for k, v := range parameters {
		info.OperationParameters[k] = textValue(v)
	}
	return info
}

// head is what a commit must know about the version that it follows.
type head struct {
	version  int64
	latest   feature.Timestamp
	protocol Protocol
	metadata Metadata
}

// Commit writes a version and returns its number. It is durable on return.
//
// Two writers may want one version: storage lets one have it, the other reads
// what landed, checks that its own transaction still holds on top of it, and
// takes the next. It is refused with CodeConflict if what landed removed a file
// that this transaction removes, changed the columns in a way that its files do
// not fit (new nullable columns do), or moved an application that it moves. Rows
// that were appended meanwhile are no conflict: the order is ours after theirs.
//
// An application that has already come to the version that the transaction
// brings is CodeAlreadyExists: the same work has landed before, and nothing is
// written. After CodeUnavailable, CodeDeadlineExceeded or CodeCanceled it may be
// unknown whether the commit landed; the message says so. The same application
// version may then be committed again: it lands once.
func (l *Log) Commit(ctx context.Context, tx Transaction) (int64, error) {
	a, err := l.begin(ctx, &tx)
	if err != nil {
		return 0, err
	}
	for {
		if err := a.head.protocol.checkWrite(l.subject(), &a.head.metadata); err != nil {
			return 0, err
		}
		c, err := a.encode(feature.FromTime(l.clock.Now()))
		if err != nil {
			return 0, err
		}
		landed, err := l.put(ctx, c)
		if err != nil {
			return 0, err
		}
		if landed.info.TxnID == a.info.TxnID {
			l.follow(ctx, landed)
			return landed.version, nil
		}
		// What landed is news, whether or not the transaction holds on top of it.
		if _, err := l.advance(landed); err != nil {
			return 0, err
		}
		if err := a.rebase(landed); err != nil {
			return 0, err
		}
	}
}

// begin checks a transaction and what has landed since the snapshot that it was
// computed from.
func (l *Log) begin(ctx context.Context, tx *Transaction) (*attempt, error) {
	newest, err := l.cached(ctx)
	if err != nil {
		return nil, err
	}
	base := newest
	if tx.Read != nil {
		base = tx.Read
	}
	a := &attempt{tx: tx, subject: l.subject(), head: head{
		version: base.Version, latest: base.latest, protocol: base.Protocol, metadata: base.Metadata,
	}}
	if err := a.prepare(l, base); err != nil {
		return nil, err
	}
	for a.head.version < newest.Version {
		c, err := l.readCommit(ctx, a.head.version+1)
		if err != nil {
			return nil, err
		}
		if err := a.rebase(c); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// putAttempts is how often a put is tried again whose outcome is unknown. The
// drivers have waited and tried by then; this is for the answer that was lost.
const putAttempts = 3

// put writes a log entry and returns what stands in its place: the entry, or
// that of a faster writer. Which of the two it is, the id in it tells: that the
// version is taken may mean that our own put landed and its answer was lost.
func (l *Log) put(ctx context.Context, c *commit) (*commit, error) {
	data, err := c.append(nil)
	if err != nil {
		return nil, err
	}
	key := l.dir + commitFile(c.version)
	for range putAttempts {
		err = l.b.PutIfAbsent(ctx, key, data)
		if err == nil {
			return parseCommit(c.version, key, data)
		}
		if code := feature.CodeOf(err); code != feature.CodeUnavailable || ctx.Err() != nil {
			break
		}
	}
	switch feature.CodeOf(err) {
	case feature.CodeAlreadyExists:
		there, readErr := l.readCommit(ctx, c.version)
		if readErr != nil {
			return nil, unknownOutcome(key, readErr)
		}
		return there, nil
	case feature.CodeUnavailable:
		if there, readErr := l.readCommit(ctx, c.version); readErr == nil {
			return there, nil
		}
		return nil, unknownOutcome(key, err)
	case feature.CodeDeadlineExceeded, feature.CodeCanceled:
		return nil, unknownOutcome(key, err)
	case feature.CodeInternal, feature.CodeInvalidArgument, feature.CodeUnauthenticated, feature.CodePermissionDenied,
		feature.CodeNotFound, feature.CodeConflict, feature.CodeFailedPrecondition, feature.CodeTooLarge,
		feature.CodeUnsupportedMediaType, feature.CodeResourceExhausted, feature.CodeDataLoss:
	}
	return nil, err
}

func unknownOutcome(key string, err error) error {
	return feature.Errorf(feature.CodeOf(err), "delta.Commit", key, "it is unknown whether the commit landed: %w", err)
}

// follow takes a landed commit of our own into the cached state, and writes a
// checkpoint when one is due. The commit is durable: nothing here undoes it.
func (l *Log) follow(ctx context.Context, c *commit) {
	snap, err := l.advance(c)
	if err != nil {
		l.log.WarnContext(ctx, "a commit landed that cannot be replayed", "table", l.prefix, "version", c.version, "error", err)
		return
	}
	if l.every > 0 && c.version > 0 && c.version%l.every == 0 {
		if err := l.writeCheckpoint(ctx, snap); err != nil {
			l.log.WarnContext(ctx, "no checkpoint was written", "table", l.prefix, "version", snap.Version, "error", err)
		}
	}
}

// attempt is a transaction on its way.
type attempt struct {
	tx       *Transaction
	subject  string
	head     head
	info     commitInfo // of every try: its id stays the same
	metaData *metaDataAction
	removes  []*removeAction
	removed  map[string]bool // decoded paths
	added    map[string]bool
}

// prepare checks the transaction against the snapshot that it was computed
// from, and makes the parts of the commit that no later version changes.
func (a *attempt) prepare(l *Log, base *Snapshot) error {
	tx := a.tx
	if err := tx.validate(base, l.subject()); err != nil {
		return err
	}
	operation := tx.Operation
	if operation == "" {
		operation = writeOperation
	}
	a.info = l.info(0, operation, tx.Parameters)
	a.info.IsBlindAppend = tx.Read == nil
	a.info.OperationMetrics = metrics(tx)
	for _, app := range tx.Apps {
		if landed, ok := base.App(app.ID); ok && (app.Version == OwnVersion || landed >= app.Version) {
			return landedBefore(l.subject(), app.ID, landed)
		}
	}
	a.added = make(map[string]bool, len(tx.Add))
	for _, f := range tx.Add {
		a.added[f.Path] = true
	}
	if err := a.prepareMetadata(base); err != nil {
		return err
	}
	return a.prepareRemoves(base, l.subject())
}

func landedBefore(subject, id string, version int64) error {
	return feature.Errorf(feature.CodeAlreadyExists, "delta.Commit", subject,
		"the transaction of application %q landed before, at its version %d", id, version)
}

// metrics are the figures that people look for in the history of a table.
func metrics(tx *Transaction) map[string]jsontext.Value {
	var rows, size int64
	for _, f := range tx.Add {
		size += f.Size
		rows += max(f.Stats.Rows, 0)
	}
	number := func(n int64) jsontext.Value { return textValue(strconv.FormatInt(n, 10)) }
	return map[string]jsontext.Value{
		"numFiles": number(int64(len(tx.Add))), "numOutputRows": number(rows), "numOutputBytes": number(size),
		"numRemovedFiles": number(int64(len(tx.Remove))),
	}
}

func (a *attempt) prepareMetadata(base *Snapshot) error {
	if a.tx.Metadata == nil {
		return nil
	}
	m := *a.tx.Metadata
	if m.ID == "" {
		m.ID = base.Metadata.ID
	}
	if m.Created == 0 {
		m.Created = base.Metadata.Created
	}
	var err error
	a.metaData, err = m.encode()
	return err
}

func (a *attempt) prepareRemoves(base *Snapshot, subject string) error {
	if len(a.tx.Remove) == 0 {
		return nil
	}
	a.removed = make(map[string]bool, len(a.tx.Remove))
	changes := make(map[string]bool, len(a.tx.Remove))
	for _, f := range a.tx.Remove {
		a.removed[f.Path] = true
		changes[f.Path] = f.DataChange
	}
	extended := true
	for i := range base.Files {
		f := &base.Files[i]
		if !a.removed[f.Path] {
			continue
		}
		a.removes = append(a.removes, &removeAction{
			Path: f.add.Path, DataChange: changes[f.Path], ExtendedFileMetadata: &extended,
			PartitionValues: f.add.PartitionValues, Size: &f.Size,
		})
		if changes[f.Path] && base.Metadata.Configuration["delta.appendOnly"] == "true" {
			return feature.Errorf(feature.CodeFailedPrecondition, "delta.Commit", subject, "the table is append only (delta.appendOnly)")
		}
	}
	if len(a.removes) != len(a.removed) {
		return feature.Errorf(feature.CodeInvalidArgument, "delta.Commit", subject,
			"%d of the files to remove are not in version %d", len(a.removed)-len(a.removes), base.Version)
	}
	return nil
}

// encode makes the commit that follows the head.
func (a *attempt) encode(now feature.Timestamp) (*commit, error) {
	version := a.head.version + 1
	now = max(now, a.head.latest+1) // commit times increase, whatever clocks do
	c := &commit{version: version, time: now, info: a.info, metaData: a.metaData}
	c.info.Time, c.info.Timestamp = int64(now), floorMillis(now)
	c.info.ReadVersion = &a.head.version
	for _, app := range a.tx.Apps {
		t := txnAction{AppID: app.ID, Version: app.Version}
		if app.Version == OwnVersion {
			t.Version = version
		}
		updated := floorMillis(now)
		if app.Updated != 0 {
			updated = floorMillis(app.Updated)
		}
		t.LastUpdated = &updated
		c.txns = append(c.txns, t)
	}
	deleted := floorMillis(now)
	for _, r := range a.removes {
		removal := *r
		removal.DeletionTimestamp = &deleted
		c.removes = append(c.removes, &removal)
	}
	partitions := a.head.metadata.PartitionColumns
	for i := range a.tx.Add {
		add, err := encodeAdd(&a.tx.Add[i], version, i, partitions)
		if err != nil {
			return nil, err
		}
		c.adds = append(c.adds, add)
	}
	return c, nil
}

func encodeAdd(f *File, version int64, position int, partitions []string) (*addAction, error) {
	stats, err := encodeStats(&f.Stats)
	if err != nil {
		return nil, err
	}
	add := &addAction{
		Path: encodePath(f.Path), PartitionValues: make(map[string]*string, len(partitions)), Size: f.Size,
		ModificationTime: floorMillis(f.ModificationTime), DataChange: f.DataChange, Stats: stats,
		Tags: make(map[string]*string, len(f.Tags)+2),
	}
	for _, name := range partitions {
		add.PartitionValues[name] = nil
		if v, ok := f.PartitionValues[name]; ok {
			add.PartitionValues[name] = &v
		}
	}
	for k, v := range f.Tags {
		add.Tags[k] = &v
	}
	commit, place := strconv.FormatInt(version, 10), strconv.Itoa(position)
	add.Tags[commitTag], add.Tags[positionTag] = &commit, &place
	return add, nil
}

// validate tells every fault of a transaction at once.
func (tx *Transaction) validate(base *Snapshot, subject string) error {
	var faults []feature.Fault
	fault := func(field, format string, args ...any) {
		faults = append(faults, feature.Fault{Field: field, Detail: fmt.Sprintf(format, args...)})
	}
	if tx.Read == nil && (len(tx.Remove) > 0 || tx.Metadata != nil) {
		fault("read", "a transaction that removes files or changes the table names the snapshot that it was computed from")
	}
	removed := map[string]bool{}
	for _, f := range tx.Remove {
		removed[f.Path] = true
	}
	seen := map[string]bool{}
	for i, f := range tx.Add {
		field := fmt.Sprintf("add[%d]", i)
		if err := bucket.CheckKey("delta.Commit", f.Path); err != nil {
			fault(field, "%v", err)
		}
		if seen[f.Path] || removed[f.Path] {
			fault(field, "the file %s is named twice", f.Path)
		}
		seen[f.Path] = true
		for name := range f.PartitionValues {
			if !slices.Contains(base.Metadata.PartitionColumns, name) {
				fault(field, "the table has no partition column %q", name)
			}
		}
	}
	for i, app := range tx.Apps {
		if app.ID == "" {
			fault(fmt.Sprintf("apps[%d]", i), "an application has an id")
		}
	}
	if err := feature.Invalid("delta.Commit", subject, faults); err != nil {
		return err
	}
	if tx.Metadata == nil {
		return nil
	}
	if tx.Metadata.ID != "" && tx.Metadata.ID != base.Metadata.ID {
		return feature.Errorf(feature.CodeInvalidArgument, "delta.Commit", subject, "the id of a table never changes")
	}
	if err := tx.Metadata.validate("delta.Commit"); err != nil {
		return err
	}
	if why := incompatible(&base.Metadata, tx.Metadata); why != "" && len(base.Files) > 0 {
		return feature.Errorf(feature.CodeFailedPrecondition, "delta.Commit", subject,
			"the table has files that the change does not fit: %s", why)
	}
	return nil
}

// randomID returns a random UUID (version 4): Delta's readers expect one.
func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
