// Command hello-go is a first program with coroutines whose bodies are Go functions, without C: it
// counts primes. It shows coro.Go, Yield, and Await, by which one body waits for another while
// others run.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/organzine/coro"
)

const (
	below = 200_000
	part  = 1000 // numbers that one coroutine looks at
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	s, err := coro.New()
	if err != nil {
		return err
	}
	defer s.Close(ctx)

	task, err := coro.Go(s, countAll)
	if err != nil {
		return err
	}
	found, err := task.Wait(ctx) // a goroutine waits; a body calls Await
	if err != nil {
		return err
	}
	fmt.Println(found, "primes below", below)
	if sieved := sieve(); found != sieved {
		return fmt.Errorf("a sieve finds %d", sieved)
	}
	return nil
}

// countAll starts a coroutine for each part, and adds up their results.
func countAll(c *coro.Coroutine) (int, error) {
	var parts []*coro.Task[int]
	for from := 0; from < below; from += part {
		task, err := coro.Go(c.Scheduler(), func(c *coro.Coroutine) (int, error) {
			return count(c, from, from+part)
		})
		if err != nil {
			return 0, err
		}
		parts = append(parts, task)
	}
	sum := 0
	for _, task := range parts {
		n, err := task.Await(c.Context(), c)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// count returns how many primes are in [from, to). It yields now and then, since nothing interrupts
// it.
func count(c *coro.Coroutine, from, to int) (found int, err error) {
	for n := from; n < to; n++ {
		if isPrime(n) {
			found++
		}
		if n%100 == 0 {
			if err := c.Yield(); err != nil {
				return 0, err
			}
		}
	}
	return found, nil
}

func isPrime(n int) bool {
	for d := 2; d*d <= n; d++ {
		if n%d == 0 {
			return false
		}
	}
	return n >= 2
}

// sieve counts the primes in another way.
func sieve() (found int) {
	var composite [below]bool
	for n := 2; n < below; n++ {
		if composite[n] {
			continue
		}
		found++
		for m := n * n; m < below; m += n {
			composite[m] = true
		}
	}
	return found
}
