// Package runs sorts more rows than fit into memory.
//
// A [Sorter] buffers the records that it is given. When the buffer is full, its
// rows are sorted and written to a local file, a run, while the next buffer
// fills. At the end the runs are merged, with the last buffer as it is where
// memory allows. The order is (join keys, event
// timestamp, created timestamp, arrival): rows are never swapped that are equal
// in the first three, neither within a run nor between runs, so that the row
// which was written later stays the later one.
//
// A run is an Arrow IPC stream in a folder of the sorter's own. Close removes
// the folder. A process that is killed leaves it, but not the lock that it held
// on a file beside it, by which [Sweep] knows that nobody needs it any more.
package runs
