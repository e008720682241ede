// Command protoactor: Proto.Actor's actors, with its defaults: messages are values, told apart by
// type.
package main

import (
	"io"
	"log/slog"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/organzine/coro/bench/internal/savina"
	"github.com/organzine/coro/bench/peers/actors/peer"
)

type world struct {
	system *actor.ActorSystem
	pids   []*actor.PID
}

// A receiver is an actor, and the world in which it sends.
type receiver struct {
	*world
	c actor.Context
	a savina.Actor
}

func (r *receiver) Receive(c actor.Context) {
	if m, ok := c.Message().(savina.Msg); ok {
		r.c = c
		r.a.Receive(r, m)
	}
}

func (r *receiver) Reply(_, m savina.Msg) { r.c.Respond(m) }

func (w *world) Reply(_, _ savina.Msg) { panic("a reply from outside") }

func (w *world) Spawn(a savina.Actor) int32 {
	pid := w.system.Root.Spawn(actor.PropsFromProducer(func() actor.Actor {
		return &receiver{world: w, a: a}
	}))
	w.pids = append(w.pids, pid)
	return int32(len(w.pids) - 1)
}

func (w *world) Send(to int32, m savina.Msg) { w.system.Root.Send(w.pids[:cap(w.pids)][to], m) }

func (w *world) Ask(to int32, m savina.Msg) savina.Msg {
	r, err := w.system.Root.RequestFuture(w.pids[to], m, savina.AskLimit).Result()
	if err != nil {
		panic(err)
	}
	return r.(savina.Msg)
}

func (w *world) Stop() error {
	for _, pid := range w.pids {
		if err := w.system.Root.StopFuture(pid).Wait(); err != nil {
			return err
		}
	}
	w.system.Shutdown()
	return nil
}

func main() {
	quiet := actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.NewTextHandler(io.Discard, nil))
	})
	peer.Main(func(n int) (savina.World, error) {
		return &world{actor.NewActorSystem(quiet), make([]*actor.PID, 0, n)}, nil
	})
}
