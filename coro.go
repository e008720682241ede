// Package coro runs very many small C coroutines on a work-stealing pool of threads, driven from
// Go.
//
// A coroutine is a C function with a small stack of its own. It can stop in the middle and go on
// later, on any worker thread. Switching costs 3 to 5 ns and spawning about 5 ns, a tenth and less
// of what goroutines cost; a blocked coroutine holds one page and 128 bytes. Use coro for hot paths
// that are made of very many short, cooperating activities, such as the connections of a protocol
// that a C body parses ([Scheduler.Serve]). Do not use it for Go handlers that mostly wait for the
// network, or for what runs for milliseconds without a pause: there goroutines are better. A
// coroutine that needs Go in between has a Go function for its body: it runs beside the C bodies,
// and a switch costs as much as an [iter.Pull].
//
// # How the parts fit
//
// A [Func] is a C function with the Go types of its argument and result. A [Scheduler] has worker
// threads, which are neither goroutines nor Go's threads. Go hands coroutines over without a cgo
// call: [Func.Spawn] one by one, [Func.SpawnN], [Func.SpawnSeq] and [Batch] many at once,
// [Func.Start] one whose result a [Task] waits for. [Scheduler.Wait] waits until nothing is left.
// [Scheduler.Run] does the same for a paused batch, and tells an exact end from a deadlock.
//
// [Func.Call] is for a goroutine that needs one result before it goes on: it runs the coroutine on
// the goroutine's own thread, which stands in for a worker that sleeps, so that no thread is woken.
// [Func.CallN] does that for many arguments. [FuncBrief] declares that a body needs microseconds
// from one wait to the next: then a goroutine that starts one, or wakes one by a channel or a lock,
// runs it in the same way. C code then runs on Go's threads: [docs/border.md] says what that means,
// and [WithoutLending] turns all of it off.
//
// With [Func.StartContext] the end of a context cancels a coroutine wherever it waits;
// [Task.Cancel] does it at once. A [Group] is a [Scope], as a Scheduler is: its tasks are waited
// for, and canceled, together. Package corotest finds what tests leave behind.
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
// Inside, C code uses coro.h: coro_spawn, coro_yield, coro_park, coro_wake, coro_join and the rest.
// The command github.com/organzine/coro/cmd/coro writes that header next to your code.
//
// Package generator resumes single C coroutines by hand.
//
// # Go bodies
//
// [Go] and [GoContext] start a coroutine whose body is a Go function. The body gets a [Coroutine],
// by which it yields, parks, wakes others, sleeps, and, by [Await], waits for tasks; meanwhile its
// executor, one of a few goroutines ([WithExecutors]), runs others. C and Go bodies of a scheduler
// wake, join and cancel each other by their handles, and are waited for together.
//
//	total, err := coro.Go(s, func(c *coro.Coroutine) (int, error) {
//		part, err := coro.Go(c.Scheduler(), count)
//		…
//		return coro.Await(c.Context(), c, part)
//	})
//
// A panic in a Go body is the task's error, a [*PanicError].
//
// A [Group] holds tasks of either kind that end together: the first error cancels the rest.
// [Completions] yields tasks as they end.
//
// # Contexts
//
// A context given to a call that waits bounds that wait alone. When the context ends first, the
// call returns its cause, in an error in which [errors.Is] finds both [context.Cause] of it and its
// Err, and has taken nothing. A call takes what is there already even if its context has ended;
// Scheduler.Run and SpawnWait look at the context first.
//
// A context given to a call that starts a coroutine ([Func.StartContext], [GoContext], [NewGroup])
// belongs to the coroutine: its end cancels the coroutine. A context that has ended starts nothing:
// StartContext and GoContext return its cause, and so does every start in a Group of such a
// context. The error of a coroutine that ends by the cancel is [context.Cause] of that context.
// Contexts that are derived from it, of Go bodies ([Coroutine.Context]) and of Go functions that C
// bodies call ([ExportFunc]), have its values, its deadline, and, when it ends, its Err and its
// cause. A cancel that comes by no context ([Task.Cancel], coro_cancel, [Scheduler.Close]) has the
// cause [ErrCanceled]. Coroutines that C bodies spawn inherit no context.
//
// A panic in a method of a context goes on to the caller, and leaves nothing held. What a coroutine
// was started with is asked for its end and its cause when it is started, and never later.
//
// A Go body that passes its [Coroutine.Context], or a context derived from it, to a method of Chan,
// Semaphore, Mutex and the others is suspended while it waits; with any other context its goroutine
// waits, and keeps the executor. The methods of Coroutine take any context. The cancel of the body
// ends each of these waits, whatever the context. A wait with the body's own context, or with
// context.Background(), costs least.
//
// # Waiting for oneself
//
// A coroutine that would wait for its own end gets [ErrInside] at once, from [Await], [Task.Wait],
// [Group.Wait], [Scheduler.Wait] and [Scheduler.Close], and so does a Go function that the
// coroutine has called. Two that await each other are a deadlock, which Run and WithStallHook
// report.
//
// # In tests with testing/synctest
//
// The package does not work in a bubble of testing/synctest: its threads are outside, and the
// bubble's clock stands still while a goroutine waits for them. [New] and each call that would wait
// return [ErrBubble] there, and so do starts with a context that may end; [Task.Done] panics with
// it. What does not wait works. Package actor works in a bubble.
//
// # What cannot be protected
//
// No call of this package corrupts memory, whatever it is given, but for the C function pointer
// itself: NewFunc cannot check what it points to, and of its parameters only the size and the
// alignment, where CORO_BODY defines it. A C body with a stray pointer does what C does. A C body
// calls Go by coro_call_go and coro_call_go_inline, see [ExportFunc], and in no other way.
//
// Each method of a zero value of Chan, Semaphore, Mutex, RWMutex, WaitGroup, Cond and Once panics, and names the function that makes one. A copy of such a value is the same
// object, and keeps its memory; go vet reports the copy, and so a pointer is better.
//
// A fault in C ends the process: a stray pointer, a stack overflow, abort. Before, a line on stderr
// tells the signal, the address, the instruction, the coroutine's function by its [FuncName] or
// address, its handle, its worker and scheduler, and, of an overflow, the size of its stack.
// Package symbolize adds the C frames. [docs/debugging.md] has more.
//
// [docs/border.md]: https://github.com/organzine/coro/blob/main/docs/border.md
// [docs/debugging.md]: https://github.com/organzine/coro/blob/main/docs/debugging.md
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
