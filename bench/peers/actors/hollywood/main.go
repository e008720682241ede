// Command hollywood: Hollywood's actors as its README has them, with its defaults: messages are
// values, told apart by type.
package main

import (
	"io"
	"log/slog"

	"github.com/anthdm/hollywood/actor"

	"github.com/organzine/coro/bench/internal/savina"
	"github.com/organzine/coro/bench/peers/actors/peer"
)

type world struct {
	engine *actor.Engine
	pids   []*actor.PID
}

// A receiver is an actor, and the world in which it sends.
type receiver struct {
	*world
	c *actor.Context
	a savina.Actor
}

func (r *receiver) Receive(c *actor.Context) {
	if m, ok := c.Message().(savina.Msg); ok {
		r.c = c
		r.a.Receive(r, m)
	}
}

func (r *receiver) Reply(_, m savina.Msg) { r.c.Respond(m) }

func (w *world) Reply(_, _ savina.Msg) { panic("a reply from outside") }

func (w *world) Spawn(a savina.Actor) int32 {
	pid := w.engine.Spawn(func() actor.Receiver { return &receiver{world: w, a: a} }, "a")
	w.pids = append(w.pids, pid)
	return int32(len(w.pids) - 1)
}

func (w *world) Send(to int32, m savina.Msg) { w.engine.Send(w.pids[:cap(w.pids)][to], m) }

func (w *world) Ask(to int32, m savina.Msg) savina.Msg {
	r, err := w.engine.Request(w.pids[to], m, savina.AskLimit).Result()
	if err != nil {
		panic(err)
	}
	return r.(savina.Msg)
}

func (w *world) Stop() error {
	for _, pid := range w.pids {
		<-w.engine.Poison(pid).Done()
	}
	return nil
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil)))
	peer.Main(func(n int) (savina.World, error) {
		engine, err := actor.NewEngine(actor.NewEngineConfig())
		return &world{engine, make([]*actor.PID, 0, n)}, err
	})
}
