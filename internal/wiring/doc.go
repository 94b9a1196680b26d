// Package wiring opens the stores that a configuration names and connects them:
// it is the one place that knows every backend. What it opens is a [System].
package wiring
