// Package pebblestore is the embedded online store, on Pebble: one directory,
// one process, no service beside it.
package pebblestore
