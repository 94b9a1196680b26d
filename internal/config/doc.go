// Package config reads granary.yaml: strict, with every fault told at once and
// by its line, and with secrets taken from the environment. A value may hold
// ${NAME}, which is replaced by the environment variable of that name; Print
// writes the effective configuration with ${NAME} in its place again, so that
// what is printed can be shared.
package config
