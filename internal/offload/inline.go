package offload

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/table"
)

// pools has the pools that are open, by the ids that their schedulers' calls come with.
var pools table.Table[Pool]

func init() { core.RegisterInline(inlineCalls) }

// inlineCalls makes a worker's inline calls, on its thread, as long as the thread lives. The
// goroutine is locked to the thread: so the runtime never starts a thread from this one, which
// would have the worker's name and CPU.
func inlineCalls(calls core.Calls) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for p := pools.At(calls.ID()); !inlineUntilPanic(p, &calls); {
	}
}

// inlineUntilPanic returns false after a panic, which has ended its call.
func inlineUntilPanic(p *Pool, calls *core.Calls) (ended bool) {
	var own *callContext // of the present call, if it has one of its own
	defer func() {
		if own != nil {
			own.end(context.Canceled)
		}
		if !ended {
			c := calls.At(calls.Begun() - 1)
			left := true // the function, or a method of what it has panicked with, by Goexit
			defer func() {
				if left {
					leftInline(find(c.ID()))
				}
			}()
			if v := recover(); v != nil {
				panicked(c, v)
				left = false
			}
		}
	}()
	for {
		p.Edge.Acquire()
		for i, n := calls.Begun(), calls.Len(); i < n; {
			c := calls.At(i)
			if f := find(c.ID()); f.Accepts(c) {
				if caller := p.caller(c); caller == nil {
					i = f.Inline(p.Context, *calls, i, p.together(i, n))
				} else {
					own = &callContext{pool: p, caller: caller}
					i = f.Inline(own, *calls, i, i+1)
					own.end(context.Canceled)
				}
			} else {
				calls.Begin(i, c)
				f.refuse(c)
				i++
			}
		}
		p.Edge.Release()
		if !calls.Next() {
			return true
		}
	}
}

// together is how far calls may be made together, from i on, without a look at their callers.
func (p *Pool) together(i, n int) int {
	if p.Contexts.Load() {
		return i + 1
	}
	return n
}

// leftInline ends the process, and says why. The goroutine cannot end alone: below the call lie
// frames of C, which are to return. Go's runtime would end the process on a thread that C has made,
// but not on that of RunMain, where it would leave a thread that still counts as a worker. The
// stack shows what has left.
func leftInline(f *Func) {
	fmt.Fprintf(os.Stderr,
		"coro: runtime.Goexit (or FailNow of a test) in the Go function %s, "+
			"which was called inline, by coro_call_go_inline: this ends the process\n%s",
		f.Name, debug.Stack())
	os.Exit(2)
}
