//go:build cgo

package coro_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/organzine/coro"
)

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
func ExampleAwait() {
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
			steps, err := coro.Await(c.Context(), c, task)
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
