// Package lint holds the rules that no linter knows, as tests: which package may
// import which, that every package says what it is, that nothing is left
// unfinished. A failing test gives the reason and the way out.
package lint
