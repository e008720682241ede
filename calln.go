package coro

import (
	"context"
	"fmt"
	"unsafe"

	"github.com/organzine/coro/internal/core"
)

// A CallError is the error of one call of many.
type CallError struct {
	Index int   // of the call
	Err   error // as of Call
}

func (e *CallError) Error() string { return fmt.Sprintf("coro: call %d: %v", e.Index, e.Err) }

// Unwrap returns Err.
func (e *CallError) Unwrap() error { return e.Err }

// CallN runs f once for each element of args, each as a coroutine, and stores each result at the
// same index of results. It returns when all have ended. They start in the order of args, and run
// on the workers that are free, which steal from each other; the calling thread helps, if a worker
// sleeps, for as long as in [Func.Call]. An empty body costs some 15 to 20 ns, a sixth of a Call.
// Arguments and results are copied to and from C memory: some 50 bytes for each call, and the
// values, for 8192 calls at a time, or as many as 4 MiB have the values of.
//
// If calls end otherwise than with a result (see Task.Wait), CallN returns a *CallError of the
// first of them; the results of the others stand, and theirs are zero. When ctx ends first, CallN
// returns its cause: calls that have not started never will, those that have go on to their end,
// and of those at present no result is stored. If f borrows memory (see [Slice]), those that have
// started are canceled, and CallN returns when they have ended. results may be nil for a None.
// Besides the errors of Call, CallN returns an *OptionError if results is shorter than args.
//
// The Buffers of 8192 calls at a time pass before the first of these begins (see [Buffer]). A call
// whose own cannot be passed does not begin: its error is ErrStale or ErrBusy. The Buffers of a
// call that never begins for another reason are freed, and those of a result that is not stored.
// What was not passed is the caller's as before: its handle is not stale.
func (f Func[A, R]) CallN(ctx context.Context, s *Scheduler, args []A, results []R) error {
	if len(results) < len(args) && unsafe.Sizeof(*new(R)) > 0 {
		return &OptionError{"CallN", len(results), fmt.Sprintf(
			"has too few results: there are %d arguments", len(args))}
	}
	if err := s.ready(&f.spec); err != nil {
		return err
	}
	if f.spec.Flags&^core.Carries != 0 {
		return &OptionError{"CallN", "pinned, or a daemon",
			"runs functions on any worker: without OnWorker and Daemon"}
	}
	// After this no user's code can panic, while C has the calls.
	ctx, free := settle(ctx)
	defer free()
	var first error
	atOnce := int(min(callsAtOnce, callsBytes/(unsafe.Sizeof(*new(A))+unsafe.Sizeof(*new(R))+1)))
	for from := 0; ; from += atOnce {
		n := min(len(args)-from, atOnce)
		var to []R
		if len(results) > 0 {
			to = results[from:]
		}
		failed, err := f.callSome(ctx, s, args[from:from+n], to)
		if err != nil {
			return err
		}
		if failed != nil && first == nil {
			failed.Index += from
			first = failed
		}
		if from+n == len(args) {
			return first
		}
	}
}

// callSome is CallN of a part.
func (f *Func[A, R]) callSome(ctx context.Context, s *Scheduler, args []A, results []R) (
	*CallError, error,
) {
	many, ok := core.NewMany(&f.spec, len(args))
	if !ok {
		return nil, ErrNoMemory
	}
	var loan *core.Loan
	switch {
	case f.spec.Loan.Borrows():
		loan = f.spec.Loan.Fresh()
		for i := range args {
			loan.Pin(unsafe.Pointer(&args[i]))
			many.SetArg(i, unsafe.Pointer(&args[i]))
		}
	case unsafe.Sizeof(*new(A)) > 0:
		for i := range args {
			*(*A)(many.Arg(i)) = args[i]
		}
	}
	f.passMany(many, len(args))
	free := func() {
		s.leaders.Add(-1)
		many.Free()
		if loan != nil {
			loan.End()
		}
	}
	abandon := func() { // nobody gets the results
		f.dropMany(many, len(args))
		free()
	}
	left := func(t *Task[None]) { // the goroutine ends in a function that a call has called
		if loan == nil {
			t.whenDone(abandon)
			return
		}
		t.endHere()
		abandon()
	}
	s.leaders.Add(1)
	lead := Func[uintptr, None]{core.Spec{Fn: core.ManyLeader, Class: s.class, ArgBytes: 8}}
	address := many.Address()
	var l core.Lend
	at, err := s.lend(ctx, &lead.spec, unsafe.Pointer(&address), nil, &l)
	t, _, err := lead.callOn(ctx, s, &address, &l, at, err, left)
	switch {
	case err != nil && t != nil && loan == nil: // the calls go on
		t.whenDone(abandon)
		return nil, err
	case err != nil:
		if t != nil {
			t.endHere() // it is canceled by now
		} else {
			f.unpassMany(many, len(args))
		}
		abandon()
		return nil, err
	}
	defer free()
	var first *CallError
	if many.AllOK() {
		if unsafe.Sizeof(*new(R)) > 0 {
			for i := range args {
				results[i] = *(*R)(many.Result(i))
			}
		}
		return nil, nil
	}
	for i := range args {
		status, failure := many.Ended(i)
		switch {
		case status == core.OK && unsafe.Sizeof(*new(R)) > 0:
			results[i] = *(*R)(many.Result(i))
		case status != core.OK:
			if i < len(results) {
				results[i] = *new(R)
			}
			core.DropBuffers(many.Result(i), f.spec.Loan.ResultBuffers())
			if first == nil {
				first = &CallError{i, errorOfMany(status, failure)}
			}
		}
	}
	return first, nil
}

// passMany passes the buffers of n arguments, which many has copies of. A call with one that cannot
// be passed will not begin.
func (f *Func[A, R]) passMany(many core.Many, n int) {
	if f.spec.Flags&core.Carries == 0 {
		return
	}
	for i := range n {
		status := core.PassBuffers(many.Arg(i), f.spec.Loan.Buffers())
		if status != core.OK {
			many.Refuse(i, status)
		}
	}
}

// unpassMany takes passMany back, if the leader has never begun.
func (f *Func[A, R]) unpassMany(many core.Many, n int) {
	if f.spec.Flags&core.Carries == 0 || n == 0 || many.Begun() {
		return
	}
	for i := range n {
		core.UnpassBuffers(many.Arg(i), f.spec.Loan.Buffers())
		many.Refuse(i, core.Canceled)
	}
}

// dropMany frees the buffers of all results, and of arguments that no call will have: the leader
// has ended, perhaps without having begun.
func (f *Func[A, R]) dropMany(many core.Many, n int) {
	if f.spec.Flags&core.Carries == 0 {
		return
	}
	for i := range n {
		if !many.Begun() {
			core.DropBuffers(many.Arg(i), f.spec.Loan.Buffers())
		}
		core.DropBuffers(many.Result(i), f.spec.Loan.ResultBuffers())
	}
}

// errorOfMany is errorOf, also of a call whose buffers could not be passed.
func errorOfMany(status core.Status, failure *core.Failure) error {
	if status == core.Stale || status == core.Busy {
		return bufferStatus(status)
	}
	return errorOf(status, failure)
}
