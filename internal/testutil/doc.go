// Package testutil starts what tests need from outside: a Python environment
// with the engines that read our tables, and the granary binary itself. Its
// helpers fail a test that cannot have what it needs; none ever skips.
package testutil
