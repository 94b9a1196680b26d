package online

import (
	"errors"

	"github.com/apache/arrow/go/v17/arrow"

	"github.com/granary-ml/granary/feature"
)

var errSoon = errors.New("not built yet")

// Layout is how the rows of one bound view are packed.
type Layout struct{}

// NewLayout returns the layout of a view.
func NewLayout(_ *feature.BoundView) *Layout { return &Layout{} }

// Append appends a packed row; values stand in the order of the view's features.
func (l *Layout) Append(dst []byte, event, created feature.Timestamp, values []feature.Value) ([]byte, error) {
	return dst, errSoon
}

// Value returns the value of a slot of a checked row.
func (l *Layout) Value(packed []byte, slot int) (feature.Value, error) {
	return feature.Value{}, errSoon
}

// AppendJSON appends the value of a slot of a checked row as native JSON.
func (l *Layout) AppendJSON(dst, packed []byte, slot int) ([]byte, error) { return dst, errSoon }

// Columns binds the columns of a record of the view's table.
func (l *Layout) Columns(rec arrow.Record) (*Columns, error) { return nil, errSoon }

// Columns packs the rows of one record of a view's table.
type Columns struct{}

// AppendKey appends the entity key of a row.
func (c *Columns) AppendKey(dst []byte, row int) ([]byte, error) { return dst, errSoon }

// AppendRow appends the packed form of a row.
func (c *Columns) AppendRow(dst []byte, row int) ([]byte, error) { return dst, errSoon }

// Version returns the version of a row.
func (c *Columns) Version(row int) feature.Version { return feature.Version{} }
