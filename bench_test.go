//go:build cgo

package coro_test

import (
	"runtime"
	"sync"
	"testing"

	"github.com/organzine/coro"
	"github.com/stretchr/testify/require"
)

// What Go asks of coro, and of goroutines, in the form that benchstat reads:
//
//	go test -run '^$' -bench . -count 10 . | tee new
//	benchstat -col /system new
//
// The command bench measures more, in rounds.

// onOne gives each benchmark a scheduler of its own with one worker, which is not timed.
func onOne(b *testing.B) *coro.Scheduler {
	s := newScheduler(b, coro.WithWorkers(1), coro.WithExecutors(1))
	b.ResetTimer()
	return s
}

func BenchmarkCall(b *testing.B) {
	s := onOne(b)
	for b.Loop() {
		if _, err := square.Call(background, s, 7); err != nil {
			b.Fatal(err)
		}
	}
}

// An operation is one of 1000 calls.
func BenchmarkCallN(b *testing.B) {
	s := onOne(b)
	args, results := make([]int64, 1000), make([]int64, 1000)
	for i := 0; i < b.N; i += len(args) {
		if err := square.CallN(background, s, args, results); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStartAndWait(b *testing.B) {
	b.Run("system=coro", func(b *testing.B) {
		s := onOne(b)
		for b.Loop() {
			task, err := square.Start(s, 7)
			if err == nil {
				_, err = task.Wait(background)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("system=body", func(b *testing.B) {
		s := onOne(b)
		for b.Loop() {
			task, err := coro.Go(s, func(*coro.Coroutine) (int, error) { return 7, nil })
			if err == nil {
				_, err = task.Wait(background)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("system=goroutine", func(b *testing.B) {
		result := make(chan int)
		for b.Loop() {
			go func() { result <- 7 }()
			<-result
		}
	})
}

// From the first spawn to the end of all.
func BenchmarkSpawn(b *testing.B) {
	b.Run("system=coro", func(b *testing.B) {
		s := onOne(b)
		for range b.N {
			if err := empty.SpawnWait(background, s, coro.None{}); err != nil {
				b.Fatal(err)
			}
		}
		require.NoError(b, s.Wait(background))
	})
	b.Run("system=coro-batch", func(b *testing.B) {
		s := onOne(b)
		_, err := empty.SpawnN(s, b.N, coro.None{})
		require.NoError(b, err)
		require.NoError(b, s.Wait(background))
	})
	b.Run("system=goroutine", func(b *testing.B) {
		var group sync.WaitGroup
		group.Add(b.N)
		done := group.Done
		for range b.N {
			go done()
		}
		group.Wait()
	})
}

// Two that let each other run; an operation is one yield.
func BenchmarkYield(b *testing.B) {
	b.Run("system=coro", func(b *testing.B) {
		s := onOne(b)
		_, err := yield.SpawnN(s, 2, int64(b.N/2))
		require.NoError(b, err)
		require.NoError(b, s.Wait(background))
	})
	b.Run("system=body", func(b *testing.B) {
		s := onOne(b)
		for range 2 {
			goes(b, s, func(c *coro.Coroutine) error {
				for range b.N / 2 {
					if err := c.Yield(); err != nil {
						return err
					}
				}
				return nil
			})
		}
		require.NoError(b, s.Wait(background))
	})
	b.Run("system=goroutine", func(b *testing.B) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				for range b.N / 2 {
					runtime.Gosched()
				}
			})
		}
		group.Wait()
	})
}

// Values from a goroutine to a C coroutine, through a channel with room for 64.
func BenchmarkSend(b *testing.B) {
	b.Run("system=coro", func(b *testing.B) {
		s := onOne(b)
		c, err := coro.NewChan[int64](s, 64)
		require.NoError(b, err)
		task, err := consume.Start(s, flow{c.Address(), endless})
		require.NoError(b, err)
		for b.Loop() {
			if err := c.Send(background, 1); err != nil {
				b.Fatal(err)
			}
		}
		require.NoError(b, c.Close())
		_, err = task.Wait(background)
		require.NoError(b, err)
	})
	b.Run("system=goroutine", func(b *testing.B) {
		c, end := make(chan int64, 64), make(chan int64)
		go func() {
			sum := int64(0)
			for v := range c {
				sum += v
			}
			end <- sum
		}()
		for b.Loop() {
			c <- 1
		}
		close(c)
		<-end
	})
}
