// Package onlinetest holds every backend of the online store to its contract:
// an acceptance suite, golden scripts, a map that is the reference, and a
// wrapper that makes faults. Only tests import it.
package onlinetest
