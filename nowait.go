package coro

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// A noWaitSection is the part of a body in which it must not be suspended. Only the body's
// goroutine uses it.
type noWaitSection struct {
	depth int
	began uintptr // the call that began the outermost
}

// NoWait begins a section in which the body must not be suspended, and returns the function that
// ends the section:
//
//	defer c.NoWait()()
//
// It is for code that counts on no other body having run on this executor meanwhile, or that calls
// code it does not know. In the section a call that would suspend the body returns a [NoWaitError]
// instead, which names both places, and has done nothing: Yield, Sleep and Await always; Park,
// [Select] and the waiting calls of [Chan], [Semaphore], [Mutex], [RWMutex], [Cond], [WaitGroup]
// and [Once] if what they want is not there at that moment. A wait in Go's own ways is not seen.
// Sections nest: the outermost is named. A body that returns inside a section ends with that error
// too. NoWait costs about 200 ns; outside, calls cost no more than before. It is for the body
// itself; from elsewhere it does nothing.
func (c *Coroutine) NoWait() (end func()) {
	if c.check() != nil {
		return func() {}
	}
	s := &c.section
	if s.depth == 0 {
		var pc [1]uintptr
		runtime.Callers(2, pc[:])
		s.began = pc[0]
	}
	s.depth++
	ended := false
	return func() {
		if !ended && c.check() == nil {
			ended = true
			s.depth--
		}
	}
}

// A NoWaitError names a call that would have waited in a section of [Coroutine.NoWait].
type NoWaitError struct {
	Section string // the place where the section began: file:line
	Call    string // the call that would have waited: "(*Coroutine).Park"; or "the end"
	Place   string // the place of that call: file:line; empty for the end
}

func (e *NoWaitError) Error() string {
	if e.Place == "" {
		return fmt.Sprintf("coro: %s in the no-wait section begun at %s", e.Call, e.Section)
	}
	return fmt.Sprintf("coro: %s called at %s in the no-wait section begun at %s", e.Call,
		e.Place, e.Section)
}

// mayWait returns an error if the body must not be suspended.
func (c *Coroutine) mayWait() error {
	if c.section.depth == 0 {
		return nil
	}
	return c.mustNotWait()
}

// mustNotWait is mayWait inside a section.
func (c *Coroutine) mustNotWait() error {
	e := c.section.violated("")
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		name, ours := strings.CutPrefix(f.Function, ownPackage)
		if !ours || !more {
			e.Place = fileLine(f)
			return e
		}
		e.Call = name
	}
}

var ownPackage = reflect.TypeFor[Coroutine]().PkgPath() + "."

// checkEnd has a body that has returned inside a section fail.
func (c *Coroutine) checkEnd() {
	if c.section.depth != 0 {
		c.typed.fail(errors.Join(c.typed.outcome(), c.section.violated("the end")))
	}
}

func (s *noWaitSection) violated(call string) *NoWaitError {
	f, _ := runtime.CallersFrames([]uintptr{s.began}).Next()
	return &NoWaitError{Section: fileLine(f), Call: call}
}

func fileLine(f runtime.Frame) string { return fmt.Sprintf("%s:%d", f.File, f.Line) }
