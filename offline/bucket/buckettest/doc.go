// Package buckettest holds the acceptance suite that every bucket and every
// wrapper of one passes (Run), and a wrapper that injects faults (Faults).
package buckettest
