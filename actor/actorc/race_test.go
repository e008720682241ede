//go:build cgo

package actorc_test

import (
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor/actorc"
	"github.com/organzine/coro/internal/testbody"
)

// The tests of this file are for the race detector: what a goroutine has written before it called
// an actor in C is ordered before what a receiver reads, also in Wait and Ended, which no cgo call
// orders; and what it has written before an answer, before what the asker reads.

// A reader reads what the senders have written: cells[i], where i is the message.
type reader struct {
	cells  []uint64
	sum    uint64
	waits  bool    // Wait takes the messages
	answer *uint64 // written before an answer
	atEnd  *uint64 // read by Ended
	end    uint64
	ended  atomic.Bool
}

func (r *reader) take(m actorc.Message) {
	if asker, ok := m.Asker(); ok {
		*r.answer++
		_ = asker.Answer(word(r.sum))
		return
	}
	r.sum += r.cells[binary.NativeEndian.Uint64(m.Payload())]
}

func (r *reader) Receive(list []actorc.Message) int {
	if r.waits {
		return 0
	}
	for _, m := range list {
		r.take(m)
	}
	return len(list)
}

func (r *reader) Wait(_ context.Context, m actorc.Message) error { r.take(m); return nil }

func (r *reader) Ended() {
	r.end = *r.atEnd
	r.ended.Store(true)
}

// spawnReader spawns a reader. Its fields are written before Spawn, which its calls follow.
func spawnReader(t *testing.T, s *coro.Scheduler, waits bool, n int) (*reader, actorc.Actor) {
	r := &reader{cells: make([]uint64, n), waits: waits, answer: new(uint64), atEnd: new(uint64)}
	a, err := actorc.Spawn(s, r)
	require.NoError(t, err)
	return r, a
}

func TestRaceWhatASenderHasWrittenIsSeen(t *testing.T) {
	for _, waits := range []bool{false, true} {
		s, other := newScheduler(t, coro.WithWorkers(2)), newScheduler(t, coro.WithWorkers(1))
		const senders, each = 4, 50
		for range scaled(8) {
			r, a := spawnReader(t, s, waits, senders*each)
			var sending sync.WaitGroup
			for k := range senders {
				sending.Go(func() {
					for i := range each {
						at := k*each + i
						r.cells[at] = uint64(at)
						if a.Send(testbody.ActorAdd, word(uint64(at))) != nil {
							t.Error("not sent")
						}
					}
				})
			}
			sending.Wait()
			// a question of another scheduler than the actor's
			_, err := actorc.Ask[uint64, uint64](soon(t), other, a, testbody.ActorSum, 0)
			require.NoError(t, err)
			require.EqualValues(t, 1, *r.answer)
			*r.atEnd = 7
			require.NoError(t, a.Drain())
			eventually(t, r.ended.Load, "the end")
			require.EqualValues(t, 7, r.end)
			require.EqualValues(t, (senders*each-1)*senders*each/2, r.sum)
		}
	}
}

func TestRaceWhatStopFollowsIsSeenAtTheEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for range scaled(200) {
		r, a := spawnReader(t, s, false, 0)
		*r.atEnd = 7
		require.NoError(t, a.Stop())
		eventually(t, r.ended.Load, "the end")
		require.EqualValues(t, 7, r.end)
	}
}
