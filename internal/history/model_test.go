//go:build cgo

package history_test

import (
	"fmt"

	"github.com/anishathalye/porcupine"
	"github.com/organzine/coro/internal/history"
)

// An input is a call of a client, with what came of it.
type input struct {
	history.Op
	client int
}

var kindNames = [...]string{"send", "recv", "close", "select", "acquire", "release", "lock",
	"unlock", "read", "write", "rwunlock", "park", "wake", "join", "end"}

func (in input) String() string {
	return fmt.Sprintf(
		"client %d: %s object %d values %v sends %b may wait %d ns: status %d, case %d, got %d",
		in.client, kindNames[in.Kind], in.Object, in.Value, in.Sends, in.WaitNS, in.Status,
		in.Index, in.Got)
}

// A queue is what is in a channel.
type queue struct {
	n int
	v [2 * history.Clients]int64
}

// A state is that of all objects of a history.
type state struct {
	queue   [history.Chans]queue
	closed  [history.Chans]bool
	permits int // of the semaphore
	owner   int // of the mutex, or the writer: client + 1; 0: none
	readers int
	parks   [history.Clients]int
	ended   [history.Clients]bool
}

// modelOf says what single calls do in the present history of b.
//
// A call that could wait, and returned as its time was over, is explained by any state: the time
// may have been over before the call looked. A call that could not wait tells what it saw.
func modelOf(b *bench) porcupine.Model {
	caps := b.caps
	return porcupine.Model{
		Init: func() any { return state{permits: b.free} },
		Step: func(s, in, _ any) (bool, any) {
			now := s.(state)
			done := now.step(in.(input), caps)
			return done, now
		},
	}
}

// An unbuffered channel is taken for one of a single value here: met checks that its values never
// lie in it.
func room(capacity int) int { return max(capacity, 1) }

func (s *state) step(in input, caps [history.Chans]int) bool {
	if in.Status == timedOut && in.WaitNS > 0 {
		return true
	}
	switch in.Kind {
	case history.Send, history.Recv:
		sends := in.Kind == history.Send
		return s.one(int(in.Object), sends, in.Value[0], in.Got, int(in.Status), caps)
	case history.CloseC:
		was := s.closed[in.Object]
		s.closed[in.Object] = true
		return (in.Status == closed) == was
	case history.Select:
		if in.Status != timedOut {
			i := int(in.Index)
			return i >= 0 && s.one(i, in.Sends>>i&1 != 0, in.Value[i], in.Got, int(in.Status), caps)
		}
		for i := range caps {
			if !s.one(i, in.Sends>>i&1 != 0, in.Value[i], in.Got, timedOut, caps) {
				return false
			}
		}
		return true
	case history.Acquire:
		if in.Status == timedOut {
			return s.permits == 0
		}
		s.permits--
		return in.Status == ok && s.permits >= 0
	case history.Release:
		s.permits += int(in.Value[0])
		return in.Status == ok
	case history.Park:
		if in.Status == timedOut {
			return s.parks[in.client] == 0
		}
		s.parks[in.client]--
		return in.Status == ok && s.parks[in.client] >= 0
	case history.Wake:
		s.parks[in.Object]++
		return (in.Status == stale) == s.ended[in.Object]
	case history.Join:
		return in.Status == timedOut || s.ended[in.Object]
	case history.End:
		s.ended[in.client] = true
		return true
	}
	return s.locks(in)
}

// one is a send to, or a receive from, channel i.
func (s *state) one(i int, sends bool, value, got int64, status int, caps [history.Chans]int) bool {
	q := &s.queue[i]
	switch {
	case status == timedOut && caps[i] == 0:
		return true // whether another client waits is not known here
	case status == closed:
		return s.closed[i] && (sends || q.n == 0)
	case sends:
		if full := s.closed[i] || q.n >= room(caps[i]); status == timedOut || full {
			return status == timedOut && q.n >= room(caps[i]) && !s.closed[i]
		}
		q.v[q.n] = value
		q.n++
		return status == ok
	case status == timedOut:
		return q.n == 0 && !s.closed[i]
	case q.n == 0 || q.v[0] != got:
		return false
	}
	copy(q.v[:], q.v[1:])
	q.n--
	q.v[q.n] = 0
	return status == ok
}

func (s *state) locks(in input) bool {
	me := in.client + 1
	shared := in.Kind == history.Read
	switch in.Kind {
	case history.Unlock:
		was := s.owner
		s.owner = 0
		return was == me && in.Status == ok
	case history.RWUnlock:
		if s.owner == me {
			s.owner = 0
		} else {
			s.readers--
		}
		return s.readers >= 0 && in.Status == ok
	}
	free := s.owner == 0 && (shared || s.readers == 0)
	if in.Status == timedOut {
		// A reader also gives way to a writer that waits, which no state here tells.
		return !free || shared
	}
	if shared {
		s.readers++
	} else {
		s.owner = me
	}
	return free && in.Status == ok
}

// met tells whether a value that went through an unbuffered channel was taken before its send
// returned.
func (b *bench) met(made []porcupine.Operation) bool {
	taken := map[int64]int64{}
	each := func(f func(in input, o porcupine.Operation, i int, sends bool)) {
		for _, o := range made {
			in := o.Input.(input)
			i := int(in.Object)
			if in.Status != ok || (in.Kind != history.Send && in.Kind != history.Recv &&
				in.Kind != history.Select) {
				continue
			}
			sends := in.Kind == history.Send
			if in.Kind == history.Select {
				i = int(in.Index)
				sends = in.Sends>>i&1 != 0
			}
			if b.caps[i] == 0 {
				f(in, o, i, sends)
			}
		}
	}
	each(func(in input, o porcupine.Operation, _ int, sends bool) {
		if !sends {
			taken[in.Got] = o.Call
		}
	})
	good := true
	each(func(in input, o porcupine.Operation, i int, sends bool) {
		if !sends {
			return
		}
		value := in.Value[0]
		if in.Kind == history.Select {
			value = in.Value[i]
		}
		call, was := taken[value]
		good = good && was && call < o.Return
	})
	return good
}
