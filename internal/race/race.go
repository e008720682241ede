// Package race has what the race detector needs of package coro, and costs nothing without it:
// edges for hand-overs through the C core, which the detector does not see, and words without
// order.
//
// An edge says that what was done before a hand-over to a scheduler happens before what is done
// after a hand-over that comes back from it. It does not say the reverse, which would hide true
// races.
//
// A word without order is written by one goroutine and looked at by others. Go has no relaxed
// atomics, and its atomic stores cost an exchange; so without the detector such a word is loaded
// and stored plainly. A word is never torn. Code that has to be sure of what it read checks that
// with another atomic.
package race

// Handles is the edge of wake-ups and cancels, which know no scheduler. Every Acquire includes it.
var Handles Edge
