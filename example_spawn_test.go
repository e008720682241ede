//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/examplebody"
)

// Start a coroutine whose result is wanted.
func ExampleFunc_Start() {
	s, err := coro.New(coro.WithWorkers(2), coro.WithName("collatz"))
	check(err)
	defer s.Close(context.Background())

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var tasks []*coro.Task[uint32]
	for _, n := range []uint64{6, 27, 97, 871} {
		task, err := collatz.Start(s, n)
		check(err)
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		steps, err := task.Wait(ctx)
		fmt.Println(steps, err)
	}
	// Output:
	// 8 <nil>
	// 111 <nil>
	// 118 <nil>
	// 178 <nil>
}

// Call a C coroutine as a function. While a worker sleeps, the coroutine runs on the goroutine's
// own thread.
func ExampleFunc_Call() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	for _, n := range []uint64{6, 27, 77031} {
		steps, err := collatz.Call(ctx, s, n)
		fmt.Println(steps, err)
	}
	// Output:
	// 8 <nil>
	// 111 <nil>
	// 350 <nil>
}

// Make many calls at once, each a coroutine. The results have the order of the arguments.
func ExampleFunc_CallN() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	numbers := []uint64{6, 27, 97, 871}
	steps := make([]uint32, len(numbers))
	fmt.Println(collatz.CallN(ctx, s, numbers, steps), steps)
	// Output: <nil> [8 111 118 178]
}

// A body that answers within some microseconds, and never blocks its thread, may be declared brief.
// Then it runs on the thread of the goroutine that sends to it: no other thread is woken for that.
//
//	void doubler(void *arg, void *result)
//	{
//		const struct pipe p = *(struct pipe *)arg;
//		int64_t value, n = 0;
//
//		while (coro_chan_recv(p.in, &value, CORO_FOREVER) == CORO_OK) {
//			value *= 2;
//			if (coro_chan_send(p.out, &value, CORO_FOREVER))
//				break;
//			n++;
//		}
//		coro_chan_close(p.out);
//		*(int64_t *)result = n;
//	}
func ExampleFuncBrief() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	brief, err := coro.NewFunc[examplebody.Pipe, int64](examplebody.Doubler, coro.FuncBrief())
	check(err)
	requests, err := coro.NewChan[int64](s, 0)
	check(err)
	answers, err := coro.NewChan[int64](s, 0)
	check(err)
	task, err := brief.Start(s, examplebody.Pipe{In: requests.Address(), Out: answers.Address()})
	check(err)
	for n := range int64(3) {
		check(requests.Send(ctx, n))
		fmt.Println(answers.Recv(ctx))
	}
	check(requests.Close())
	fmt.Println(task.Wait(ctx))
	// Output:
	// 0 <nil>
	// 2 <nil>
	// 4 <nil>
	// 3 <nil>
}

// Spawn very many: a Batch hands them over up to 128 at a time, for a few nanoseconds each.
func ExampleBatch() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	examplebody.ResetPrimes()
	batch := countPrimes.Batch(s)
	for n := uint32(0); n < 100_000; n += 10 {
		check(batch.Add(examplebody.Range{From: n, To: n + 10}))
	}
	check(batch.Flush()) // starts what is still in it
	check(s.Wait(ctx))
	fmt.Println(examplebody.PrimesFound(), "primes below a hundred thousand")
	// Output: 9592 primes below a hundred thousand
}

// SpawnSeq takes the arguments from an iterator.
func ExampleFunc_SpawnSeq() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	examplebody.ResetPrimes()
	hundreds := func(yield func(examplebody.Range) bool) {
		for n := uint32(0); n < 10_000; n += 100 {
			if !yield(examplebody.Range{From: n, To: n + 100}) {
				return
			}
		}
	}
	started, err := countPrimes.SpawnSeq(s, hundreds)
	fmt.Println(started, err)
	fmt.Println(s.Wait(ctx), examplebody.PrimesFound())
	// Output:
	// 100 <nil>
	// <nil> 1229
}

// Coroutines that use the same things stay together, on one worker.
func ExampleFunc_OnWorker() {
	ctx := context.Background()
	s, err := coro.New(coro.WithWorkers(2))
	check(err)
	defer s.Close(ctx)

	task, err := collatz.OnWorker(1).Start(s, 27)
	check(err)
	fmt.Println(task.Wait(ctx))
	fmt.Println(collatz.OnWorker(2).Spawn(s, 27))
	// Output:
	// 111 <nil>
	// coro: OnWorker(2): the scheduler has workers 0 to 1: see WithWorkers
}

// A context given at the start cancels the coroutine when it ends: coro_park returns
// CORO_ECANCELED, and the body decides what that means. This one has a result if it has added
// anything, and says so; else it is canceled.
//
//	void adder(void *arg, void *result)
//	{
//		uint32_t start = *(uint32_t *)arg, sum = start;
//
//		while (coro_park() == CORO_OK)
//			sum += start;
//		*(uint32_t *)result = sum;
//		if (sum != start)
//			coro_exit_finished();
//	}
func ExampleFunc_StartContext() {
	s, err := coro.New()
	check(err)
	defer s.Close(context.Background())

	ctx, cancel := context.WithCancelCause(context.Background())
	task, err := adder.StartContext(ctx, s, 5)
	check(err)
	steps, err := collatz.StartContext(ctx, s, 77031)
	check(err)
	fmt.Println(steps.Wait(context.Background()))
	cancel(errors.New("enough of that"))
	fmt.Println(task.Wait(context.Background()))
	// Output:
	// 350 <nil>
	// 0 enough of that
}
