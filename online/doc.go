// Package online is the contract of the online store: the newest row of every
// entity of every view, found by key in well under a millisecond.
//
// # Rows
//
// A row is one packed value ([Layout]): version, event and created timestamp,
// null bitmap, values at fixed places, checksum. One value is read without
// decoding the others. Every backend stores the same bytes, drawn in
// docs/format/packed-row.md, under the same keys ([AppendRowKey]), drawn in
// docs/format/online-keys.md.
//
// # Newer-than
//
// A write replaces the stored row unless it is older, as [feature.Newer] says;
// so the order of arrival never matters. Missing, expired and superseded rows
// are results ([Status], [WriteStats]), not errors.
//
// # Backends
//
// [Reader] and [Writer] are the two halves of a [Store]. The package
// onlinetest holds every backend to this contract; pebblestore is the embedded
// one. Start reading at store.go, then layout.go.
package online
