//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/examplebody"
)

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
