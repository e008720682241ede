package nats

import (
	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/internal/asm"
	"github.com/organzine/coro/internal/panicked"
	"github.com/organzine/coro/internal/table"
)

// A PanicError is a panic of a handler, a hook, a Codec, or a method of what these return: Value
// (any) is the argument of panic, and Stack ([]byte) is that of the goroutine, as debug.Stack
// formats it. It wraps the value if that is an error. It is the same type as actor.PanicError.
type PanicError = panicked.Error

// A failure is how a user's function has failed. It has the text of the error, and nothing here
// calls the error's methods, which are the user's too.
type failure struct {
	err  error
	text string
}

func (f *failure) Error() string { return f.text }

// A caller is what calls users' functions: a key's actor, or a node for itself.
type caller struct {
	n *Node
	address
}

// inside has the goroutines that are within users' functions, by asm.Goroutine.
var inside table.Words[caller]

// here is the caller whose function the goroutine is in, nil if it is in none. Where goroutines
// have no numbers it is nil.
func here() *caller { return inside.At(asm.Goroutine()) }

// call calls a user's function, as panicked.Call does, and returns a *failure if that returns an
// error, panics, or calls runtime.Goexit, which is actor.ErrGoexit.
func (c caller) call(f func() error) error {
	var err error
	switch failed := panicked.Call(func() {
		if me := asm.Goroutine(); me != 0 {
			inside.Put(me, &c)
			defer inside.Remove(me)
		}
		err = f()
	}); {
	case failed == panicked.ErrGoexit:
		err = actor.ErrGoexit
	case failed != nil:
		err = failed
	}
	if err == nil {
		return nil
	}
	text := "an error, whose text fails"
	_ = panicked.Call(func() { text = err.Error() })
	return &failure{err, text}
}
