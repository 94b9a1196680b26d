// Package wire holds the requests and responses of the native HTTP surface as
// Go types. The server, the client and the command line share them, so that an
// answer is the same whichever way it was asked for. It imports feature only.
package wire
