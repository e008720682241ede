// Package coro runs very many small C coroutines on a work-stealing pool of threads, driven from
// Go.
//
// A coroutine is a C function with a small stack of its own. It can stop in the middle and go on
// later, on any worker thread. A switch, or a spawn, costs a small part of a cgo call, and a tenth
// and less of what goroutines take; a blocked coroutine holds one page and 128 bytes. Use coro for
// hot paths that are made of very many short, cooperating activities, such as the connections of a
// protocol that a C body parses ([Scheduler.Serve]). Goroutines are better for Go handlers that
// mostly wait for the network, and for what runs for milliseconds without a pause. A coroutine that
// needs Go in between has a Go function for its body ([Go], [Coroutine]).
//
//	var hello = coro.MustFunc[Greeting, coro.None](unsafe.Pointer(C.hello))
//
//	s, err := coro.New()
//	if err != nil { … }
//	defer s.Close(context.Background())
//	err = hello.Spawn(s, Greeting{Times: 3})
//	…
//	err = s.Wait(ctx)
//
// A [Func] is a C function with the Go types of its argument and result. A [Scheduler] has worker
// threads, which are neither goroutines nor Go's threads. [Func.Spawn], [Func.SpawnN] and [Batch]
// hand coroutines over without a cgo call. [Func.Start] starts one whose result a [Task] waits for,
// and [Func.Call] runs one on the goroutine's own thread ([docs/border.md]). [For] divides a range
// among the workers, and C bodies fork and join ([docs/fork.md]). A [Group] is tasks that end
// together. Chan, Mutex and the others are between coroutines, C or Go, and goroutines.
// Package generator resumes single C coroutines by hand; corotest finds what tests leave behind.
//
// Inside, C code uses coro.h: coro_spawn, coro_yield, coro_park, coro_wake, coro_join and the rest.
// The command github.com/organzine/coro/cmd/coro writes that header next to your code.
//
// [docs/rules.md] has what holds for all calls: contexts, waiting for oneself, tests with
// testing/synctest, copies and zero values, and what no call can protect. [docs/memory.md] tells
// for how long each call lends memory. [docs/overview.md] lists all that there is.
//
// [docs/border.md]: https://github.com/organzine/coro/blob/main/docs/border.md
// [docs/fork.md]: https://github.com/organzine/coro/blob/main/docs/fork.md
// [docs/memory.md]: https://github.com/organzine/coro/blob/main/docs/memory.md
// [docs/overview.md]: https://github.com/organzine/coro/blob/main/docs/overview.md
// [docs/rules.md]: https://github.com/organzine/coro/blob/main/docs/rules.md
package coro

import (
	"fmt"
	"strconv"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/race"
)

// coro.go - handles: the names of coroutines.

// None is the type of no argument or no result.
type None = struct{}

// A Handle names one coroutine and never another. It may be given to C bodies, as a coro_handle,
// and kept for any time: when its coroutine has ended the handle is stale, and every use returns
// ErrStale.
//
// A Handle prints as gdb and reports of crashes print it, with 0x and in base 16; the verbs for
// numbers print the number.
type Handle uint64

func (h Handle) String() string { return "0x" + strconv.FormatUint(uint64(h), 16) }

// Format prints h as its String for the verbs v, s and q, and as a number for the others.
func (h Handle) Format(f fmt.State, verb rune) {
	switch verb {
	case 'v', 's':
		fmt.Fprintf(f, fmt.FormatString(f, 's'), h.String())
	case 'q':
		fmt.Fprintf(f, fmt.FormatString(f, 'q'), h.String())
	default:
		fmt.Fprintf(f, fmt.FormatString(f, verb), uint64(h))
	}
}

// Wake gives the coroutine a permit: if it waits in coro_park it goes on, else its next coro_park
// does not wait. Wake never blocks; it costs a cgo call and one push to another thread. It returns
// ErrStale if the coroutine has ended, ErrOverflow if it already has 2²⁸ permits. Those of a Go
// body are counted when its executors come to them: until then it may be given some more than that,
// and none is lost.
func (h Handle) Wake() error {
	race.Handles.Release()
	return statusError(core.Wake(uint64(h)), ofScheduler)
}

// Cancel tells the coroutine to end. The wait that it is in, or else each one to come, returns
// CORO_ECANCELED, so that its body ends through its own clean-up; a coroutine that has not started
// never will. Cancel does not wait for the end. What is there already is taken first: coro_park
// takes a permit, coro_join a result. A body that never waits may ask coro_canceled. Each Cancel
// costs what Wake costs. It returns ErrStale if the coroutine has ended.
func (h Handle) Cancel() error {
	race.Handles.Release()
	return statusError(core.Cancel(uint64(h)), ofScheduler)
}
