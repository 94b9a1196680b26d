package delta

import (
	"reflect"
	"slices"

	"github.com/granary-ml/granary/feature"
)

// rebase puts the transaction on top of a commit that landed first, or says why
// it does not hold there.
func (a *attempt) rebase(c *commit) error {
	if err := a.conflict(c); err != nil {
		return err
	}
	a.head.version, a.head.latest = c.version, max(a.head.latest, c.time)
	if c.metaData == nil {
		return nil
	}
	m, err := decodeMetadata(c.metaData)
	if err != nil {
		return err
	}
	if why := incompatible(&a.head.metadata, &m); why != "" {
		return a.conflictError(c.version, "%s", why)
	}
	a.head.metadata = m
	return nil
}

func (a *attempt) conflictError(version int64, format string, args ...any) error {
	return feature.Errorf(feature.CodeConflict, "delta.Commit", a.subject, "version %d landed first: "+format, append([]any{version}, args...)...)
}

func (a *attempt) conflict(c *commit) error {
	// A restore repeats the protocol, which changes nothing.
	if c.protocol != nil && !reflect.DeepEqual(Protocol(*c.protocol), a.head.protocol) {
		return a.conflictError(c.version, "it changes the protocol of the table")
	}
	if c.metaData != nil && a.metaData != nil {
		return a.conflictError(c.version, "it changes the columns or settings of the table, as this one does")
	}
	for _, r := range c.removes {
		path, err := decodePath(r.Path)
		if err != nil {
			return err
		}
		if a.removed[path] {
			return a.conflictError(c.version, "it removed the file %s, which this one removes", path)
		}
	}
	for _, add := range c.adds {
		path, err := decodePath(add.Path)
		if err != nil {
			return err
		}
		if a.added[path] || a.removed[path] {
			return a.conflictError(c.version, "it wrote the file %s, which this one writes or removes", path)
		}
	}
	return a.appConflict(c)
}

func (a *attempt) appConflict(c *commit) error {
	for _, app := range a.tx.Apps {
		i := slices.IndexFunc(c.txns, func(t txnAction) bool { return t.AppID == app.ID })
		if i < 0 {
			continue
		}
		if landed := c.txns[i].Version; app.Version == OwnVersion || landed >= app.Version {
			return landedBefore(a.subject, app.ID, landed)
		}
		return a.conflictError(c.version, "it moved application %q from below this one", app.ID)
	}
	return nil
}

// incompatible tells why files written for one set of columns do not belong to
// a table of another: "" if they do. A column that they lack reads as nulls.
func incompatible(written, now *Metadata) string {
	if !slices.Equal(written.PartitionColumns, now.PartitionColumns) {
		return "it changes the partition columns"
	}
	for _, f := range written.Fields {
		other, ok := now.field(f.Name)
		switch {
		case !ok:
			return "it drops column " + f.Name
		case other.Type != f.Type:
			return "it makes column " + f.Name + " a " + other.Type.String()
		case f.Nullable && !other.Nullable:
			return "it forbids nulls in column " + f.Name
		}
	}
	for _, f := range now.Fields {
		if _, ok := written.field(f.Name); !ok && !f.Nullable {
			return "it adds column " + f.Name + ", which may not be null"
		}
	}
	return ""
}
