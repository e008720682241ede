package actor

import (
	"context"
	"errors"
	"reflect"
)

// forwards is the room of an actorOf that stands for others: it has no mailbox.
const forwards = -1

// A forwarder is the Receiver of an actorOf that stands for others. ask, if not nil, is the asker,
// and gen the generation of its question. tell never waits. send waits for room; the asker of a
// message that asks waits, too (Ask).
type forwarder[M any] interface {
	tell(m M, ask asked, gen uint32) error
	send(ctx context.Context, m M, ask asked, gen uint32) error
	load() (n uint32, lives bool) // as that of Ref
	leadsTo(topic any) bool       // as that of Ref
}

// A forward makes a forwarder a Receiver, which is never called.
type forward[M any] struct{ forwarder[M] }

func (forward[M]) Receive(*Context[M], M) error { return nil }

// forwardTo makes a reference that stands for others.
func forwardTo[M any](y *System, to forwarder[M]) Ref[M] {
	c := &actorOf[M]{recv: forward[M]{to}}
	c.kind = poolOf[M](y).kind(kindKey{reflect.TypeOf(to), settings{room: forwards}})
	return Ref[M]{c}
}

// forwarder is that of an actorOf that stands for others.
func (c *actorOf[M]) forwarder() forwarder[M] { return c.recv.(forward[M]).forwarder }

// leadsTo tells whether a message may come to a *Topic[M], as far as is known of functions.
func (r Ref[M]) leadsTo(topic any) bool {
	return r.c.kind.settings.room == forwards && r.c.forwarder().leadsTo(topic)
}

// tellFor is Tell of a message that may ask.
func (r Ref[M]) tellFor(m M, ask asked, gen uint32) error {
	if ask == nil {
		return r.Tell(m)
	}
	return r.tellAs(m, &nodeExtra[M]{ask: ask}, gen, thisCaller())
}

// sendFor is Send of a message that may ask.
func (r Ref[M]) sendFor(ctx context.Context, m M, ask asked, gen uint32) error {
	if ask == nil {
		return r.Send(ctx, m)
	}
	return r.askWith(ctx, m, &nodeExtra[M]{ask: ask}, gen, thisCaller())
}

type adapter[E, M any] struct {
	to    Ref[M]
	adapt func(E) M
}

func (a *adapter[E, M]) tell(e E, ask asked, gen uint32) error {
	return a.to.tellFor(a.adapt(e), ask, gen)
}

func (a *adapter[E, M]) send(ctx context.Context, e E, ask asked, gen uint32) error {
	return a.to.sendFor(ctx, a.adapt(e), ask, gen)
}

func (a *adapter[E, M]) load() (n uint32, lives bool) { return a.to.load() }

func (a *adapter[E, M]) leadsTo(topic any) bool { return a.to.leadsTo(topic) }

// Adapt makes a reference for messages of another type, which adapt turns into those of `to`. The
// sender calls adapt: a panic of it is the sender's, and nothing was sent. Errors name the actor of
// `to`; Stop, Drain and Watch need that one's own Ref.
func Adapt[E, M any](to Ref[M], adapt func(E) M) (Ref[E], error) {
	if to.c == nil || adapt == nil {
		return Ref[E]{}, errorOf(to.address(), ErrNoRef)
	}
	return forwardTo(to.c.kind.sys, &adapter[E, M]{to, adapt}), nil
}

type forwardFuncs[M any] struct {
	deliver func(M) error
	wait    func(context.Context, M) error
}

// tell delivers m. It does not pass on that m asks: the asker is told deliver's error, and nothing
// else.
func (f *forwardFuncs[M]) tell(m M, _ asked, _ uint32) error { return f.deliver(m) }

func (f *forwardFuncs[M]) send(ctx context.Context, m M, _ asked, _ uint32) error {
	if err := f.deliver(m); !errors.Is(err, ErrFull) {
		return err
	}
	if err := thisCaller().mayWait(); err != nil {
		return err
	}
	return f.wait(ctx, m)
}

func (f *forwardFuncs[M]) load() (n uint32, lives bool) { return 0, true }

func (f *forwardFuncs[M]) leadsTo(any) bool { return false }

// Forward makes a reference to what is no actor of package actor: tell delivers its messages. tell
// never waits, and returns ErrFull and ErrStopped where an actor would. send is for [Ref.Send] and
// [Ask], where tell has returned ErrFull, and waits for room. The sender calls both. Such a
// reference has no end: its Done is nil.
func Forward[M any](y *System, tell func(m M) error, send func(ctx context.Context, m M) error) (
	Ref[M], error,
) {
	if y == nil || y.clock == nil || tell == nil || send == nil {
		return Ref[M]{}, errorf(ErrOption,
			"Forward needs a System that New has made, and two functions")
	}
	return forwardTo(y, &forwardFuncs[M]{tell, send}), nil
}
