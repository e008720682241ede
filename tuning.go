package coro

import (
	"time"

	"github.com/organzine/coro/internal/core"
)

// The figures of this package that are tuning: with others it would be slower, or less fair, and no
// less right. Each has its unit, its reason, and where its figure stands. What a user may set has
// its figure as the default of the option, and bounds of values stand with the types.

// Calls and starts: call.go, calln.go, spawn.go, scheduler.go.
const (
	// helps is how long the thread of a Call or CallN runs what the coroutine has spawned, while
	// nothing else wants the worker. To go on on the worker's own thread would cost two
	// wake-ups. After 10 ms Go's monitor takes the goroutine's P away in any case
	// (docs/border.md; bench border, children).
	helps = 10 * time.Millisecond

	// helpsBriefly is that time where the context may end: the end is not heard meanwhile
	// (docs/border.md).
	helpsBriefly = 100 * time.Microsecond

	// callsAtOnce is the most calls that CallN makes together: some 400 KiB of C memory, and the
	// values (docs/border.md; bench border, call-n).
	callsAtOnce = 1 << 13

	// callsBytes is the most bytes of values of such calls, where they are large: then fewer go
	// together, but 512 of the largest.
	callsBytes = 4 << 20

	// spawnChunk is the most coroutines that one cgo call of SpawnN spawns: about 100 µs, in
	// which the submitter is held (bench spawn).
	spawnChunk = 1 << 16

	// submittersPerP is how many submitters there are for each P, at least. Goroutines choose
	// one by the address of their stacks, and two seldom the same (bench spawn).
	submittersPerP = 4
)

// Waits of goroutines: task.go, object.go, meet.go, chan.go.
const (
	// lookFor is how long Task.Wait looks for the end before it sleeps, and lookLong how long
	// where that pays: as long as two wake-ups of threads (docs/benchmarks.md, "How Go is told";
	// bench wait).
	lookFor  = 2 * time.Microsecond
	lookLong = 50 * time.Microsecond

	// tryFor is how long a goroutine tries at an object before it sleeps, and tryLong how long
	// where that pays: about what it takes to wake both sides (bench chan).
	tryFor  = 8 * time.Microsecond
	tryLong = 100 * time.Microsecond

	// callsInARow is how many values are tried by cgo at first, once a value had to be passed so:
	// the other end sleeps, rather than looks for values. It is sampleMost, so that one of them
	// at least is looked at, whatever the channel's mask is (bench chan; docs/rent.md, meet).
	callsInARow = sampleMost

	// A goroutine that waits for what is certain to come, and has no poller any more, sleeps for
	// lookPauseLeast between two looks, and twice as long each time, up to lookPause. That is in
	// the last moment of Close alone: no figure.
	lookPauseLeast = time.Microsecond
	lookPause      = time.Millisecond

	// garbageMost is the most garbage, bytes, that is made at once for the garbage collector to
	// see memory of C. A larger object is collected later: no figure.
	garbageMost = 1 << 20

	// exposuresLeast is the number of objects whose addresses C has, from which on they are looked
	// through for some that C has given up: no figure.
	exposuresLeast = 64
)

// Go bodies, and what comes to Go from C: bodies.go, executor.go, poller.go.
const (
	// poolShare is the most bodies that an executor takes from the pool's queue at once. The
	// rest is for the other executors (bench body).
	poolShare = 64

	// itemsAtOnce is the most runnable bodies that are taken from C's list at once (bench body).
	itemsAtOnce = 64

	// poolSpins is how often an executor looks at the inbox before it becomes idle, spin.Turns
	// turns of a loop apart: 1 µs, less than a wake-up (bench body).
	poolSpins = 40

	// poolStandIns is the most executors besides those that the user wants, while those are
	// stuck. Each is a goroutine (docs/bodies.md).
	poolStandIns = 256

	// goroutinesKept is the most idle goroutines of ended bodies that are kept for the next ones
	// (bench body, starts).
	goroutinesKept = 256

	// lookLeast and lookMost are the times between two looks of the poller for executors that
	// are stuck: at first, and after looks that have found none (docs/bodies.md).
	lookLeast = 200 * time.Microsecond
	lookMost  = 10 * time.Millisecond

	// stirLess: an executor takes from another if it has less than half as much to do, and this
	// less, in bodies (docs/fairness.md; bench fair).
	stirLess = 8
)

// Waits of Go bodies that end at once: budget.go.
const (
	// budgetTurn is how long a turn of such waits may be (docs/fairness.md; bench fair).
	budgetTurn = 20 * time.Microsecond

	// waitsMost is the most waits from one look at the clock to the next. A body whose waits
	// become long goes on for twice as many (docs/fairness.md).
	waitsMost = 256

	// One wait in sampleFirst is looked at, to begin with, and one in sampleMost at least: to
	// find out whether the caller is a body takes 5 ns, half of a short wait (docs/fairness.md,
	// "What fairness costs").
	sampleFirst = core.SampleFirst
	sampleMost  = 64
)

// The end, and what is told: close.go, scheduler.go, funcstats.go, serve.go.
const (
	// closeGrace is how long Close waits for canceled coroutines to end by themselves, and
	// closeLook the time between two looks whether only calls go on for which none waits
	// (Scheduler.Close).
	closeGrace = time.Second
	closeLook  = 10 * time.Millisecond

	// blockedShown is the most coroutines that a DeadlockError lists.
	blockedShown = 64

	// crowdLook is the time between two looks for functions with too many coroutines. A look
	// may stop each worker for a moment (WithCrowdHook).
	crowdLook = 250 * time.Millisecond

	// serveGrace and serveLinger are what ServeGrace and ServeLinger set (docs/io.md).
	serveGrace  = 10 * time.Second
	serveLinger = 2 * time.Second
)
