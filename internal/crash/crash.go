//go:build cgo && linux && (amd64 || arm64)

// Package crash holds programs that crash in C, and programs with faults in Go, for tests that run
// them as child processes.
package crash

// #cgo CFLAGS: -std=gnu11 -D_GNU_SOURCE -g -O2 -fno-stack-protector -Wall -I${SRCDIR}/../../csrc/include
// #include "bodies.h"
import "C"

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/generator"
	"github.com/organzine/coro/internal/asm"
)

// An Ending is how the process of a Kind ends.
type Ending int

const (
	BySignal Ending = iota // the signal ends it
	ByGo                   // Go reports the fault, and exits with status 2
	Fine                   // it exits with status 0
)

// A Kind is a program that crashes, or seems to.
type Kind struct {
	Name string
	Run  func()

	// A regular expression that matches the report's line, without "coro: " before it. {C
	// function} stands for the function's name or address. Without a Line, there is no report.
	Line   string
	Ending Ending
	Signal syscall.Signal // of BySignal
	Inner  string         // where the C frames begin, if they are known; else ""
}

const (
	segv   = `SIGSEGV at address 0x0, pc 0x[0-9a-f]+, `
	deep   = `stack overflow: SIGSEGV at address 0x[0-9a-f]+, pc 0x[0-9a-f]+, `
	handle = `, handle 0x[0-9a-f]+, `
	worker = `on worker [01] of scheduler crashes`
	upTo   = `: its stack of %d KiB is used up; give it a larger one, ` +
		`or call what is deep through coro_call_on_stack`
)

func usedUp(kib int) string { return fmt.Sprintf(upTo, kib) }

func in(function string) string { return "in the coroutine of function {" + function + "}" }

// Kinds are all programs.
var Kinds = []Kind{
	{"body", body(C.crash_body), segv + in("crash_body") + handle + worker,
		BySignal, syscall.SIGSEGV, "crash_body"},
	{"here", body(C.crash_here), segv + in("crash_here") + handle + worker,
		BySignal, syscall.SIGSEGV, "crash_inner"},
	{"stolen", body(C.crash_stolen), segv + in("crash_stolen") + handle + worker,
		BySignal, syscall.SIGSEGV, "crash_inner"},
	{"inside another", body(C.crash_makes_one),
		segv + in("crash_by_hand") + ", " + worker, BySignal, syscall.SIGSEGV, "crash_inner"},
	{"renamed", renamed, segv + "in the coroutine of function her body" + handle + worker,
		BySignal, syscall.SIGSEGV, "crash_inner"},
	{"nowhere", body(C.crash_nowhere),
		`SIGSEGV at address 0x0, pc 0x0 \(no code is there\), return address 0x[0-9a-f]+, ` +
			in("crash_nowhere") + handle + worker, BySignal, syscall.SIGSEGV, ""},
	{"smashed", body(C.crash_smashed),
		`SIGSEGV at address 0x1000, pc 0x1000 \(no code is there\), ` +
			`return address 0x[0-9a-f]+, ` + in("crash_smashed") + handle + worker,
		BySignal, syscall.SIGSEGV, ""},
	{"trap", body(C.crash_trap), `SIG(ILL|TRAP), pc 0x[0-9a-f]+, ` + in("crash_trap") + handle +
		worker, BySignal, trap(), "crash_trap"},
	{"bus", body(C.crash_bus), `SIGBUS at address 0x[0-9a-f]+, pc 0x[0-9a-f]+, ` +
		in("crash_bus") + handle + worker, BySignal, syscall.SIGBUS, "crash_bus"},
	{"abort", body(C.crash_abort), `SIGABRT, pc 0x[0-9a-f]+, ` + in("crash_abort") + handle +
		worker, BySignal, syscall.SIGABRT, ""},

	{"deep", body(C.crash_deep), deep + in("crash_deep") + handle + worker + usedUp(32),
		BySignal, syscall.SIGSEGV, "crash_level"},
	{"deep on stack", body(C.crash_deep_on_stack),
		deep + in("crash_deep_on_stack") + handle + worker + usedUp(64),
		BySignal, syscall.SIGSEGV, "crash_level"},
	{"deep dense", dense, deep + in("crash_deep") + handle + worker + usedUp(16),
		BySignal, syscall.SIGSEGV, "crash_level"},

	{"by hand", byHand(C.crash_by_hand), segv + in("crash_by_hand"), ByGo, 0, "crash_inner"},
	{"deep by hand", byHand(C.crash_deep_by_hand),
		deep + in("crash_deep_by_hand") + usedUp(32), ByGo, 0, "crash_level"},

	{"blocking", body(C.crash_blocking), segv +
		"in a call of coro_blocking by the coroutine of function {crash_blocking}" + handle +
		"scheduler crashes", BySignal, syscall.SIGSEGV, "crash_inner"},
	{"deep blocking", body(C.crash_deep_blocking),
		`SIGSEGV at address 0x[0-9a-f]+, pc 0x[0-9a-f]+, ` +
			"in a call of coro_blocking by the coroutine of function {crash_deep_blocking}" +
			handle + "scheduler crashes", BySignal, syscall.SIGSEGV, "crash_level"},
	{"between", body(C.crash_between), segv + "between coro_thread_begin and coro_thread_end, " +
		in("crash_between") + handle + "scheduler crashes", BySignal, syscall.SIGSEGV,
		"crash_inner"},
	{"deep between", body(C.crash_deep_between),
		deep + "between coro_thread_begin and coro_thread_end, " + in("crash_deep_between") +
			handle + "scheduler crashes" + usedUp(32), BySignal, syscall.SIGSEGV, "crash_level"},

	{"after a call", body(C.crash_after_call), segv + in("crash_after_call") + handle + worker,
		ByGo, 0, "crash_inner"},
	{"deep after a call", body(C.crash_deep_after_call),
		deep + in("crash_deep_after_call") + handle + worker + usedUp(32), ByGo, 0, "crash_level"},
	{"in cgo in a call", func() { calls(inCgo) },
		segv + "in a call of coro_call_go_inline, " + worker, ByGo, 0, "crash_inner"},
	{"after a recovered one", afterARecoveredOne, segv + in("crash_here") + handle + worker,
		BySignal, syscall.SIGSEGV, "crash_inner"},
	{"leaf", leaf, segv + "in a call by Go of a channel, semaphore, lock or wait group " +
		"that is no valid one: a zero value, a copy, or overwritten", ByGo, 0, "crash_leaf"},

	{"called", called(C.crash_here), segv + in("crash_here") + handle + worker, ByGo, 0,
		"crash_inner"},
	{"deep called", called(C.crash_deep), deep + in("crash_deep") + handle + worker + usedUp(32),
		ByGo, 0, "crash_level"},
	{"abort called", called(C.crash_abort), `SIGABRT, pc 0x[0-9a-f]+, ` + in("crash_abort") +
		handle + worker, ByGo, 0, ""},
	{"called again", called(C.crash_after_call), segv + in("crash_after_call") + handle + worker,
		ByGo, 0, "crash_inner"},

	{"one of many", many(C.crash_here), segv + in("crash_here") + handle + worker, ByGo, 0,
		"crash_inner"},
	{"named, one of many", many(C.crash_here, coro.FuncName("one of them")),
		segv + "in the coroutine of function one of them" + handle + worker, ByGo, 0,
		"crash_inner"},

	{"recovered in a call", func() { calls(recovers) }, "", Fine, 0, ""},
	{"recovered in an offloaded call", offloads, "", Fine, 0, ""},
	{"recovered in a Go body", recoversInABody, "", Fine, 0, ""},
	{"recovered in a goroutine", func() { newScheduler(); recovered() }, "", Fine, 0, ""},
	{"panic in a goroutine", func() { newScheduler(); followNil() }, "", ByGo, 0, ""},
	{"cgo of a goroutine", func() { newScheduler(); C.crash_now() }, "", ByGo, 0, ""},
	{"notified", notified, "", Fine, 0, ""},
}

func init() {
	if runtime.GOARCH == "amd64" { // other machines divide by zero
		Kinds = append(Kinds, Kind{"zero", body(C.crash_zero), `SIGFPE, pc 0x[0-9a-f]+, ` +
			in("crash_zero") + handle + worker, BySignal, syscall.SIGFPE, "crash_zero"})
	}
}

// Pattern is a regular expression for the report's line. Functions are named, or have addresses.
func (k *Kind) Pattern(named bool) string {
	with := "0x[0-9a-f]+"
	if named {
		with = "$1"
	}
	return "(?m)^coro: " + regexp.MustCompile(`{(\w+)}`).ReplaceAllString(k.Line, with) + "$"
}

const stack = 32 << 10

func trap() syscall.Signal {
	if runtime.GOARCH == "amd64" {
		return syscall.SIGILL
	}
	return syscall.SIGTRAP
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func newScheduler() *coro.Scheduler {
	return must(coro.New(coro.WithWorkers(2), coro.WithStack(stack), coro.WithName("crashes")))
}

// run runs one coroutine of a new scheduler.
func run(fn unsafe.Pointer, opts ...coro.FuncOption) {
	s := newScheduler()
	f := coro.MustFunc[coro.None, coro.None](fn, opts...)
	if err := f.Spawn(s, coro.None{}); err != nil {
		panic(err)
	}
	_ = s.Wait(context.Background())
}

func body(fn unsafe.Pointer, opts ...coro.FuncOption) func() {
	return func() { run(fn, opts...) }
}

// renamed gives the function two names.
func renamed() {
	coro.MustFunc[coro.None, coro.None](C.crash_here, coro.FuncName("the body of somebody else"))
	run(C.crash_here, coro.FuncName("her body"))
}

// called runs the coroutine on the goroutine's thread: its worker sleeps.
func called(fn unsafe.Pointer) func() {
	return func() {
		s := newScheduler()
		for s.Stats().Awake > 0 {
			time.Sleep(time.Millisecond)
		}
		f := coro.MustFunc[coro.None, coro.None](fn)
		must(f.Call(context.Background(), s, coro.None{}))
	}
}

// many runs the coroutine as called does, by CallN.
func many(fn unsafe.Pointer, opts ...coro.FuncOption) func() {
	return func() {
		s := newScheduler()
		for s.Stats().Awake > 0 {
			time.Sleep(time.Millisecond)
		}
		f := coro.MustFunc[coro.None, coro.None](fn, opts...)
		if err := f.CallN(context.Background(), s, make([]coro.None, 1), nil); err != nil {
			panic(err)
		}
	}
}

func dense() { run(C.crash_deep, coro.FuncDense()) }

func byHand(fn unsafe.Pointer) func() {
	return func() { _, _, _ = must(generator.New(fn, 0, stack)).Resume(1) }
}

func leaf() {
	newScheduler()
	var nowhere unsafe.Pointer
	asm.Leaf(uintptr(C.crash_leaf), unsafe.Pointer(&nowhere), nil)
}

//go:noinline
func followNil() int {
	var nothing *[1 << 10]int
	return nothing[len(os.Args)]
}

// recovered has a fault in Go, which is left to Go.
func recovered() {
	defer func() { fmt.Println("recovered:", recover()) }()
	fmt.Println(followNil())
}

type goFunc = func(context.Context, coro.None) (coro.None, error)

var (
	_, _ = coro.ExportFuncNamed("nothing", goFunc(func(context.Context, coro.None) (
		coro.None, error) {
		return coro.None{}, nil
	}))
	recovers = coro.MustExportFunc(goFunc(func(context.Context, coro.None) (coro.None, error) {
		recovered()
		return coro.None{}, nil
	}))
	inCgo = coro.MustExportFunc(goFunc(func(context.Context, coro.None) (coro.None, error) {
		C.crash_now()
		return coro.None{}, nil
	}))
)

// calls calls a Go function three times, on the same worker and on another. If each took a second
// for a report, that would be seen.
func calls(id coro.FuncID) {
	f := coro.MustFunc[coro.FuncID, coro.None](C.crash_calls)
	s := newScheduler()
	start := time.Now()
	for range 3 {
		task := must(f.Start(s, id))
		must(task.Wait(context.Background()))
	}
	if took := time.Since(start); took > 4*time.Second {
		panic(took)
	}
}

func afterARecoveredOne() {
	calls(recovers)
	run(C.crash_here)
}

func offloads() {
	s := newScheduler()
	f := coro.MustFunc[coro.FuncID, coro.None](C.crash_offloads)
	must(must(f.Start(s, recovers)).Wait(context.Background()))
}

func recoversInABody() {
	task := must(coro.Go(newScheduler(), func(c *coro.Coroutine) (int, error) {
		recovered()
		return 0, c.Yield()
	}))
	must(task.Wait(context.Background()))
}

// notified asks for the signals of faults, and gets those that are sent.
func notified() {
	newScheduler()
	all := []os.Signal{syscall.SIGSEGV, syscall.SIGBUS, syscall.SIGFPE, syscall.SIGABRT,
		syscall.SIGILL, syscall.SIGTRAP}
	got := make(chan os.Signal, 1)
	for _, sig := range all {
		signal.Notify(got, sig)
		if err := syscall.Kill(os.Getpid(), sig.(syscall.Signal)); err != nil {
			panic(err)
		}
		fmt.Println("recovered:", <-got)
		signal.Stop(got)
	}
	recovered()
}
