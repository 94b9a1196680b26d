// Package onlinetest holds every backend of the online store to its contract.
// Only tests import it.
//
// [Run] is the acceptance suite and runs the golden scripts, too; [RunDurable]
// is the part for stores that outlive the process. [Reference] is a map that
// keeps the contract in the plainest way: the oracle of the suite. [Faults]
// wraps a store and makes its calls fail, before or after their effect.
package onlinetest
