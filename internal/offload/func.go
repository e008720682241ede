package offload

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/table"
)

// A Func is an exported Go function.
type Func struct {
	Name        string
	Arg, Result Type

	// Call makes a call that the function accepts, and ends it unless it returns an error.
	Call func(context.Context, *core.Call) error

	// Inline makes the call at i of a worker's, which the function accepts, and those after it,
	// up to n, that are of the same kind. It returns how far it has come.
	Inline func(ctx context.Context, calls core.Calls, i, n int) int
}

// A Type is how a type goes from and to C.
type Type struct {
	Bytes   uintptr // its size, or
	Varying bool    // it is []byte
}

// funcs has all exported functions: that of an id is at the id less 1.
var funcs table.Table[Func]

// find is nil for an unknown id.
func find(id uint32) *Func { return funcs.At(id - 1) }

var names sync.Map // of the functions that C finds by a name -> true

// Add exports a function for good, and returns its id, which is not 0.
func Add(f *Func) uint32 { return funcs.Add(f) + 1 }

// AddNamed is Add, and C finds the function by its name. taken: another one has that name.
func AddNamed(f *Func) (id uint32, taken bool, status core.Status) {
	if _, taken := names.LoadOrStore(f.Name, true); taken {
		return 0, true, core.OK
	}
	id = Add(f)
	if status = core.ExportName(f.Name, id); status != core.OK {
		names.Delete(f.Name)
		return 0, false, status
	}
	return id, false, core.OK
}

// Accepts tells whether the call fits the function, which may be nil.
func (f *Func) Accepts(c *core.Call) bool {
	return f != nil && (f.Arg.Varying || c.ArgBytes() == f.Arg.Bytes) &&
		(c.Room() >= f.Result.Bytes || c.Result() == nil)
}

// refuse ends a call that does not fit.
func (f *Func) refuse(c *core.Call) {
	switch {
	case f == nil:
		c.End(core.Invalid, 0)
	case !f.Arg.Varying && c.ArgBytes() != f.Arg.Bytes:
		c.End(core.Invalid, f.Arg.Bytes)
	default:
		c.End(core.TooBig, f.Result.Bytes)
	}
}

// Failed ends a call whose function has returned an error.
func Failed(c *core.Call, err error) { c.Fail(errorText(fmt.Sprint(err))) }

// panicked ends a call whose function has panicked. A deferred function calls it.
func panicked(c *core.Call, value any) {
	c.Fail(errorText(fmt.Sprintf("panic: %v\n\n%s", value, debug.Stack())))
}

// errorText is the part of a text that is kept.
func errorText(s string) string { return s[:min(len(s), 16<<10)] }
