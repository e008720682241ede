//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/examplebody"
)

// A C function becomes a Func once, usually as a package variable. In a program of your own the
// pointer is unsafe.Pointer(C.count_primes), and the Go types are those that the C function reads
// and writes:
//
//	struct range { uint32_t from, to; };
//	struct pipe { coro_chan *in, *out; };
//	struct shop { coro_mutex *lock; coro_cond *delivered; };
//	void count_primes(void *arg, void *result);  // arg: struct range
//	void collatz(void *arg, void *result);       // arg: uint64_t, result: uint32_t
//	void adder(void *arg, void *result);         // arg: uint32_t, result: uint32_t
//	void relay(void *arg, void *result);         // arg: coro_handle
//	void doubler(void *arg, void *result);       // arg: struct pipe, result: int64_t
//	void visitor(void *arg, void *result);       // arg: coro_sem *
//	void depositor(void *arg, void *result);     // arg: coro_mutex *
//	void buyer(void *arg, void *result);         // arg: struct shop
//	void auditor(void *arg, void *result);       // arg: coro_rwlock *, result: int64_t
//	void runner(void *arg, void *result);        // arg: coro_latch *
//	void user(void *arg, void *result);          // arg: coro_once *, result: int64_t
var (
	countPrimes = coro.MustFunc[examplebody.Range, coro.None](examplebody.CountPrimes)
	collatz     = coro.MustFunc[uint64, uint32](examplebody.Collatz)
	adder       = coro.MustFunc[uint32, uint32](examplebody.Adder)
	wordCount   = coro.MustFunc[int64, int64](examplebody.WordCount)
	doubler     = coro.MustFunc[examplebody.Pipe, int64](examplebody.Doubler)
	visitor     = coro.MustFunc[uintptr, coro.None](examplebody.Visitor)
	depositor   = coro.MustFunc[uintptr, coro.None](examplebody.Depositor)
	buyer       = coro.MustFunc[examplebody.Shop, coro.None](examplebody.Buyer)
	auditor     = coro.MustFunc[uintptr, int64](examplebody.Auditor)
	runner      = coro.MustFunc[uintptr, coro.None](examplebody.Runner)
	user        = coro.MustFunc[uintptr, int64](examplebody.User)
	relay       = coro.MustFunc[coro.Handle, coro.None](examplebody.Relay,
		coro.FuncName("relay"))
)

// check is how these examples treat an error that is not their subject.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Spawn a thousand coroutines and wait until all have ended. Each adds to a counter in C memory.
func Example() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	examplebody.ResetPrimes()
	for n := uint32(0); n < 1_000_000; n += 1000 {
		check(countPrimes.Spawn(s, examplebody.Range{From: n, To: n + 1000}))
	}
	check(s.Wait(ctx))
	fmt.Println(examplebody.PrimesFound(), "primes below a million")
	// Output: 78498 primes below a million
}

// NewFunc checks once what C cannot: that a type fits, and holds nothing that the garbage collector
// could move.
func ExampleNewFunc() {
	_, err := coro.NewFunc[string, uint32](examplebody.Collatz)
	fmt.Println(err)

	_, err = coro.NewFunc[[10]uint64, uint32](examplebody.Collatz)
	fmt.Println(err)

	_, err = coro.NewFunc[uint64, uint32](examplebody.Collatz, coro.FuncStack(64<<10),
		coro.FuncName("collatz"))
	fmt.Println(err)
	// Output:
	// coro: NewFunc(string): contains string, which points into Go: pass numbers, arrays and structs of them, a runtime/cgo.Handle, or C memory as a uintptr
	// coro: NewFunc([10]uint64): has 80 bytes, and at most 48 fit: pass the address of C memory, or a handle, instead
	// <nil>
}

// A hundred thousand sessions wait for a permit. Dense ones have no stacks meanwhile, only some
// hundred bytes each.
func ExampleFuncDense() {
	ctx := context.Background()
	s, err := coro.New(coro.WithWorkers(1))
	check(err)
	defer s.Close(ctx)

	session, err := coro.NewFunc[uintptr, coro.None](examplebody.Visitor, coro.FuncDense())
	check(err)
	permits, err := coro.NewSemaphore(s, 0)
	check(err)
	_, err = session.SpawnN(s, 100_000, permits.Address())
	check(err)
	for !s.Stats().Stalled { // nothing is left to do but to wait
		time.Sleep(time.Millisecond)
	}
	st := s.Stats()
	fmt.Println(st.Live, "wait, on fewer than 100 stacks:", st.Stacks < 100)
	check(permits.Release(1))
	fmt.Println(s.Wait(ctx), s.Stats().Live)
	// Output:
	// 100000 wait, on fewer than 100 stacks: true
	// <nil> 0
}

// A paused scheduler collects a batch; Run runs it to its end. Here the end is a deadlock: each of
// three coroutines waits for a permit, and would then pass one on to the next. Run tells, and a
// permit from outside sets it right.
func ExampleScheduler_Run() {
	ctx := context.Background()
	s, err := coro.New(coro.WithPaused())
	check(err)
	defer s.Close(ctx)

	var next coro.Handle
	for range 3 {
		task, err := relay.Start(s, next)
		check(err)
		next = task.Handle()
	}

	err = s.Run(ctx)
	fmt.Println(err)
	var deadlock *coro.DeadlockError
	if errors.As(err, &deadlock) {
		fmt.Println(deadlock.Count, "wait")
	}

	fmt.Println(next.Wake())
	fmt.Println(s.Run(ctx))
	fmt.Println(next.Wake())
	// Output:
	// coro: deadlock: 3 coroutines wait for ever; relay in park; relay in park; relay in park
	// 3 wait
	// <nil>
	// <nil>
	// coro: stale handle: its coroutine has ended
}

// Rest waits for the end of all that goroutines have begun, and tells if nothing will end it.
func ExampleScheduler_Rest() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	var next coro.Handle
	for range 2 { // each waits for a permit, and passes it on
		task, err := relay.Start(s, next)
		check(err)
		next = task.Handle()
	}
	fmt.Println(s.Rest(ctx))
	check(next.Wake())
	fmt.Println(s.Rest(ctx))
	// Output:
	// coro: deadlock: 2 coroutines wait for ever; relay in park; relay in park
	// <nil>
}

// The hook is called when everything rests, and coroutines are left: here a goroutine has forgotten
// to wake one.
func ExampleWithStallHook() {
	ctx := context.Background()
	stalled := make(chan int, 1)
	s, err := coro.New(coro.WithStallHook(func(blocked int) { stalled <- blocked }))
	check(err)
	defer s.Close(ctx)

	task, err := relay.Start(s, 0)
	check(err)
	fmt.Println("coroutines that wait:", <-stalled)
	check(task.Wake())
	fmt.Println(s.Wait(ctx))
	// Output:
	// coroutines that wait: 1
	// <nil>
}

// A Generator is one C coroutine that Go resumes by hand; it needs no scheduler.
//
//	intptr_t fibonacci(void *arg, intptr_t sent)
//	{
//		for (intptr_t a = 0, b = 1, next;; a = b, b = next) {
//			next = a + b;
//			coro_yield_value(a, NULL);
//		}
//	}
func ExampleGenerator() {
	g, err := coro.NewGenerator(examplebody.Fibonacci, 0, coro.StackMin)
	check(err)
	defer g.Close()

	for n, err := range g.All() {
		check(err)
		if n > 50 {
			break
		}
		fmt.Print(n, " ")
	}
	n, more, err := g.Resume(0) // it goes on where the loop left it
	fmt.Println(n, more, err)
	// Output: 0 1 1 2 3 5 8 13 21 34 89 true <nil>
}

// Close with a context that ends cancels: what has not started never will, and what is parked is
// told to end.
func ExampleScheduler_Close() {
	s, err := coro.New()
	check(err)
	if err := relay.Spawn(s, 0); err != nil { // nobody will ever wake it
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	fmt.Println(s.Close(ctx))
	fmt.Println(relay.Spawn(s, 0))
	fmt.Println(s.Close(context.Background())) // it has been closed
	// Output:
	// context deadline exceeded
	// coro: scheduler is closed
	// <nil>
}

// A C coroutine calls a Go function, which may take its time:
//
//	int64_t words;
//	coro_go_id id = coro_go_function("count words");
//	int status = coro_call_go(id, line, strlen(line), &words, sizeof words, NULL);
func ExampleExportFuncNamed() {
	_, err := coro.ExportFuncNamed("count words",
		func(ctx context.Context, line []byte) (int64, error) {
			words := bytes.Fields(line)
			if len(words) == 0 {
				return 0, errors.New("an empty line")
			}
			return int64(len(words)), nil
		})
	check(err)

	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)
	for line := range int64(3) {
		task, err := wordCount.Start(s, line)
		check(err)
		n, err := task.Wait(ctx)
		fmt.Println(n, err)
	}
	// Output:
	// 6 <nil>
	// -1 <nil>
	// 4 <nil>
}
