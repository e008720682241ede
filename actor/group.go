package actor

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync/atomic"
)

// A forwarder is the Receiver of a cell that stands for others. ask, if not nil, is the asker.
type forwarder[M any] interface {
	tell(m M, ask asked, gen uint32) error
	send(ctx context.Context, m M) error
}

// A forward makes a forwarder a Receiver, which is never called.
type forward[M any] struct{ forwarder[M] }

func (forward[M]) Receive(*Context[M], M) error { return nil }

// forwardTo makes a reference that stands for others.
func forwardTo[M any](y *System, to forwarder[M]) Ref[M] {
	p := poolOf[M](y)
	c := &cell[M]{recv: forward[M]{to}}
	c.kind = p.kind(kindKey{receiver: reflect.TypeOf(to)})
	c.box.Store(&p.forward)
	return Ref[M]{c}
}

// tellAs is Tell of a message that may ask.
func (r Ref[M]) tellAs(m M, ask asked, gen uint32) error {
	if ask == nil {
		return r.Tell(m)
	}
	if err := r.c.takePlace(); err != nil {
		return err
	}
	return deliverWithRoom(r.c, m, &nodeExtra[M]{ask: ask}, gen, thisCaller())
}

type adapter[E, M any] struct {
	to    Ref[M]
	adapt func(E) M
}

func (a *adapter[E, M]) tell(e E, ask asked, gen uint32) error {
	return a.to.tellAs(a.adapt(e), ask, gen)
}

func (a *adapter[E, M]) send(ctx context.Context, e E) error { return a.to.Send(ctx, a.adapt(e)) }

// Adapt makes a reference for messages of another type, which adapt turns into those of `to`. The
// sender calls adapt. Errors name the actor of `to`; Stop, Drain and Watch need that one's own Ref.
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

// tell delivers m. Of a question, whose asker is told by deliver's error alone, nothing else is
// known.
func (f *forwardFuncs[M]) tell(m M, _ asked, _ uint32) error { return f.deliver(m) }

func (f *forwardFuncs[M]) send(ctx context.Context, m M) error { return f.wait(ctx, m) }

// Forward makes a reference whose messages tell delivers, to whatever is no actor of package
// actor. It never waits, and returns ErrFull and ErrStopped where an actor would. send is for
// [Ref.Send], and waits for room. Both are called by the sender. Such a reference has no end: its
// Done is nil.
func Forward[M any](y *System, tell func(m M) error, send func(ctx context.Context, m M) error) (
	Ref[M], error,
) {
	if tell == nil || send == nil {
		return Ref[M]{}, errorf(ErrOption, "Forward needs two functions")
	}
	return forwardTo(y, &forwardFuncs[M]{tell, send}), nil
}

// A group sends each message to one of several actors, in the order of choice that `choose` has,
// the first that has not ended.
type group[M any] struct {
	refs   []Ref[M]
	choose func(m M, try int) Ref[M]
}

func (g *group[M]) tell(m M, ask asked, gen uint32) error {
	return g.try(m, func(r Ref[M]) error { return r.tellAs(m, ask, gen) })
}

func (g *group[M]) send(ctx context.Context, m M) error {
	return g.try(m, func(r Ref[M]) error { return r.Send(ctx, m) })
}

func (g *group[M]) try(m M, tell func(Ref[M]) error) (err error) {
	for i := range g.refs {
		if err = tell(g.choose(m, i)); err == nil || !errors.Is(err, ErrStopped) {
			return err
		}
	}
	return err
}

func groupOf[M any](refs []Ref[M]) (*group[M], error) {
	if len(refs) == 0 || slices.Contains(refs, Ref[M]{}) {
		return nil, errorOf(nil, ErrNoRef)
	}
	return &group[M]{refs: slices.Clone(refs)}, nil
}

// RoundRobin makes a reference that sends to the given ones by turns. Those that have ended are
// left out.
func RoundRobin[M any](refs ...Ref[M]) (Ref[M], error) {
	g, err := groupOf(refs)
	if err != nil {
		return Ref[M]{}, err
	}
	var next atomic.Uint64
	g.choose = func(M, int) Ref[M] { return g.refs[(next.Add(1)-1)%uint64(len(g.refs))] }
	return forwardTo(refs[0].c.kind.sys, g), nil
}

// LeastLoaded makes a reference that sends to the one of the given ones that has the fewest
// messages, about, and of several such to the first behind the last choice. Those that have ended
// are left out. It costs a look at each of them.
func LeastLoaded[M any](refs ...Ref[M]) (Ref[M], error) {
	g, err := groupOf(refs)
	if err != nil {
		return Ref[M]{}, err
	}
	var next atomic.Uint64
	g.choose = func(_ M, try int) Ref[M] {
		start := next.Add(1)
		if try > 0 {
			return g.refs[start%uint64(len(g.refs))]
		}
		best, least := Ref[M]{}, uint32(0)
		for i := range g.refs {
			r := g.refs[(start+uint64(i))%uint64(len(g.refs))]
			load, lives := r.load()
			if lives && (best.c == nil || load < least) {
				best, least = r, load
			}
		}
		if best.c == nil {
			return g.refs[0]
		}
		return best
	}
	return forwardTo(refs[0].c.kind.sys, g), nil
}

// load is how many messages an actor has, about.
func (r Ref[M]) load() (n uint32, lives bool) {
	p := r.c.pool()
	switch top := r.c.box.Load(); top {
	case nil:
		return atomic.LoadUint32(&r.c.state), true
	case &p.forward:
		return 0, true
	case &p.ended:
		return 0, false
	default:
		return top.count() + 1, true
	}
}

// ConsistentHash makes a reference that sends messages of the same key to the same one of the given
// ones (rendezvous hashing, Thaler and Ravishankar 1996). Where that has ended its keys go to the
// others, and those of the others stay. It costs a multiplication for each of them.
func ConsistentHash[M any](key func(M) uint64, refs ...Ref[M]) (Ref[M], error) {
	g, err := groupOf(refs)
	if err != nil {
		return Ref[M]{}, err
	}
	if key == nil {
		return Ref[M]{}, errorf(ErrOption, "ConsistentHash: no key")
	}
	g.choose = func(m M, try int) Ref[M] {
		k := mix(key(m))
		if try == 0 {
			best, most := 0, uint64(0)
			for i := range g.refs {
				if w := mix(k ^ uint64(i+1)*0x9e3779b97f4a7c15); w >= most {
					best, most = i, w
				}
			}
			return g.refs[best]
		}
		order := make([]int, len(g.refs))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int {
			if mix(k^uint64(a+1)*0x9e3779b97f4a7c15) > mix(k^uint64(b+1)*0x9e3779b97f4a7c15) {
				return -1
			}
			return 1
		})
		return g.refs[order[try]]
	}
	return forwardTo(refs[0].c.kind.sys, g), nil
}

// mix spreads the bits of x (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
