// Package pittest is a small language in which the point-in-time rule is
// written down as scripts, and a runner that holds any engine to them. The
// scripts lie in offline/pit/testdata/engine:
//
//	define view=f keys=(k:int64) features=(v:int64) ttl=1h
//	----
//
//	load view=f
//	k  event  created  v
//	1  10:00  10:05    3
//	----
//	1 rows
//
//	join features=(f:v)
//	k  at
//	1  10:59
//	----
//	k  at     v
//	1  10:59  3
//
// A time is a time of day on 2024-01-01 UTC, or RFC 3339; null is null, and text
// is in double quotes. Each load lands by itself, and its rows in the order
// written. Columns of a spine that are neither keys nor "at" are labels, int64.
// Arguments of a join are known-at, full-names, and notes: with it an engine
// that knows them adds statuses and ages.
package pittest
