//go:build cgo

package hard_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

const cxxHeader = `#include "coro.h"

struct item {
	int32_t n;
	int32_t kind; /* of what is thrown */
};
`

const cxxBodies = `#include "bodies.h"
#include <atomic>
#include <stdexcept>
#include <string>

static std::atomic<int> alive;

struct guard {
	guard() { alive++; }
	~guard() { alive--; }
};

static void perhaps(int kind)
{
	guard g;

	coro_sleep(1000);
	switch (kind) {
	case 1:
		throw std::runtime_error(std::string("no item ") + std::to_string(kind));
	case 2:
		throw 7;
	}
}

/* inside - throws and catches over waits, again and again. */
CORO_BODY(inside, item, int64_t, 0)
{
	for (int i = 0; i < arg->n; i++) {
		bool caught = false;
		try {
			guard g;
			coro_yield();
			perhaps(i % 3);
			coro_yield();
			*result += 1;
		} catch (const std::runtime_error &) {
			caught = true;
		} catch (int seven) {
			*result += seven;
		}
		if (caught) {
			coro_yield();
			*result += 100;
		}
	}
}

/* leaves - lets an exception out. */
CORO_BODY(leaves, item, int64_t, 0)
{
	guard g;
	perhaps(arg->kind);
	*result = alive;
}

CORO_BODY(leaves_dense, item, int64_t, CORO_DENSE)
{
	guard g;
	coro_sleep(1000);
	perhaps(arg->kind);
	*result = alive;
}

/* living - the objects that are there. */
CORO_BODY(living, coro_none, int32_t, 0)
{
	*result = alive;
}
`

const cxxMain = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/organzine/coro"
)

func main() {
	ctx := context.Background()
	s, err := coro.New(coro.WithWorkers(2))
	if err != nil {
		log.Fatal(err)
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			task, err := Inside.Start(s, Item{N: 30})
			if err != nil {
				log.Fatal(err)
			}
			if n, err := task.Wait(ctx); n != 10*(1+100+7) || err != nil {
				log.Fatal(n, err)
			}
		})
	}
	all.Wait()
	for kind := int32(1); kind <= 2; kind++ {
		for _, f := range []coro.Func[Item, int64]{Leaves, LeavesDense} {
			_, err := f.Call(ctx, s, Item{Kind: kind})
			var failed *coro.BodyError
			if !errors.As(err, &failed) {
				log.Fatal(err)
			}
			fmt.Println(failed.Func, failed.Code, failed.Text)
		}
	}
	n, err := Living.Call(ctx, s, coro.None{})
	fmt.Println(n, err, s.Close(ctx))
}
`

// An exception that is caught inside a body over its waits harms nothing. One that leaves a body is
// the body's failure, after the destructors.
func TestBodiesInCxxThrow(t *testing.T) {
	needs(t, "gcc", "g++")
	o := newOutside(t, map[string]string{"bodies.h": cxxHeader, "bodies.cc": cxxBodies,
		"main.go": cxxMain})
	o.run("go", "run", "github.com/organzine/coro/cmd/coro", "header")
	o.run("go", "run", "github.com/organzine/coro/cmd/coro", "gen")
	assert.Equal(t, `leaves -1000 no item 1
leaves_dense -1000 no item 1
leaves -1000 a C++ exception of another kind
leaves_dense -1000 a C++ exception of another kind
0 <nil> <nil>
`, o.run("go", "run", "."))
}
