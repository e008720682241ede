package savina

import "time"

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

// Wait waits for the answer to m, as one who asks with a time-out would write it.
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
