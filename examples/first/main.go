// Command first is a first program with coro: a C function that runs as a coroutine, once for each of many numbers.
package main

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../csrc
#include "body.h"
*/
import "C"

import (
	"context"
	"fmt"
	"log"
	"unsafe"

	"github.com/organzine/coro"
)

// steps takes a number and returns how many steps its Collatz sequence has.
var steps = coro.MustFunc[uint64, uint64](unsafe.Pointer(C.steps))

func main() {
	ctx := context.Background()
	s, err := coro.New()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close(ctx)

	tasks := make([]*coro.Task[uint64], 100_000)
	for i := range tasks {
		if tasks[i], err = steps.Start(s, uint64(i+1)); err != nil {
			log.Fatal(err)
		}
	}
	longest, start := uint64(0), 0
	for i, t := range tasks {
		n, err := t.Wait(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if n > longest {
			longest, start = n, i+1
		}
	}
	fmt.Printf("longest sequence below %d: from %d, %d steps\n", len(tasks)+1, start, longest)
}
