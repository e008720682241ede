package coro

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"

	"github.com/organzine/coro/csrc"
)

// A BodyID names a Go function for C bodies that start coroutines with it, which know it as a coro_go_id. It may be part of their
// argument, and is good for ever. 0 names none.
type BodyID uint32

// ExportBody makes a Go function one that C bodies can start as a coroutine's body, with coro_spawn_go: what Go does for
// Go. A and R hold no pointers and have at most InlineBytes bytes, or are None. The body's context ends when it is canceled, as
// every other's. A C body that joins it gets the result, or CORO_EABORTED after an error or a panic: of these it gets no
// text, so a body that can fail has that in R.
//
// A function stays exported as long as the process lives: export each once, for example in a package variable. It returns an
// *OptionError for types that do not fit and for a nil function, ErrNoMemory, or ErrNoCgo.
func ExportBody[A, R any](f func(c *Coroutine, arg A) (R, error)) (BodyID, error) {
	if !csrc.Available {
		return 0, ErrNoCgo
	}
	if f == nil {
		return 0, &OptionError{"ExportBody", "nil", "needs a function"}
	}
	argBytes, err := inlineBytes("ExportBody", reflect.TypeFor[A]())
	if err != nil {
		return 0, err
	}
	resultBytes, err := inlineBytes("ExportBody", reflect.TypeFor[R]())
	if err != nil {
		return 0, err
	}
	name := bodyName(f)
	return goBodies.add(&goBodyType{argBytes, resultBytes, func(s *Scheduler, it csrc.GoWorkerItem) *Coroutine {
		var arg A
		if argBytes > 0 {
			arg = *(*A)(it.Arg())
		}
		b := newBody(s, name, func(c *Coroutine) (R, error) { return f(c, arg) })
		b.ctx, b.fromC = context.Background(), true
		b.enter(it.Joinable())
		return &b.Coroutine
	}})
}

// MustExportBody is ExportBody that panics, for package variables.
func MustExportBody[A, R any](f func(c *Coroutine, arg A) (R, error)) BodyID {
	id, err := ExportBody(f)
	if err != nil {
		panic(err)
	}
	return id
}

// goBodyType is a function that was exported by ExportBody.
type goBodyType struct {
	argBytes, resultBytes uint8
	start                 func(*Scheduler, csrc.GoWorkerItem) *Coroutine // makes what C has asked for
}

// goBodyTable has all of them. Looking one up takes no lock.
type goBodyTable struct {
	mu   sync.Mutex
	list atomic.Pointer[[]*goBodyType] // that of an id is at its number; what is there stays
}

var goBodies goBodyTable

func (t *goBodyTable) add(b *goBodyType) (BodyID, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*goBodyType
	if old := t.list.Load(); old != nil {
		list = *old
	}
	id := csrc.GoBody | uint32(len(list))
	list = append(list, b) // readers of the old one do not see so far
	t.list.Store(&list)
	if status := csrc.ExportBody(id, b.argBytes, b.resultBytes); status != csrc.OK {
		return 0, statusError(status)
	}
	return BodyID(id), nil
}

// find is for an id that C knows.
func (t *goBodyTable) find(id uint32) *goBodyType { return (*t.list.Load())[id&^csrc.GoBody] }
