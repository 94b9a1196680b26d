// Package pit is the point-in-time join, and nothing else: sorted integers in,
// positions out. It knows no Arrow, no files and no types of keys.
//
// The rule, from docs/point-in-time.md: a spine row (key, t) gets the newest row
// of that key whose event timestamp is at most t and at least t − TTL; under
// known_at the row's created timestamp must be at most t, too. Of two rows the
// newer is the one with the larger event timestamp, then the larger created
// timestamp, then the larger position.
//
// # Shape
//
// The caller gives every distinct key of the spine an ordinal, in the order of
// the keys, and makes a [Spine] of the rows sorted by (ordinal, time). History
// comes as [Block]s, such as a row group of a file: rows sorted by (key, event,
// created, position), in which the rows of each key that the spine knows are
// named by a [Group]. A [Join] takes blocks in any order and remembers, for each
// spine row, the newest that it has seen. A position is any number that grows
// with the order of writing; the caller finds the row by it again.
//
// # Cost
//
// A group costs one step per spine row of its key that the group may change,
// and galloping searches in its times: a block of a million rows of a key costs
// a handful of steps if the spine asks once. Memory is 24 bytes per spine row.
// Where blocks come newest first, [Join.Settle] takes spine rows out of the race
// whose answer no older block can change, so that joining a thousand daily
// files costs as much as joining one.
package pit
