package actor

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
)

// A group sends each message to the member that `choose` has chosen for it. A member that refuses
// with ErrStopped has ended, and never takes a message again: it is taken away, and another one is
// chosen. So a group refuses with ErrStopped only when all members have. The last one stays, so
// that its error is what senders get.
type group[M any] struct {
	members atomic.Pointer[[]member[M]]
	key     func(m M) uint64 // the key of a message, called once for each; nil: none is needed
	choose  func(list []member[M], key uint64) Ref[M]
}

type member[M any] struct {
	Ref[M]
	salt uint64 // of ConsistentHash: the member's own, whatever others are left
}

func groupOf[M any](refs []Ref[M], choose func([]member[M], uint64) Ref[M]) (*group[M], error) {
	if len(refs) == 0 || slices.Contains(refs, Ref[M]{}) {
		return nil, errorOf(nil, ErrNoRef)
	}
	list := make([]member[M], len(refs))
	for i, r := range refs {
		list[i] = member[M]{r, uint64(i+1) * 0x9e3779b97f4a7c15}
	}
	g := &group[M]{choose: choose}
	g.members.Store(&list)
	return g, nil
}

// ref is the reference that stands for a group.
func (g *group[M]) ref() Ref[M] { return forwardTo((*g.members.Load())[0].c.kind.sys, g) }

func (g *group[M]) tell(m M, ask asked, gen uint32) error {
	return g.try(m, func(r Ref[M]) error { return r.tellFor(m, ask, gen) })
}

func (g *group[M]) send(ctx context.Context, m M, ask asked, gen uint32) error {
	return g.try(m, func(r Ref[M]) error { return r.sendFor(ctx, m, ask, gen) })
}

func (g *group[M]) try(m M, tell func(Ref[M]) error) error {
	key := uint64(0)
	if g.key != nil {
		key = g.key(m)
	}
	for {
		r := g.choose(*g.members.Load(), key)
		if err := tell(r); !isOfEnded(err) || !g.drop(r) {
			return err
		}
	}
}

// isOfEnded tells whether err is of a receiver that has ended, and not of a context that has ended
// with ErrStopped as its cause.
func isOfEnded(err error) bool {
	return errors.Is(err, ErrStopped) && !errors.Is(err, context.Canceled) &&
		!errors.Is(err, context.DeadlineExceeded)
}

// drop takes a member away that has ended. False: it is the last one.
func (g *group[M]) drop(r Ref[M]) bool {
	for {
		old := g.members.Load()
		left := slices.DeleteFunc(slices.Clone(*old),
			func(x member[M]) bool { return x.Ref == r })
		switch {
		case len(left) == 0:
			return false
		case len(left) == len(*old), g.members.CompareAndSwap(old, &left):
			return true
		}
	}
}

// load is that of the member that has the fewest messages.
func (g *group[M]) load() (n uint32, lives bool) { return leastOf(*g.members.Load(), 0).load() }

func (g *group[M]) leadsTo(topic any) bool {
	return slices.ContainsFunc(*g.members.Load(),
		func(r member[M]) bool { return r.leadsTo(topic) })
}

// RoundRobin makes a reference that sends to the given ones by turns. Those that have ended are
// left out. A message costs an atomic step more than to an actor itself.
func RoundRobin[M any](refs ...Ref[M]) (Ref[M], error) {
	var next atomic.Uint64
	g, err := groupOf(refs, func(list []member[M], _ uint64) Ref[M] {
		return list[(next.Add(1)-1)%uint64(len(list))].Ref
	})
	if err != nil {
		return Ref[M]{}, err
	}
	return g.ref(), nil
}

// LeastLoaded makes a reference that sends to the one of the given ones that has the fewest
// messages, about, and of several such to the first behind the last choice. Those that have ended
// are left out. A group counts as its member that has the fewest, and what Forward has made, or
// a topic, as empty. It costs a look at each of them.
func LeastLoaded[M any](refs ...Ref[M]) (Ref[M], error) {
	var next atomic.Uint64
	g, err := groupOf(refs, func(list []member[M], _ uint64) Ref[M] {
		return leastOf(list, next.Add(1))
	})
	if err != nil {
		return Ref[M]{}, err
	}
	return g.ref(), nil
}

// leastOf is the member that has the fewest messages, the first such from start on; any, if all
// have ended.
func leastOf[M any](list []member[M], start uint64) Ref[M] {
	best, least := list[0].Ref, uint32(0)
	found := false
	for i := range list {
		r := list[(start+uint64(i))%uint64(len(list))].Ref
		if load, lives := r.load(); lives && (!found || load < least) {
			best, least, found = r, load, true
		}
	}
	return best
}

// load is how many messages a reference's actor has, about.
func (r Ref[M]) load() (n uint32, lives bool) {
	c := r.c
	if c.kind.settings.room == forwards {
		return c.forwarder().load()
	}
	switch top := c.box.Load(); top {
	case nil:
		return atomic.LoadUint32(&c.state), true
	case &c.pool().ended:
		return 0, false
	default:
		return top.count() + 1, true
	}
}

// ConsistentHash makes a reference that sends messages of the same key to the same one of the given
// ones (rendezvous hashing, Thaler and Ravishankar 1996). Where that has ended its keys go to the
// others, and those of the others stay. It costs a multiplication for each of them. The sender
// calls key, once for each message: a panic of it is the sender's, and nothing was sent.
func ConsistentHash[M any](key func(M) uint64, refs ...Ref[M]) (Ref[M], error) {
	g, err := groupOf(refs, func(list []member[M], key uint64) Ref[M] {
		k := mix(key)
		best, most := 0, uint64(0)
		for i := range list {
			if w := mix(k ^ list[i].salt); w >= most {
				best, most = i, w
			}
		}
		return list[best].Ref
	})
	if err != nil {
		return Ref[M]{}, err
	}
	if key == nil {
		return Ref[M]{}, errorf(ErrOption, "ConsistentHash: no key")
	}
	g.key = key
	return g.ref(), nil
}

// mix spreads the bits of x (the finalizer of SplitMix64).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
