// Package registry keeps the definitions of all projects and their history.
//
// # Revisions
//
// A revision is one immutable file that holds the whole state: every project's
// entities, sources, views and services. Revisions are numbered from 1 without
// gaps; revision 0 is the empty registry, which has no file. A revision is
// written by put-if-absent at the next number, so of two writers one is first
// and the other one plans again on top of what it lost to, or is told of the
// conflict where it had named the revision that it expects. No lock, no lease
// and no listing is needed; a directory or a bucket is enough.
//
// # Plan and apply
//
// [Registry.Plan] compares what is wanted with what is there and prints the
// difference as a patch. [Registry.Apply] does it. What is not named stays,
// unless the request prunes. A change that stored rows could not survive (the
// type of a feature, the join keys of a view) is refused with the reason and
// the way out.
//
// # Views in the stores
//
// A view gets an id when it is created and keeps it until it is deleted; an id
// is never used again, so a view that is made again starts empty. Each feature
// has a slot in the packed row; slots are only added, also when a rollback
// takes a feature away for a while.
//
// Start reading at [Open], then [Snapshot].
package registry
