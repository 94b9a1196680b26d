// Package pebblestore is the embedded online store, on Pebble: one directory,
// one process, no service beside it.
//
// Keys and values are those of the package online. A write reads the versions
// that are there, drops the rows that are older, and commits the others in one
// synced batch; writers of one view take turns at that, and share the sync. A
// read is one pass of one iterator over the sorted keys, so that all its rows
// are of one moment.
//
// Pebble ends the process where it cannot write its log. This package does not
// let it come to that when the disk is merely full: it refuses writes while
// there is still room (Options.MinFreeBytes). After any other failure of the
// log the store takes no more writes, tells why, and goes on reading.
package pebblestore
