package coro

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// A sectionLevel says what a body may not do in a section.
type sectionLevel int

const (
	noSection     sectionLevel = iota
	finiteSection              // it may wait, if the wait has a bound
	noWaitSection              // it must not wait
)

// Sections are the parts of a body in which it must not be suspended, or for a bounded time only.
// Only the body's goroutine uses them.
type sections struct {
	level sectionLevel // the highest that is open
	open  [2]section   // by level - 1
}

type section struct {
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
func (c *Coroutine) NoWait() (end func()) { return c.beginSection(noWaitSection) }

// FiniteWait begins a section in which the body may wait for a bounded time only, and returns the
// function that ends the section:
//
//	defer c.FiniteWait()()
//
// It is for code that must not wait for what may never come, as it holds what others need. In the
// section Yield and Sleep do what they always do, and so do the other calls of NoWait if the
// context that they are given has a deadline, whether that comes soon or late. Without a deadline
// they return a [NoWaitError], as in a section of NoWait. Cond.Wait with a deadline may then wait
// for its mutex without one. In all else a section is as one of NoWait. While one of NoWait is open
// too, that is what counts.
func (c *Coroutine) FiniteWait() (end func()) { return c.beginSection(finiteSection) }

func (c *Coroutine) beginSection(level sectionLevel) (end func()) {
	if c.check() != nil {
		return func() {}
	}
	s := &c.sections.open[level-1]
	if s.depth == 0 {
		var pc [1]uintptr
		runtime.Callers(3, pc[:])
		s.began = pc[0]
	}
	s.depth++
	c.sections.setLevel()
	ended := false
	return func() {
		if !ended && c.check() == nil {
			ended = true
			s.depth--
			c.sections.setLevel()
		}
	}
}

func (s *sections) setLevel() {
	s.level = noSection
	for i := range s.open {
		if s.open[i].depth > 0 {
			s.level = sectionLevel(i + 1)
		}
	}
}

// A NoWaitError names a call that would have waited in a section of [Coroutine.NoWait], or without
// a deadline in one of [Coroutine.FiniteWait].
type NoWaitError struct {
	Section string // the place where the section began: file:line
	Call    string // the call that would have waited: "(*Coroutine).Park"; or "the end"
	Place   string // the place of that call: file:line; empty for the end
	Finite  bool   // the section is one of FiniteWait
}

func (e *NoWaitError) Error() string {
	section := "in the no-wait section"
	if e.Finite {
		section = "in the finite-wait section"
	}
	if e.Place == "" {
		return fmt.Sprintf("coro: %s %s begun at %s", e.Call, section, e.Section)
	}
	if e.Finite {
		section = "without a deadline " + section
	}
	return fmt.Sprintf("coro: %s called at %s %s begun at %s", e.Call, e.Place, section,
		e.Section)
}

// mayWait returns an error if the body must not be suspended until ctx ends.
func (c *Coroutine) mayWait(ctx context.Context) error {
	if c.sections.level == noSection {
		return nil
	}
	_, bounded := ctx.Deadline()
	return c.refused(bounded)
}

// refused is the error of a wait inside a section; nil: it may be made. bounded: it has a bound.
func (c *Coroutine) refused(bounded bool) error {
	if c.sections.level == noSection || c.sections.level == finiteSection && bounded {
		return nil
	}
	e := c.sections.violated("")
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
	if c.sections.level != noSection {
		c.typed.fail(errors.Join(c.typed.outcome(), c.sections.violated("the end")))
	}
}

func (s *sections) violated(call string) *NoWaitError {
	f, _ := runtime.CallersFrames([]uintptr{s.open[s.level-1].began}).Next()
	return &NoWaitError{Section: fileLine(f), Call: call, Finite: s.level == finiteSection}
}

func fileLine(f runtime.Frame) string { return fmt.Sprintf("%s:%d", f.File, f.Line) }
