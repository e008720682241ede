// Package symbolize makes reports of crashes in C name functions and lines.
//
// A blank import, in package main, opts for it:
//
//	import _ "github.com/organzine/coro/symbolize"
//
// The package needs a module that coro itself does not need. Run
//
//	go mod tidy
//
// after the import is there, and go mod vendor if you vendor. Before that, go build reports a
// missing go.sum entry or a missing module.
//
// Two things happen then, before main.
//
// [runtime.SetCgoTraceback] is given github.com/ianlancetaylor/cgosymbolizer, so that Go's own
// tracebacks of its own threads, and its CPU profiles, show the C frames. That can be done once in
// a process: a program that does it already must not import this package.
//
// And the line by which package coro reports a fault in C, on standard error, is followed by the C
// frames, from the fault down to the coroutine's base. In the line, the coroutine's function has
// its name, if it has none by coro.FuncName. The signals are SIGSEGV, SIGBUS, SIGFPE, SIGILL,
// SIGTRAP and SIGABRT. The process ends after that as it does without this package.
//
// The frames are written in a signal handler, on the worker's own signal stack of 64 KiB. The
// handler calls write(2); the unwinder of libgcc, which takes no lock with glibc 2.35 or later
// (before, a fault inside dlopen could hang); and libbacktrace, which maps its memory itself, never
// calls malloc, and reads the program's file for the lines. A second fault in the handler, over a
// destroyed stack, say, ends the process at once, after the frames written so far. Where the binary
// is stripped, addresses are printed in place of names.
//
// The package costs nothing until a crash, or while a profile is taken. Without cgo it is empty.
package symbolize
