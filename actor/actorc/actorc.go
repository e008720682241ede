// Package actorc is the Go side of the actors in C ([docs/actors.md]): Go sends to them and asks
// them, and handles the messages of some. It joins them with the actors of package actor: each
// sends to the other as to its own.
//
// [docs/actors.md]: https://github.com/organzine/coro/blob/main/docs/actors.md
package actorc

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/internal/bubble"
	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/ctxerr"
)

// The pauses of Send while the mailbox in C is full: the first, about as long as an actor in C
// takes for a full mailbox, and the longest. Of tells them: no figure.
const (
	pauseLeast = 50 * time.Microsecond
	pauseMost  = 10 * time.Millisecond
)

// Of makes a reference for an actor in C: a message goes there as the bytes of an M, of a kind
// that the actor knows (Actor.Send). M has no Go pointers, and MessageBytes bytes at
// most; else the error is a *coro.OptionError. Where the mailbox in C is full, Send of the
// reference tries again, after 50 µs and then after twice the time, up to 10 ms. An actor in C
// that has ended is an actor.ErrStopped.
func Of[M any](y *actor.System, to Actor, kind uint32) (actor.Ref[M], error) {
	l, err := layoutOf[M]("actorc.Of", MessageBytes)
	if err == nil {
		err = l.carriable("actorc.Of")
	}
	if err == nil && core.FitsActor(uint64(to), l.bytes, l.buffers, 0, 0) == core.Perm {
		err = disagrees("actorc.Of", l)
	}
	if err != nil {
		return actor.Ref[M]{}, err
	}
	tell := func(m M) error {
		if err := userKind("actorc.Of", kind); err != nil {
			return err
		}
		return errorOf(l.send("actorc.Of", to, kind, unsafe.Pointer(&m)))
	}
	return actor.Forward(y, tell, func(ctx context.Context, m M) error {
		for pause := pauseLeast; ; pause = min(2*pause, pauseMost) {
			if err := tell(m); !errors.Is(err, actor.ErrFull) {
				return err
			}
			if bubble.In() { // time there passes before the actor in C has run
				return coro.ErrBubble
			}
			select {
			case <-ctx.Done():
				return ctxerr.Of(ctx)
			case <-time.After(pause):
			}
		}
	})
}

// errorOf is an error of an actor in C as package actor has it.
func errorOf(err error) error {
	if errors.Is(err, coro.ErrClosed) {
		return fmt.Errorf("%w: %w", actor.ErrStopped, err)
	}
	return err
}

// In makes an actor in C, of s, whose messages are those of `to`: decode makes an M of each, and
// copies what it keeps; it must not wait. Where to's mailbox is full, messages wait in C, in
// order. A message that decode refuses, and one that `to` does not take since it has ended, is a
// dead letter in C. The actor in C is stopped by its own Stop or Drain, and ends with s.
//
// With MessagesOf a message has Buffers, and decode, as Value, has them in its M. They are the
// actor's of Go then, as handles in a Go value: package actor does not look into messages.
func In[M any](s *coro.Scheduler, to actor.Ref[M], decode func(Message) (M, error),
	opts ...SpawnOption,
) (Actor, error) {
	if decode == nil || to == (actor.Ref[M]{}) {
		return 0, refused("actorc.In", nil, "needs a reference, and a function that decodes messages")
	}
	return Spawn(s, &receiver[M]{to: to, decode: decode}, opts...)
}

// A receiver hands messages over to an actor.
type receiver[M any] struct {
	to     actor.Ref[M]
	decode func(Message) (M, error)
	left   M // the message that Wait gets, and what is wrong with it
	err    error
}

func (r *receiver[M]) Receive(messages []Message) int {
	for i, m := range messages {
		r.decodes(m)
		if r.err != nil || r.to.Tell(r.left) != nil {
			return i
		}
	}
	return len(messages)
}

// decodes decodes m. A panic of decode is an error.
func (r *receiver[M]) decodes(m Message) {
	defer func() {
		if v := recover(); v != nil {
			r.err = fmt.Errorf("actorc: decode has panicked: %v", v)
		}
	}()
	r.left, r.err = r.decode(m)
}

func (r *receiver[M]) Wait(ctx context.Context, _ Message) error {
	if r.err != nil {
		return r.err
	}
	return r.to.Send(ctx, r.left)
}

func (r *receiver[M]) Ended() {}
