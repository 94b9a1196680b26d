// Package feature is the vocabulary of the feature store. It does no I/O and
// imports nothing but the standard library and the key encoding.
//
// # Definitions
//
// An [Entity] is what features are about (a driver, an airport) and names the
// typed join keys that tell one from another. A [View] is a table of features
// of one or more entities: typed columns, a TTL, and where its rows come from,
// a [Source]. A [Service] is a named, ordered list of features that one model
// asks for. [Definitions] are all of these for one project; [Definitions.Validate]
// tells every fault at once.
//
// # Rows
//
// A row of a view has the key of its entity, an event timestamp (when it was
// true), a created timestamp (when it became known) and one value per feature.
// Of two rows of one key the newer wins, as [Newer] says. A row is good for a
// reader at time t while [TTL.Covers] says so.
//
// # Bound views
//
// A [BoundView] is a view as the registry knows it: with its project, its id
// (never used again), its join keys resolved and a fixed slot for every
// feature. Stores take bound views and nothing else.
//
// # Errors
//
// What a caller can act on is an [*Error] with one of a closed set of codes;
// the codes are those of the HTTP surface. Missing, expired and superseded rows
// are results, not errors.
package feature
