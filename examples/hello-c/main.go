// Command hello-c is a first program with coro: a C function (steps.c) runs as a coroutine, once
// for each of many numbers. It shows coro.Func, Start and Wait, and coro_yield in C.
//
// To use it in a module of your own, copy the folder, and write the header beside the C file with
//
//	go run github.com/organzine/coro/cmd/coro header
package main

// The -I is for this module, where coro.h is in csrc. A module of your own has coro.h beside this
// file, and needs no -I.

/*
#cgo CFLAGS: -O2 -I${SRCDIR}/../../csrc/include
#include "steps.h"
*/
import "C"

import (
	"context"
	"fmt"
	"log"
	"unsafe"

	"github.com/organzine/coro"
)

// steps takes a number and returns how many steps its Collatz sequence has. The Go types are those
// that the C function reads and writes.
var steps = coro.MustFunc[uint64, uint64](unsafe.Pointer(C.steps))

func main() {
	if err := run(context.Background(), 100_000); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, most uint64) error {
	s, err := coro.New() // a worker thread for each of GOMAXPROCS
	if err != nil {
		return err
	}
	defer s.Close(ctx)

	var tasks []*coro.Task[uint64]
	for n := uint64(1); n <= most; n++ {
		task, err := steps.Start(s, n)
		if err != nil {
			return err
		}
		tasks = append(tasks, task)
	}
	longest, start := uint64(0), uint64(0)
	for i, task := range tasks {
		n, err := task.Wait(ctx)
		if err != nil {
			return err
		}
		if n > longest {
			longest, start = n, uint64(i+1)
		}
	}
	fmt.Printf("longest sequence up to %d: from %d, %d steps\n", most, start, longest)
	if plain := stepsInGo(start); plain != longest {
		return fmt.Errorf("from %d it is %d steps", start, plain)
	}
	return nil
}

// stepsInGo is what the C function does.
func stepsInGo(n uint64) (count uint64) {
	for ; n != 1; count++ {
		if n%2 == 1 {
			n = 3*n + 1
		} else {
			n /= 2
		}
	}
	return count
}
