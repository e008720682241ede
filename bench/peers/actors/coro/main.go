// Command coro: the actors of package actor.
package main

import (
	"context"

	"github.com/organzine/coro/actor"

	"github.com/organzine/coro/bench/peers/actors/savina"
)

type world struct {
	system  *actor.System
	refs    []actor.Ref[savina.Msg]
	replies [savina.Askers]actor.Reply[savina.Msg] // whom to answer, by the message's sender
}

// A receiver is an actor, and the world in which it sends.
type receiver struct {
	w *world
	a savina.Actor
}

func (r *receiver) Receive(_ *actor.Context[savina.Msg], m savina.Msg) error {
	r.a.Receive(r.w, m)
	return nil
}

func (w *world) Spawn(a savina.Actor) int32 {
	ref, err := actor.Spawn(w.system, func() *receiver { return &receiver{w, a} })
	must(err)
	w.refs = append(w.refs, ref)
	return int32(len(w.refs) - 1)
}

func (w *world) Send(to int32, m savina.Msg) { must(w.refs[:cap(w.refs)][to].Tell(m)) }

func (w *world) Ask(to int32, m savina.Msg) savina.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), savina.AskLimit)
	defer cancel()
	r, err := actor.Ask(ctx, w.refs[to], func(to actor.Reply[savina.Msg]) savina.Msg {
		w.replies[m.From] = to
		return m
	})
	must(err)
	return r
}

func (w *world) Reply(to, m savina.Msg) { must(w.replies[to.From].Answer(m)) }

func (w *world) Stop() { must(w.system.Close()) }

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	savina.Main(func(n int) savina.World {
		system, err := actor.New()
		must(err)
		return &world{system: system, refs: make([]actor.Ref[savina.Msg], 0, n)}
	})
}
