package actor

import "github.com/organzine/coro/internal/panicked"

// A hook is a function of the program's, which is told what has happened. It runs on a goroutine of
// its own, which counts as the caller that waits for it: a call in the hook that waits returns what
// it returns in the behaviour that the event comes from.
type hook[A any] struct{ panicked.Hook[told[A]] }

type told[A any] struct {
	what A
	h    *caller // nil: none of package actor
}

func (k *hook[A]) set(name string, f func(A)) {
	k.Name, k.F = name, nil
	if f != nil {
		k.F = func(t told[A]) {
			defer t.h.register()() // also after a runtime.Goexit
			f(t.what)
		}
	}
}

func (k *hook[A]) tell(what A) {
	if !k.IsThere() {
		return
	}
	h := thisCaller()
	if h != nil {
		defer h.actor.sideOf().calls(k.Name)()
	}
	k.Call(told[A]{what, h})
}
