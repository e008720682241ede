//go:build cgo

package generator_test

import (
	"fmt"

	"github.com/organzine/coro"
	"github.com/organzine/coro/generator"
	"github.com/organzine/coro/internal/examplebody"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
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
func Example() {
	g, err := generator.New(examplebody.Fibonacci, 0, coro.StackMin)
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
