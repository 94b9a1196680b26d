// Package rowkey compares, sorts and matches the join keys of rows that stand
// in columns.
//
// A key is its encoding of package keyenc: the order of the bytes is the order
// of the values. Most of the work needs no bytes at all: where the join keys are
// numbers of at most eight bytes together, the encoding is a uint64, and a pass
// over a column makes all of them. Other keys are encoded only once per run of
// equal rows, because the rows of a file are sorted, or through a [Dict], which
// gives each distinct key of an unsorted column a number.
package rowkey
