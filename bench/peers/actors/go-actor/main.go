// Command goactor: go-actor's actors: a worker and a typed mailbox each, the default (unbounded)
// one.
package main

import (
	"github.com/vladopajic/go-actor/actor"

	"github.com/organzine/coro/bench/internal/savina"
	"github.com/organzine/coro/bench/peers/actors/peer"
)

type world struct {
	savina.Replies // go-actor has no questions
	mailboxes      []actor.Mailbox[savina.Msg]
	actors         []actor.Actor
	ctx            actor.Context
}

type worker struct {
	w    *world
	a    savina.Actor
	from <-chan savina.Msg
}

func (k *worker) DoWork(c actor.Context) actor.WorkerStatus {
	select {
	case <-c.Done():
		return actor.WorkerEnd
	case m, ok := <-k.from:
		if !ok {
			return actor.WorkerEnd
		}
		k.a.Receive(k.w, m)
		return actor.WorkerContinue
	}
}

func (w *world) Spawn(a savina.Actor) int32 {
	mailbox := actor.NewMailbox[savina.Msg]()
	one := actor.Combine(mailbox, actor.New(&worker{w, a, mailbox.ReceiveC()})).Build()
	w.mailboxes = append(w.mailboxes, mailbox)
	w.actors = append(w.actors, one)
	one.Start()
	return int32(len(w.mailboxes) - 1)
}

func (w *world) Send(to int32, m savina.Msg) {
	if err := w.mailboxes[:cap(w.mailboxes)][to].Send(w.ctx, m); err != nil {
		panic(err)
	}
}

func (w *world) Ask(to int32, m savina.Msg) savina.Msg {
	w.Send(to, m)
	return w.Wait(m)
}

func (w *world) Stop() error {
	for _, a := range w.actors {
		a.Stop()
	}
	return nil
}

func main() {
	peer.Main(func(n int) (savina.World, error) {
		return &world{savina.NewReplies(), make([]actor.Mailbox[savina.Msg], 0, n),
			make([]actor.Actor, 0, n), actor.ContextStarted()}, nil
	})
}
