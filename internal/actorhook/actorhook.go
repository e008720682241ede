// Package actorhook lets package actortest have systems of package actor that a test steps through.
package actorhook

import "time"

// A Stepper has the turns of one system, each of one message.
type Stepper interface {
	// Ready is how many actors have a turn to come.
	Ready() int
	// Step runs the turn of the i-th of these, on the calling goroutine.
	Step(i int)
	// Waiting is how many turns of Waiting actors are under way, and a channel that is closed
	// when that, or Ready, has changed.
	Waiting() (n int, changed <-chan struct{})
}

// A Clock is what time a system has.
type Clock interface {
	Now() time.Duration
	// After calls f when d has passed. stop returns false if that has begun.
	After(d time.Duration, f func()) (stop func() bool)
}

// New makes an *actor.System with a clock, by options of type actor.Option. settle is called where
// the system waits for its own rest. Package actor sets New.
var New func(clock Clock, settle func(), options []any) (system any, s Stepper, err error)
