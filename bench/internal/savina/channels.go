package savina

import (
	"sync"
	"time"
)

// Replies are answers by channels, for a system that has no questions of its own: one for each
// asker.
type Replies [Askers]chan Msg

// NewReplies makes them.
func NewReplies() (r Replies) {
	for i := range r {
		r[i] = make(chan Msg, 1)
	}
	return r
}

// Wait waits for the answer to m, with a time-out, as it is written with channels.
func (r *Replies) Wait(m Msg) Msg {
	select {
	case a := <-r[m.From]:
		return a
	case <-time.After(AskLimit):
		panic("no answer")
	}
}

// Reply answers to.
func (r *Replies) Reply(to, m Msg) { r[to.From] <- m }

// Channels is a World of goroutines with a buffered channel each, as Go is written without a
// library.
type Channels struct {
	Replies
	in   []chan Msg
	n    int
	ends sync.WaitGroup
}

// NewChannels makes one of n actors, whose channels have room for `room` messages.
func NewChannels(n, room int) *Channels {
	w := &Channels{Replies: NewReplies(), in: make([]chan Msg, n)}
	for i := range w.in {
		w.in[i] = make(chan Msg, room)
	}
	return w
}

// Spawn is of World.
func (w *Channels) Spawn(a Actor) int32 {
	in := w.in[w.n]
	w.n++
	w.ends.Go(func() {
		for m := range in {
			a.Receive(w, m)
		}
	})
	return int32(w.n - 1)
}

// Send is of World.
func (w *Channels) Send(to int32, m Msg) { w.in[to] <- m }

// Ask is of World.
func (w *Channels) Ask(to int32, m Msg) Msg {
	w.Send(to, m)
	return w.Wait(m)
}

// Stop is of World.
func (w *Channels) Stop() error {
	for _, in := range w.in {
		close(in)
	}
	w.ends.Wait()
	return nil
}
