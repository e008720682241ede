//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"runtime"
	"time"
	"unsafe"

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

	_, err = coro.NewFunc[[1000]uint64, uint32](examplebody.Collatz)
	fmt.Println(err)

	_, err = coro.NewFunc[uint64, uint32](examplebody.Collatz, coro.FuncStack(64<<10),
		coro.FuncName("collatz"))
	fmt.Println(err)
	// Output:
	// coro: NewFunc(string): contains string, which points into Go: pass numbers, arrays and structs of them, a runtime/cgo.Handle, C memory as a uintptr, or, in the argument of a Func, Go memory as a coro.Slice
	// coro: NewFunc([1000]uint64): has 8000 bytes, and at most 4096 fit: have a coro.Slice in the argument, or pass the address of C memory, instead
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

// A coroutine may have a Go function for its body, which returns anything.
func ExampleGo() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	var tasks []*coro.Task[string]
	for _, word := range []string{"level", "coroutine", "noon"} {
		task, err := coro.Go(s, func(c *coro.Coroutine) (string, error) {
			for i, j := 0, len(word)-1; i < j; i, j = i+1, j-1 {
				if word[i] != word[j] {
					return "", fmt.Errorf("%s is no palindrome", word)
				}
				if err := c.Yield(); err != nil { // the others have their turn
					return "", err
				}
			}
			return word, nil
		})
		check(err)
		tasks = append(tasks, task)
	}
	for _, task := range tasks {
		fmt.Println(task.Wait(ctx))
	}
	// Output:
	// level <nil>
	//  coroutine is no palindrome
	// noon <nil>
}

// A panic in a Go body ends that coroutine alone.
func ExamplePanicError() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	task, err := coro.Go(s, func(*coro.Coroutine) (int, error) { panic("out of cheese") })
	check(err)
	_, err = task.Wait(ctx)
	var p *coro.PanicError
	if errors.As(err, &p) {
		fmt.Println("it said:", p.Value)
	}
	// Output: it said: out of cheese
}

// A Go body starts C bodies and waits for them; other bodies run meanwhile.
func ExampleTask_Await() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	task, err := coro.Go(s, func(c *coro.Coroutine) (sum uint32, err error) {
		var tasks []*coro.Task[uint32]
		for _, n := range []uint64{6, 27, 97, 871} {
			task, err := collatz.Start(c.Scheduler(), n)
			if err != nil {
				return 0, err
			}
			tasks = append(tasks, task)
		}
		for _, task := range tasks {
			steps, err := task.Await(c.Context(), c)
			if err != nil {
				return 0, err
			}
			sum += steps
		}
		return sum, nil
	})
	check(err)
	fmt.Println(task.Wait(ctx))
	// Output: 415 <nil>
}

// Two Go bodies take turns: each waits for a permit from the other. Permits are counted: none is
// lost if it comes before the other waits.
func ExampleCoroutine_Park() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	partner := make(chan coro.Handle, 1)
	pong, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
		ping := <-partner
		for range 3 {
			if err := c.Park(c.Context()); err != nil {
				return coro.None{}, err
			}
			fmt.Println("pong")
			if err := c.Wake(ping); err != nil {
				return coro.None{}, err
			}
		}
		return coro.None{}, nil
	})
	check(err)
	ping, err := coro.Go(s, func(c *coro.Coroutine) (coro.None, error) {
		partner <- c.Handle()
		for range 3 {
			fmt.Println("ping")
			if err := errors.Join(c.Wake(pong.Handle()),
				c.Park(c.Context())); err != nil {
				return coro.None{}, err
			}
		}
		return coro.None{}, nil
	})
	check(err)
	for _, task := range []*coro.Task[coro.None]{ping, pong} {
		_, err := task.Wait(ctx)
		check(err)
	}
	// Output:
	// ping
	// pong
	// ping
	// pong
	// ping
	// pong
}

// A Group is tasks that end together: the first error cancels the others, and Wait returns when all
// have ended.
func ExampleGroup() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	g := coro.NewGroup(ctx, s)
	for n := range uint32(3) {
		_, err := adder.Start(g, n) // adds until it is canceled
		check(err)
	}
	_, err = coro.Go(g, func(c *coro.Coroutine) (string, error) {
		return "", errors.New("out of paper")
	})
	check(err)
	fmt.Println(g.Wait(ctx))
	// Output: out of paper
}

// Completions yields tasks as they end.
func ExampleCompletions() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	start := map[*coro.Task[uint32]]uint64{}
	var tasks []*coro.Task[uint32]
	for n := uint64(1); n <= 1000; n++ {
		task, err := collatz.Start(s, n)
		check(err)
		start[task] = n
		tasks = append(tasks, task)
	}
	most, from := uint32(0), uint64(0)
	for task, err := range coro.Completions(ctx, tasks...) {
		check(err)
		if steps, _ := task.Wait(ctx); steps > most {
			most, from = steps, start[task]
		}
	}
	fmt.Println(most, "steps from", from)
	// Output: 178 steps from 871
}

// Echo is a C body that reads and writes a connection, and closes it at its end:
//
//	void echo(void *arg, void *result)
//	{
//		coro_fd f = *(coro_fd *)arg;
//		char bytes[1024];
//		int64_t n;
//
//		while ((n = coro_read(f, bytes, sizeof bytes, CORO_FOREVER)) > 0)
//			if (coro_write_all(f, bytes, n, NULL, CORO_FOREVER) != CORO_OK)
//				break;
//		coro_fd_close(f);
//	}
var echoes = coro.MustFunc[coro.FD, coro.None](examplebody.Echo)

// Go accepts a connection, and a C coroutine serves it.
func ExampleScheduler_Adopt() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		check(err)
		fd, err := s.Adopt(conn.(*net.TCPConn))
		check(err)
		check(echoes.Spawn(s, fd))
	}()

	fmt.Println(answerTo("hello, C", l.Addr()))
	// Output: hello, C
}

// No goroutine has a part in what is served, but that Serve returns to.
func ExampleScheduler_Serve() {
	s, err := coro.New()
	check(err)
	defer s.Close(context.Background())

	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	ctx, quit := context.WithCancelCause(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, l, echoes) }()
	fmt.Println(answerTo("one", l.Addr()))
	fmt.Println(answerTo("two", l.Addr()))
	quit(errors.New("enough")) // closes l, and lets connections finish
	fmt.Println(<-served)
	// Output:
	// one
	// two
	// enough
}

// answerTo is what a server sends back to text.
func answerTo(text string, at net.Addr) string {
	conn, err := net.Dial(at.Network(), at.String())
	check(err)
	defer conn.Close()
	_, err = io.WriteString(conn, text)
	check(err)
	check(conn.(*net.TCPConn).CloseWrite())
	answer, err := io.ReadAll(conn)
	check(err)
	return string(answer)
}

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

// Divide a range among the workers. The C function writes into a slice of Go's, which is pinned
// until For has returned.
//
//	void sieve(int64_t from, int64_t to, void *arg)
//	{
//		const struct sieve *s = arg;
//
//		for (int64_t n = from; n < to; n++)
//			s->prime[n] = is_prime(n);
//	}
func ExampleFor() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)
	sieve, err := coro.NewRangeFunc[examplebody.Primes](examplebody.Sieve)
	check(err)

	prime := make([]bool, 100_000)
	var pin runtime.Pinner
	pin.Pin(&prime[0])
	defer pin.Unpin()
	arg := examplebody.Primes{Prime: uintptr(unsafe.Pointer(&prime[0]))}
	check(coro.For(ctx, s, len(prime), 1000, sieve, arg))
	fmt.Println(prime[99_989], prime[99_991])
	// Output: true true
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

// A goroutine feeds a C coroutine through one channel, and receives from it through another, until
// that is closed.
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
func ExampleChan() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	in, err := coro.NewChan[int64](s, 16)
	check(err)
	out, err := coro.NewChan[int64](s, 16)
	check(err)
	task, err := doubler.Start(s, examplebody.Pipe{In: in.Address(), Out: out.Address()})
	check(err)
	go func() {
		for n := range int64(5) {
			if err := in.Send(ctx, n); err != nil {
				log.Print(err)
			}
		}
		in.Close()
	}()
	for n, err := range out.All(ctx) {
		check(err)
		fmt.Println(n)
	}
	_, err = out.Recv(ctx)
	fmt.Println(err)
	fmt.Println(task.Wait(ctx))
	// Output:
	// 0
	// 2
	// 4
	// 6
	// 8
	// coro: channel is closed
	// 5 <nil>
}

// A goroutine feeds a C coroutine and takes what comes back, in whatever order that is possible.
func ExampleSelect() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	in, err := coro.NewChan[int64](s, 0)
	check(err)
	out, err := coro.NewChan[int64](s, 0)
	check(err)
	check(doubler.Spawn(s, examplebody.Pipe{In: in.Address(), Out: out.Address()}))
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	source := in
	for next, sum := int64(1), int64(0); ; {
		var twice int64
		i, err := coro.Select(ctx, coro.OnSend(source, next), coro.OnRecv(out, &twice))
		switch {
		case errors.Is(err, coro.ErrChanClosed):
			fmt.Println(sum)
			return
		case err != nil:
			log.Fatal(err)
		case i == 1:
			sum += twice
		case next == 100:
			in.Close()
			source = nil // never again
		default:
			next++
		}
	}
	// Output: 10100
}

// A Semaphore lets three C coroutines in at a time. Each gives its permit back: in the end all
// three are there again.
//
//	void visitor(void *arg, void *result)
//	{
//		coro_sem *permits = *(coro_sem **)arg;
//
//		if (coro_sem_acquire(permits, CORO_FOREVER))
//			return; // canceled: no permit was taken
//		if (++inside > most_inside)
//			most_inside = inside;
//		coro_yield();
//		inside--;
//		coro_sem_release(permits, 1);
//	}
func ExampleSemaphore() {
	ctx := context.Background()
	s, err := coro.New(coro.WithWorkers(1), coro.WithPaused())
	check(err)
	defer s.Close(ctx)

	permits, err := coro.NewSemaphore(s, 3)
	check(err)
	_, err = visitor.SpawnN(s, 100, permits.Address())
	check(err)
	fmt.Println(s.Run(ctx), examplebody.MostInside(), "at once")

	for {
		ok, err := permits.TryAcquire()
		check(err)
		if !ok {
			break
		}
		fmt.Println("a permit")
	}
	// Output:
	// <nil> 3 at once
	// a permit
	// a permit
	// a permit
}

// C coroutines and a goroutine change a number in C memory, one at a time.
//
//	void depositor(void *arg, void *result)
//	{
//		coro_mutex *lock = *(coro_mutex **)arg;
//
//		if (coro_mutex_lock(lock, CORO_FOREVER))
//			return; // canceled: it is not locked
//		int64_t before = goods;
//		coro_yield(); // nobody else comes in between
//		goods = before + 1;
//		coro_mutex_unlock(lock);
//	}
func ExampleMutex() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	lock, err := coro.NewMutex(s)
	check(err)
	goods := examplebody.Goods()
	*goods = 0
	_, err = depositor.SpawnN(s, 100, lock.Address())
	check(err)
	for range 100 {
		check(lock.Lock(ctx))
		*goods++
		check(lock.Unlock())
	}
	fmt.Println(s.Wait(ctx), *goods)
	fmt.Println(lock.Unlock())
	// Output:
	// <nil> 200
	// coro: not locked by the caller: unlock in the goroutine or body that has locked, once
}

// Readers are inside together, C coroutines and Go bodies; a writer is there alone.
func ExampleRWMutex() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	lock, err := coro.NewRWMutex(s)
	check(err)
	table := examplebody.Table()
	check(lock.Lock(ctx))
	task, err := auditor.Start(s, lock.Address()) // it waits
	check(err)
	*table = [4]int64{1, 20, 300, 4000}
	ok, err := lock.TryRLock()
	fmt.Println(ok, err)
	check(lock.Unlock())
	fmt.Println(task.Wait(ctx))
	ok, err = lock.TryRLock()
	fmt.Println(ok, err)
	check(lock.RUnlock())
	// Output:
	// false coro: locked by the caller already: it would wait for itself; unlock first
	// 4321 <nil>
	// true <nil>
}

// C coroutines wait for goods, which a goroutine delivers.
//
//	void buyer(void *arg, void *result)
//	{
//		const struct shop s = *(struct shop *)arg;
//		int status = coro_mutex_lock(s.lock, CORO_FOREVER);
//
//		if (status)
//			return;
//		while (!goods && !status)
//			status = coro_cond_wait(s.delivered, s.lock, CORO_FOREVER);
//		if (!status)
//			goods--;
//		coro_mutex_unlock(s.lock);
//	}
func ExampleCond() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	lock, err := coro.NewMutex(s)
	check(err)
	delivered, err := coro.NewCond(lock)
	check(err)
	goods := examplebody.Goods()
	*goods = 0
	_, err = buyer.SpawnN(s, 10, examplebody.Shop{Lock: lock.Address(),
		Delivered: delivered.Address()})
	check(err)
	for range 2 {
		check(lock.Lock(ctx))
		*goods += 5
		fmt.Println(delivered.Broadcast(), lock.Unlock())
	}
	fmt.Println(s.Wait(ctx), *goods, "left")
	// Output:
	// <nil> <nil>
	// <nil> <nil>
	// <nil> 0 left
}

// A goroutine waits until a hundred C coroutines have been there.
//
//	void runner(void *arg, void *result)
//	{
//		coro_latch_add(*(coro_latch **)arg, -1);
//	}
func ExampleWaitGroup() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	left, err := coro.NewWaitGroup(s, 100)
	check(err)
	_, err = runner.SpawnN(s, 100, left.Address())
	check(err)
	fmt.Println(left.Wait(ctx))
	fmt.Println(left.Done())
	// Output:
	// <nil>
	// coro: a wait group below zero: add before what is counted begins, and count each end once
}

// The first comer sets up what C and Go bodies need; here that is Go.
//
//	void user(void *arg, void *result)
//	{
//		if (coro_once_do(*(coro_once **)arg, make_table, NULL, CORO_FOREVER) == CORO_OK)
//			*(int64_t *)result = sum_of_table();
//	}
func ExampleOnce() {
	ctx := context.Background()
	s, err := coro.New()
	check(err)
	defer s.Close(ctx)

	made, err := coro.NewOnce(s)
	check(err)
	fill := func() { *examplebody.Table() = [4]int64{1, 2, 3, 4} }
	fmt.Println(made.Do(ctx, fill))
	task, err := user.Start(s, made.Address())
	check(err)
	fmt.Println(task.Wait(ctx))
	// Output:
	// <nil>
	// 10 <nil>
}
