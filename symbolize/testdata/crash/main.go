// Command crash is a program that imports symbolize and crashes in a C coroutine, in the way that
// its argument names; or has a fault in Go, and recovers.
package main

import (
	"context"
	"fmt"
	"os"
	"unsafe"

	"github.com/organzine/coro"
	_ "github.com/organzine/coro/symbolize"
	"github.com/organzine/coro/symbolize/internal/crash"
)

const stack = 32 << 10

var _, _ = coro.ExportFuncNamed("nothing", func(context.Context, coro.None) (coro.None, error) {
	return coro.None{}, nil
})

func main() {
	body, ok := map[string]unsafe.Pointer{
		"here": crash.Here, "stolen": crash.Stolen, "deep": crash.Deep,
		"nowhere":      crash.Nowhere,
		"abort":        crash.Abort,
		"after a call": crash.AfterCall, "deep after a call": crash.DeepAfterCall,
		"by hand": nil,
		"recover": nil,
	}[os.Args[1]]
	if !ok {
		fmt.Fprintln(os.Stderr, "unknown:", os.Args[1])
		os.Exit(3)
	}
	if os.Args[1] == "by hand" {
		byHand()
		return
	}
	if os.Args[1] == "recover" {
		recoverFromOwnFault()
		return
	}
	s, err := coro.New(coro.WithWorkers(2), coro.WithStack(stack))
	if err != nil {
		panic(err)
	}
	if err := coro.MustFunc[coro.None, coro.None](body).Spawn(s, coro.None{}); err != nil {
		panic(err)
	}
	_ = s.Wait(context.Background())
}

// recoverFromOwnFault has a fault in Go, which coro must leave to Go.
func recoverFromOwnFault() {
	defer func() { fmt.Println("recovered:", recover()) }()
	var nothing *[1 << 10]int
	fmt.Println(nothing[len(os.Args)])
}

func byHand() {
	g, err := coro.NewGenerator(crash.ByHand, 0, stack)
	if err != nil {
		panic(err)
	}
	_, _, _ = g.Resume(1)
}
