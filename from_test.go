//go:build cgo

package coro_test

import (
	"context"
	"crypto/md5"
	"fmt"
	"io/fs"
	"iter"
	"log"
	"slices"
	"strings"
	"sync/atomic"
	"testing/fstest"

	"github.com/organzine/coro"
)

// The first programs of errgroup, conc and ants, in coro. docs/from.md shows them.

// fetch takes the place of http.Get.
func fetch(url string) error {
	if strings.Contains(url, "wrong") {
		return fmt.Errorf("%s: not found", url)
	}
	return nil
}

func fetchAll(ctx context.Context, s *coro.Scheduler, urls []string) error {
	return coro.ForEach(ctx, s, slices.Values(urls), func(_ *coro.Coroutine, url string) error {
		return fetch(url)
	})
}

type search func(ctx context.Context, query string) (string, error)

func searchAll(
	ctx context.Context, s *coro.Scheduler, query string, all []search,
) ([]string, error) {
	return coro.Map(ctx, s, slices.Values(all), func(c *coro.Coroutine, f search) (string, error) {
		return f(c.Context(), query)
	})
}

type sum struct {
	path string
	md5  [md5.Size]byte
}

func sumAll(ctx context.Context, s *coro.Scheduler, files fs.FS) ([]sum, error) {
	var walked error
	paths := func(yield func(string) bool) {
		walked = fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && !yield(path) {
				err = fs.SkipAll
			}
			return err
		})
	}
	sums, err := coro.Map(ctx, s, paths, func(_ *coro.Coroutine, path string) (sum, error) {
		data, err := fs.ReadFile(files, path)
		return sum{path, md5.Sum(data)}, err
	}, coro.AtMost(20))
	if err == nil {
		err = walked
	}
	return sums, err
}

// Errgroup's examples: tasks that only fail, results in order, a pipeline with a limit.
func Example_errgroup() {
	s, err := coro.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	ctx := context.Background()

	fmt.Println(fetchAll(ctx, s, []string{"a.example", "b.example"}))
	fmt.Println(fetchAll(ctx, s, []string{"a.example", "wrong.example"}))

	answers, err := searchAll(ctx, s, "coro", []search{
		func(_ context.Context, q string) (string, error) { return "web: " + q, nil },
		func(_ context.Context, q string) (string, error) { return "image: " + q, nil },
	})
	fmt.Println(answers, err)

	sums, err := sumAll(ctx, s, fstest.MapFS{
		"a/one": {Data: []byte("1")}, "b/two": {Data: []byte("2")}})
	for _, sum := range sums {
		fmt.Printf("%s %.4x\n", sum.path, sum.md5)
	}
	fmt.Println(err)
	// Output:
	// <nil>
	// coro: call 1: wrong.example: not found
	// [web: coro image: coro] <nil>
	// a/one c4ca4238
	// b/two c81e728d
	// <nil>
}

func received[T any](ctx context.Context, from <-chan T) iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			select {
			case v, ok := <-from:
				if !ok || !yield(v) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func processChan(ctx context.Context, s *coro.Scheduler, in <-chan int, f func(int) error) error {
	return coro.ForEach(ctx, s, received(ctx, in), func(_ *coro.Coroutine, n int) error {
		return f(n)
	}, coro.AtMost(10))
}

func inOrder(
	ctx context.Context, s *coro.Scheduler, in <-chan int, out chan<- int, f func(int) int,
) error {
	g := coro.NewGroup(ctx, s)
	tasks := make(chan *coro.Task[int], 10)
	go func() {
		defer close(tasks)
		for n := range received(g.Context(), in) {
			task, err := coro.Go(g, func(*coro.Coroutine) (int, error) { return f(n), nil })
			if err != nil {
				g.Cancel(err)
				return
			}
			tasks <- task
		}
	}()
	for task := range tasks {
		if n, err := task.Wait(context.Background()); err == nil {
			out <- n
		}
	}
	return g.Wait(context.Background())
}

// Conc's examples: a panic is an error, a pool with a limit, a slice mapped, a stream in order.
func Example_conc() {
	s, err := coro.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	ctx := context.Background()

	g := coro.NewGroup(ctx, s)
	coro.Go(g, func(*coro.Coroutine) (coro.None, error) { panic("oh") })
	fmt.Println(g.Wait(context.Background()))

	numbers := make(chan int)
	go func() {
		defer close(numbers)
		for n := range 100 {
			numbers <- n
		}
	}()
	var total atomic.Int64
	err = processChan(ctx, s, numbers, func(n int) error { total.Add(int64(n)); return nil })
	fmt.Println(total.Load(), err)

	squares, err := coro.Map(ctx, s, slices.Values([]int{1, 2, 3}),
		func(_ *coro.Coroutine, n int) (int, error) { return n * n, nil })
	fmt.Println(squares, err)

	in, out := make(chan int), make(chan int)
	go func() {
		defer close(in)
		for n := range 5 {
			in <- n
		}
	}()
	go func() {
		defer close(out)
		if err := inOrder(ctx, s, in, out, func(n int) int { return 2 * n }); err != nil {
			log.Print(err)
		}
	}()
	for n := range out {
		fmt.Print(n, " ")
	}
	// Output:
	// coro: panic: oh
	// 4950 <nil>
	// [1 4 9] <nil>
	// 0 2 4 6 8
}

// Ants' examples: a pool of ten for a thousand functions, and one function for many values.
func Example_ants() {
	s, err := coro.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(context.Background())
	ctx := context.Background()

	var total atomic.Int64
	addOne := func(*coro.Coroutine) (coro.None, error) {
		total.Add(1)
		return coro.None{}, nil
	}
	g := coro.NewGroup(ctx, s)
	g.SetLimit(10)
	for range 1000 {
		if _, err := coro.Go(g, addOne); err != nil {
			g.Cancel(err)
			break
		}
	}
	fmt.Println(g.Wait(context.Background()), total.Load())

	err = coro.ForEach(ctx, s, slices.Values(slices.Repeat([]int64{1}, 1000)),
		func(_ *coro.Coroutine, n int64) error { total.Add(n); return nil }, coro.AtMost(10))
	fmt.Println(err, total.Load())
	// Output:
	// <nil> 1000
	// <nil> 2000
}
