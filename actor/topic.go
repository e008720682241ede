package actor

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// A Topic sends each message to all that have subscribed to it. Messages are published by
// [Ref.Tell] and [Ref.Send] of its Ref. All methods may be called by any goroutine, and none waits.
//
// The publisher sends to one subscriber after the other, in the order of their subscriptions, so
// that each of them gets the messages of one publisher in the order of the sends. That costs a Tell
// for each subscriber, and no lock. Without subscribers nothing happens.
//
//   - Tell returns nil. What a subscriber refuses, as its mailbox is full, becomes a dead letter of
//     that subscriber ([Refused]).
//   - Send waits for room of each subscriber in turn. Where that ends without room, by the context
//     for example, the subscriber has not got the message, and the others get it all the same.
//     Send returns these errors, joined, each an [Error] that names the subscriber.
//   - A subscriber that has ended is left out, and forgotten.
//   - Ask and AskThen return [ErrNoAnswer]. A [Reply] in a message that is told has one answer, the
//     first that comes; a subscriber whose message becomes a dead letter fails it.
//   - A panic of Adapt's function, and its like, of a subscriber is the publisher's. The others get
//     the message all the same.
//
// A Topic is no actor: it has no mailbox and no end, and Done of its Ref is nil. Its subscribers
// may be of several systems.
type Topic[M any] struct {
	ref  Ref[M]
	mu   sync.Mutex               // of those that change list
	list atomic.Pointer[[]Ref[M]] // what lies below the length of a list never changes
}

// topicsMu is held while something that stands for others subscribes: two that do so at a time
// would not see the circle that they close together.
var topicsMu sync.Mutex

// NewTopic makes a topic without subscribers. It takes some 150 bytes, and needs no end.
func NewTopic[M any](y *System) (*Topic[M], error) {
	if y == nil || y.clock == nil {
		return nil, errorf(ErrOption, "NewTopic needs a System that New has made")
	}
	t := &Topic[M]{}
	t.list.Store(&[]Ref[M]{})
	t.ref = forwardTo(y, t)
	return t, nil
}

// Ref is the reference that publishes what it is sent. It is the zero Ref of a zero Topic.
func (t *Topic[M]) Ref() Ref[M] {
	if t == nil {
		return Ref[M]{}
	}
	return t.ref
}

// Subscribe makes r a subscriber: it gets each message whose Tell or Send begins later, and may get
// one whose Tell or Send has begun. An r that has subscribed already stays, and gets each message
// once. An r that stands for others may subscribe, another topic's too; but an r whose messages
// would come back to the topic is an ErrOption. It does not know of what lies behind [Forward]. The
// zero Ref is an ErrNoRef. It costs a look at each subscriber.
func (t *Topic[M]) Subscribe(r Ref[M]) error {
	if t == nil || t.ref.c == nil {
		return errorf(ErrOption, "a zero Topic: make it with NewTopic")
	}
	if r.c == nil {
		return errorOf(nil, ErrNoRef)
	}
	if !r.isActor() {
		topicsMu.Lock()
		defer topicsMu.Unlock()
		if r.leadsTo(t) {
			return errorf(ErrOption, "Subscribe: messages to %s would come back to the topic: "+
				"unsubscribe what leads back to it first", r.Name())
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	list := *t.list.Load()
	if slices.Contains(list, r) {
		return nil
	}
	if len(list) == cap(list) {
		list = slices.DeleteFunc(slices.Clone(list), Ref[M].hasEnded)
		list = slices.Grow(list, len(list)+4)
	}
	list = append(list, r)
	t.list.Store(&list)
	return nil
}

// hasEnded tells whether r's actor, or all that r stands for, have ended.
func (r Ref[M]) hasEnded() bool {
	_, lives := r.load()
	return !lives
}

// Unsubscribe takes r's subscription back. r gets no message whose Tell or Send begins later; one
// that has begun may still come. False: r is no subscriber, perhaps since it has ended. It costs a
// copy of the list of subscribers.
func (t *Topic[M]) Unsubscribe(r Ref[M]) bool {
	if t == nil || t.ref.c == nil {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.list.Load()
	i := slices.Index(old, r)
	if i < 0 {
		return false
	}
	list := slices.Delete(slices.Clone(old), i, i+1)
	t.list.Store(&list)
	return true
}

func (t *Topic[M]) tell(m M, ask asked, _ uint32) error {
	if ask != nil {
		return errorOf(t.ref.address(), ErrNoAnswer)
	}
	t.publish(*t.list.Load(), func(r Ref[M]) {
		if err := r.Tell(m); err != nil && !t.forgets(r, err) {
			r.c.pool().deadMessage(r.c, m, Refused, err)
		}
	})
	return nil
}

func (t *Topic[M]) send(ctx context.Context, m M, ask asked, _ uint32) error {
	if ask != nil {
		return errorOf(t.ref.address(), ErrNoAnswer)
	}
	var errs []error
	t.publish(*t.list.Load(), func(r Ref[M]) {
		if err := r.Send(ctx, m); err != nil && !t.forgets(r, err) {
			errs = append(errs, errorOf(r.address(), err))
		}
	})
	return errors.Join(errs...)
}

// forgets takes a subscriber away, if it has refused since it has ended.
func (t *Topic[M]) forgets(r Ref[M], err error) bool {
	if !isOfEnded(err) {
		return false
	}
	t.Unsubscribe(r)
	return true
}

// publish calls send for each subscriber: also for those behind one with which it panics, or ends
// the goroutine.
func (t *Topic[M]) publish(list []Ref[M], send func(Ref[M])) {
	defer func() {
		if len(list) > 0 {
			t.publish(list, send)
		}
	}()
	for len(list) > 0 {
		r := list[0]
		list = list[1:]
		send(r)
	}
}

// load is that of a receiver that takes all messages.
func (t *Topic[M]) load() (n uint32, lives bool) { return 0, true }

func (t *Topic[M]) leadsTo(topic any) bool {
	return t == topic || slices.ContainsFunc(*t.list.Load(),
		func(r Ref[M]) bool { return r.leadsTo(topic) })
}
