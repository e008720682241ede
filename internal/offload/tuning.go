package offload

import "time"

// The figures of this package that are tuning, each with its unit, its reason, and where its figure
// stands.
const (
	// A worker that has nothing to do looks lookSpins times, lookTurns turns of a loop apart,
	// before it sleeps: some 3 µs, beside some 10 for a wake-up (bench call).
	lookSpins = 100
	lookTurns = 64

	// idleTime is how long a pool waits before it lets half of its idle workers go
	// (docs/calls.md).
	idleTime = 10 * time.Second

	// When a sleep in C was of no use, the next backoffLeast workers do not sleep there, and
	// twice as many the next time, up to backoffMost. A goroutine that has waited for longer
	// than backoffWait has waited for a P (bench call, asleep).
	backoffLeast = 16
	backoffMost  = 1024
	backoffWait  = 100 * time.Microsecond

	// visitorsKept is the most visitors that are kept for later calls, and contextsAtOnce how
	// many contexts of calls are made at a time: one allocation for these, with the memory of
	// all as long as one is in use (bench border, call with offload).
	visitorsKept   = 64
	contextsAtOnce = 16
)
