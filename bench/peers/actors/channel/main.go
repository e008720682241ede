// Command channel: goroutines with a buffered channel each, as Go is written without a library. The
// channels hold 64 messages, or one of each actor: where two fill each other's they wait for ever.
package main

import (
	"sync"

	"github.com/organzine/coro/bench/peers/actors/savina"
)

const room = 64

type world struct {
	savina.Replies
	room      int
	mailboxes []chan savina.Msg
	ends      sync.WaitGroup
}

func (w *world) Spawn(a savina.Actor) int32 {
	mailbox := make(chan savina.Msg, w.room)
	w.mailboxes = append(w.mailboxes, mailbox) // there is room: others read the same array
	w.ends.Go(func() {
		for m := range mailbox {
			a.Receive(w, m)
		}
	})
	return int32(len(w.mailboxes) - 1)
}

func (w *world) Send(to int32, m savina.Msg) { w.mailboxes[:cap(w.mailboxes)][to] <- m }

func (w *world) Ask(to int32, m savina.Msg) savina.Msg {
	w.Send(to, m)
	return w.Wait(m)
}

func (w *world) Stop() {
	for _, mailbox := range w.mailboxes {
		close(mailbox)
	}
	w.ends.Wait()
}

func main() {
	savina.Main(func(n int) savina.World {
		return &world{Replies: savina.NewReplies(), room: max(room, n),
			mailboxes: make([]chan savina.Msg, 0, n)}
	})
}
