package actor

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/organzine/coro/internal/ctxerr"
)

// ask.go - questions, and the answers that askers wait for.

// asked is a question, for those that do not know the type of its answer.
type asked interface{ fail(gen uint32, err error) }

// A question is where an asker waits for the answer. state has a generation; its last bit says
// whether there is an answer.
//
//	GAS1  answer: takes the bit by a compare-and-swap, writes the answer, and says so (ready)
//	GAS2  asker that gives up: goes on to the next generation by a compare-and-swap. If that
//	      fails an answer is there, or on its way
//	GAS3  asker: reads the answer, goes on to the next generation, and keeps the question for
//	      later
type question[R any] struct {
	state atomic.Uint64
	ready chan struct{}
	v     R
	err   error
	then  func(R, error) // the function of AskThen; nobody waits then
	extra any            // a *nodeExtra[M] of the last asker
}

// A Reply is how a question is answered: once, by anybody, now or later. It is a value that fits
// into a message. Where no answer comes, the asker waits until its context ends.
//
// If a message becomes a dead letter, or is dropped, each Reply in it is failed with why, whether
// the message has asked or was told: a question may be forwarded. A Reply is found in a field of
// the message, also inside of a struct, an array or an interface. What lies behind a pointer, a
// slice or a map is not looked at.
type Reply[R any] struct {
	q   *question[R]
	gen uint64
}

// Answer answers with v. ErrAnswered: nobody waits any more. It never waits.
func (r Reply[R]) Answer(v R) error { return r.give(v, nil) }

// Fail answers with an error.
func (r Reply[R]) Fail(err error) error {
	var none R
	return r.give(none, err)
}

func (r Reply[R]) give(v R, err error) error {
	if r.q == nil || !r.q.answer(r.gen, v, err) {
		return ErrAnswered
	}
	return nil
}

func (q *question[R]) answer(gen uint64, v R, err error) bool {
	if !q.state.CompareAndSwap(gen<<1, gen<<1|1) { // GAS1
		return false
	}
	if q.then != nil {
		q.then(v, err)
		return true
	}
	q.v, q.err = v, err
	q.ready <- struct{}{}
	return true
}

func (q *question[R]) fail(gen uint32, err error) {
	var none R
	if at := q.state.Load() >> 1; uint32(at) == gen {
		q.answer(at, none, err)
	}
}

// questions are the *question[R] of a System that are not in use. A question's channel belongs to
// the bubble of testing/synctest that the System belongs to.
type questions struct {
	answer any // (*R)(nil)
	pool   sync.Pool
}

// questionsOf finds the questions for answers of type R. k remembers those of its first Ask: most
// kinds answer with one type, and a look into the System's map takes a twentieth of an Ask.
func questionsOf[R any](k *kind) *questions {
	answer := any((*R)(nil))
	if first := k.questions.Load(); first != nil && first.answer == answer {
		return first
	}
	found, ok := k.sys.questions.Load(answer)
	if !ok {
		found, _ = k.sys.questions.LoadOrStore(answer, &questions{answer: answer,
			pool: sync.Pool{New: func() any {
				return &question[R]{ready: make(chan struct{}, 1)}
			}}})
	}
	q := found.(*questions)
	k.questions.CompareAndSwap(nil, q)
	return q
}

// Ask sends the message that `message` makes of a Reply, and waits for the answer. It returns the
// error of ctx if that ends before: an answer that comes later is dropped. Without a deadline there
// is no timer. If the message becomes a dead letter, the error is that of the DeadLetter. Ask waits
// for room in a full mailbox, as Send does.
//
// A behaviour may call Ask if its actor is Waiting; others get ErrWaits, and use AskThen. Where the
// asked actor waits for the answer of the asker, and so on, Ask returns a DeadlockError: also where
// they ask through Adapt or a group, and are of different systems. It does not know of what lies
// behind [Forward], of a question that was handed on in another message, and of a parent that
// restarts or ends while its child asks: there the context of Ask ends the wait.
func Ask[R, M any](ctx context.Context, to Ref[M], message func(Reply[R]) M) (R, error) {
	var none R
	if to.c == nil || message == nil {
		return none, errorOf(to.address(), ErrNoRef)
	}
	y := to.c.kind.sys
	if err := y.reached(); err != nil {
		return none, err
	}
	if ctx.Err() != nil {
		return none, ctxerr.Of(ctx)
	}
	h := thisCaller()
	if h != nil {
		if err := h.mayWait(); err != nil {
			return none, err
		}
		defer h.endWait()
	}
	pool := &questionsOf[R](to.c.kind).pool
	q := pool.Get().(*question[R])
	gen := q.state.Load() >> 1
	x, ok := q.extra.(*nodeExtra[M])
	if !ok {
		x = &nodeExtra[M]{ask: q}
		q.extra = x
	}
	if err := to.askWith(ctx, message(Reply[R]{q, gen}), x, uint32(gen), h); err != nil {
		if q.state.CompareAndSwap(gen<<1, (gen+1)<<1) {
			pool.Put(q)
		}
		return none, err
	}
	if done := ctx.Done(); done == nil {
		<-q.ready
	} else {
		select {
		case <-q.ready:
		case <-done:
			if q.state.CompareAndSwap(gen<<1, (gen+1)<<1) { // GAS2
				pool.Put(q)
				return none, ctxerr.Of(ctx)
			}
			<-q.ready
		}
	}
	v, err := q.v, q.err
	q.v, q.err = none, nil
	q.state.Store((gen + 1) << 1) // GAS3
	pool.Put(q)
	return v, err
}

// askWith sends a message that asks, and waits for room. If it is accepted the caller waits for its
// actor until endWait.
func (r Ref[M]) askWith(ctx context.Context, m M, x *nodeExtra[M], gen uint32, h *caller) error {
	c := r.c
	most := c.kind.settings.room
	if most == forwards {
		return c.forwarder().send(ctx, m, x.ask, gen)
	}
	if err := h.beginWait(&c.actor); err != nil {
		return err
	}
	if most > 0 {
		if room := &c.side.Load().room; !room.tryEnter(most) {
			if err := room.wait(ctx, &c.actor); err != nil {
				h.endWait()
				return err
			}
		}
	}
	err := deliverWithRoom(c, m, x, gen, h)
	if err != nil {
		h.endWait() // a group goes on to another one
	}
	return err
}

// AskThen sends the message that `message` makes of a Reply, and does not wait: the answer, or why
// there is none, is one more turn of the asker, in which then is called. What then returns counts
// as what Receive returns does. Where AskThen returns an error, ErrFull or ErrStopped for example,
// the message was not accepted, and then is not called.
//
// then belongs to the state that has asked. Where the asker has ended, or was restarted, before the
// answer comes, the answer is dropped.
func AskThen[R, Q, M any](c *Context[M], to Ref[Q], message func(Reply[R]) Q,
	then func(c *Context[M], v R, err error) error) error {
	c.check()
	if to.c == nil || message == nil || then == nil {
		return errorOf(to.address(), ErrNoRef)
	}
	asker, p, life := c.c, c.c.pool(), c.c.life()
	q := &question[R]{}
	refused := false // though it may be answered: Forward's function has done both
	q.then = func(v R, err error) {
		var none M
		again := false // after a failure of then, by Retry
		_ = p.push(asker, none, &nodeExtra[M]{call: func(c *Context[M]) error {
			if c.c.life() != life || refused {
				return nil
			}
			if !again {
				again = true
				asker.awaited()
			}
			return then(c, v, err)
		}})
	}
	m := message(Reply[R]{q, 0})
	asker.flags += oneAwaited
	accepted := false
	defer func() { // also after a panic of Adapt's function and its like
		if refused = !accepted; refused {
			q.state.CompareAndSwap(0, 1<<1) // GAS2
			asker.awaited()
		}
	}()
	err := to.tellAs(m, &nodeExtra[Q]{ask: q}, 0, c.h)
	accepted = err == nil
	return err
}

// life is the number of the actor's state: how often it was restarted.
func (s *actor) life() uint32 {
	if x := s.side.Load(); x != nil {
		return x.life
	}
	return 0
}
