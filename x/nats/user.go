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

// call calls a user's function, and returns a *failure if that returns an error, panics, or calls
// runtime.Goexit. It costs a goroutine, about 1 µs, so that what ends the goroutine ends it alone.
func (c caller) call(f func() error) error {
	done := make(chan *failure)
	go c.run(f, done)
	if failed := <-done; failed != nil {
		return failed
	}
	return nil
}

func (c caller) run(f func() error, done chan<- *failure) {
	result := &failure{actor.ErrGoexit, actor.ErrGoexit.Error()}
	defer func() { done <- result }()
	if me := asm.Goroutine(); me != 0 {
		inside.Put(me, &c)
		defer inside.Remove(me)
	}
	defer func() {
		if v := recover(); v != nil {
			err := panicked.New(v)
			result = &failure{err, err.Error()}
		}
	}()
	err := f()
	if err == nil {
		result = nil
		return
	}
	result = &failure{err, err.Error()}
}
