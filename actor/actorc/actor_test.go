//go:build cgo

package actorc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/actor"
	"github.com/organzine/coro/actor/actorc"
	"github.com/organzine/coro/internal/testbody"
)

var (
	actorSpawn  = coro.MustFunc[testbody.Actor, actorc.Actor](testbody.ActorSpawn)
	actorFlood  = coro.MustFunc[testbody.Flood, uint64](testbody.ActorFlood)
	actorAsk    = coro.MustFunc[testbody.Question, testbody.ActorAnswer](testbody.ActorAsk)
	actorBuffer = coro.MustFunc[testbody.Flood, uint64](testbody.ActorBuffer)
)

func spawnedActor(t *testing.T, s *coro.Scheduler, of testbody.Actor) actorc.Actor {
	t.Helper()
	a, err := actorSpawn.Call(background, s, of)
	require.NoError(t, err)
	require.NotZero(t, a)
	return a
}

func word(n uint64) []byte { return binary.NativeEndian.AppendUint64(nil, n) }

// A receiver adds the words that come. It takes `most` of a batch, and leaves the others to Wait.
type receiver struct {
	mu            sync.Mutex
	most          int
	sum, n, waits uint64
	last          uint64
	kept          []actorc.Asker
	bytes         []byte
	panics        bool
	err           error
	ended         chan struct{}
}

func newReceiver(most int) *receiver { return &receiver{most: most, ended: make(chan struct{})} }

func (r *receiver) add(m actorc.Message) {
	switch m.Kind() {
	case testbody.ActorAdd:
		if len(m.Payload()) != 8 {
			r.bytes = append([]byte{}, m.Payload()...)
			return
		}
		r.last = binary.NativeEndian.Uint64(m.Payload())
		r.sum += r.last
		r.n++
	case testbody.ActorSum:
		if asker, ok := m.Asker(); ok {
			_ = asker.Answer(word(r.sum))
		}
	case testbody.ActorHalf:
		if asker, ok := m.Asker(); ok {
			r.kept = append(r.kept, asker)
		}
	}
}

func (r *receiver) Receive(list []actorc.Message) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.panics {
		r.panics = false
		panic("as the test wants")
	}
	n := min(r.most, len(list))
	for _, m := range list[:n] {
		r.add(m)
	}
	return n
}

func (r *receiver) Wait(_ context.Context, m actorc.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits++
	if r.err == nil {
		r.add(m)
	}
	return r.err
}

func (r *receiver) Ended() { close(r.ended) }

func TestGoSendsToActorsInC(t *testing.T) {
	for _, brief := range []uint32{0, 1} {
		s := newScheduler(t, coro.WithWorkers(2))
		a := spawnedActor(t, s, testbody.Actor{Brief: brief})
		for i := range uint64(1000) {
			require.NoError(t, a.Send(testbody.ActorAdd, word(i)))
		}
		sum, err := actorc.Ask[uint64, uint64](background, s, a, testbody.ActorSum, 0)
		require.NoError(t, err)
		require.EqualValues(t, 999*1000/2, sum)
		require.NoError(t, a.Drain())
		require.NoError(t, s.Wait(background))
		require.ErrorIs(t, a.Send(testbody.ActorAdd, word(1)), actorc.ErrEnded)
		require.ErrorIs(t, a.Stop(), actorc.ErrEnded)
		require.ErrorIs(t, a.Drain(), actorc.ErrEnded)
		finish(t, s)
		require.NoError(t, s.Close(background))
	}
}

func TestGoAsksActorsInC(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	a := spawnedActor(t, s, testbody.Actor{})
	_, err := actorc.Ask[uint64, uint64](background, s, a, testbody.ActorHalf, 0)
	require.ErrorIs(t, err, actorc.ErrAnswerSize)
	_, err = actorc.Ask[uint64, uint64](background, s, a, testbody.ActorNothing, 0)
	require.ErrorIs(t, err, actorc.ErrNoAnswer)
	_, err = actorc.Ask[uint64, uint64](background, s, a, 1<<32-1, 0)
	optionError(t, err, "actorc.Ask", "is the core's: use a kind below")
	_, err = actorc.Ask[uint64, uint64](background, s, 0, testbody.ActorSum, 0)
	require.ErrorIs(t, err, actorc.ErrEnded)
	optionError(t, actorc.Asker{}.Answer(word(1)), "actorc.Asker.Answer", "that Message.Asker has returned")
	_, err = actorc.Ask[[33]byte, uint64](background, s, a, 0, [33]byte{})
	require.ErrorContains(t, err, "has 33 bytes, and a message here up to 32")
	_, err = actorc.Ask[uint64, [49]byte](background, s, a, 0, 0)
	require.ErrorContains(t, err, "has 49 bytes")
	_, err = actorc.Ask[*int, uint64](background, s, a, 0, nil)
	require.ErrorContains(t, err, "points into Go")
	_, err = actorc.Ask[uint64, uint64](background, s, 12345, testbody.ActorSum, 0)
	require.ErrorIs(t, err, actorc.ErrEnded)
	_, err = actorc.Ask[uint64, uint64](background, s, a, testbody.ActorStop, 0)
	require.ErrorIs(t, err, actorc.ErrNoAnswer)
	_, err = actorc.Ask[uint64, uint64](background, s, a, testbody.ActorSum, 0)
	require.ErrorIs(t, err, actorc.ErrEnded)

	// A receiver that keeps the asker, and never answers.
	r := newReceiver(64)
	b, err := actorc.Spawn(s, r)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(background)
	asked := make(chan error, 1)
	go func() {
		_, err := actorc.Ask[uint64, uint64](ctx, s, b, testbody.ActorHalf, 0)
		asked <- err
	}()
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.kept) == 1
	}, time.Minute, time.Millisecond)
	why := errors.New("enough")
	cancel(why)
	require.ErrorIs(t, <-asked, why)
	require.Eventually(t, func() bool { return r.kept[0].Answer(word(1)) != nil }, time.Minute, time.Millisecond)
	require.ErrorIs(t, r.kept[0].Answer(word(1)), actorc.ErrAnswered)
	require.NotContains(t, actorc.ErrAnswered.Error(), "coroutine")
	require.Error(t, r.kept[0].Answer(make([]byte, 49)))
	finish(t, s)
	require.NoError(t, s.Close(background))
	<-r.ended
}

func TestSendsOfWhatIsNoMessage(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	a := spawnedActor(t, s, testbody.Actor{})
	var wrong *coro.OptionError
	require.ErrorAs(t, a.Send(0, make([]byte, 49)), &wrong)
	require.ErrorAs(t, a.Send(1<<32-1, nil), &wrong)
	require.NoError(t, a.Send(testbody.ActorNothing, nil))
	require.ErrorIs(t, actorc.Actor(0).Send(0, nil), actorc.ErrEnded)
	require.ErrorIs(t, actorc.Actor(1<<63|12345).Send(0, nil), actorc.ErrEnded)
	_, err := actorc.Spawn(s, nil)
	require.ErrorAs(t, err, &wrong)
	finish(t, s)
	require.NoError(t, s.Close(background))
	require.ErrorIs(t, a.Send(0, nil), actorc.ErrEnded)
	_, err = actorc.Spawn(s, newReceiver(1))
	require.ErrorIs(t, err, coro.ErrClosed)
}

// CheckMessage says what Send takes, and the sizes are those that go through whole.
func TestTheLargestMessagesOfC(t *testing.T) {
	type (
		message  = [actorc.MessageBytes]byte
		question = [actorc.QuestionBytes]byte
		answer   = [actorc.AnswerBytes]byte
	)
	require.NoError(t, actorc.CheckMessage[message]())
	require.NoError(t, actorc.CheckMessage[struct{}]())
	optionError(t, actorc.CheckMessage[[actorc.MessageBytes + 1]byte](), "actorc.CheckMessage",
		fmt.Sprintf("has %d bytes, and a message here up to %d", actorc.MessageBytes+1,
			actorc.MessageBytes))
	optionError(t, actorc.CheckMessage[struct{ s string }](), "actorc.CheckMessage", "points into Go")

	s := newScheduler(t, coro.WithWorkers(1))
	r := newReceiver(64)
	b, err := actorc.Spawn(s, r)
	require.NoError(t, err)
	counting := func(to []byte) []byte {
		for i := range to {
			to[i] = byte(i + 1)
		}
		return to
	}
	var m message
	require.NoError(t, b.Send(testbody.ActorAdd, counting(m[:])))
	optionError(t, b.Send(testbody.ActorAdd, make([]byte, len(m)+1)), "actorc.Actor.Send")
	require.NoError(t, s.Wait(soon(t)))
	require.Equal(t, m[:], r.bytes)

	var q question
	counting(q[:])
	_, err = actorc.Ask[question, uint64](soon(t), s, b, testbody.ActorAdd, q)
	require.ErrorIs(t, err, actorc.ErrNoAnswer)
	require.Equal(t, q[:], r.bytes)
	_, err = actorc.Ask[[actorc.QuestionBytes + 1]byte, uint64](soon(t), s, b, 0, [len(q) + 1]byte{})
	optionError(t, err, "actorc.Ask")

	answers := make(chan answer, 1)
	go func() {
		got, err := actorc.Ask[uint64, answer](soon(t), s, b, testbody.ActorHalf, 0)
		assert.NoError(t, err)
		answers <- got
	}()
	eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return len(r.kept) == 1
	}, "it asks")
	var a answer
	optionError(t, r.kept[0].Answer(make([]byte, len(a)+1)), "actorc.Asker.Answer")
	require.NoError(t, r.kept[0].Answer(counting(a[:])))
	require.Equal(t, a, <-answers)
	_, err = actorc.Ask[uint64, [actorc.AnswerBytes + 1]byte](soon(t), s, b, 0, 0)
	optionError(t, err, "actorc.Ask")
	require.NoError(t, b.Stop())
	<-r.ended
	finish(t, s)
}

func TestAFullMailboxInC(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	r := newReceiver(64)
	b, err := actorc.Spawn(s, r)
	require.NoError(t, err)
	a := spawnedActor(t, s, testbody.Actor{Room: 1})
	full := 0
	for range 10_000 {
		if err := a.Send(testbody.ActorAdd, word(1)); err != nil {
			require.ErrorIs(t, err, actorc.ErrMailboxFull)
			full++
		}
	}
	t.Log(full, "of 10 000 found no room")
	require.NoError(t, b.Stop())
	finish(t, s)
	require.NoError(t, s.Close(background))
}

// C sends to an actor that Go serves, which takes a part of each batch at once and waits for the
// rest: nothing is lost, and the order stays.
func TestCSendsToGo(t *testing.T) {
	for _, most := range []int{64, 3, 0, -1} {
		s := newScheduler(t, coro.WithWorkers(2))
		r := newReceiver(most)
		r.most = max(most, 0)
		b, err := actorc.Spawn(s, r)
		require.NoError(t, err)
		n := uint64(scaled(5000))
		accepted, err := actorFlood.Call(background, s, testbody.Flood{To: uint64(b), N: n})
		require.NoError(t, err)
		require.Equal(t, n, accepted)
		require.NoError(t, s.Wait(background))
		require.Equal(t, n, r.n)
		require.Equal(t, n, r.last)
		require.Equal(t, n*(n+1)/2, r.sum)
		require.Equal(t, most <= 3, r.waits > 0)
		asked, err := actorAsk.Call(background, s, testbody.Question{To: uint64(b),
			Kind: testbody.ActorSum})
		require.NoError(t, err)
		require.Equal(t, testbody.ActorAnswer{Word: r.sum, Bytes: 8}, asked)
		ok, err := actorBuffer.Call(background, s, testbody.Flood{To: uint64(b), N: 1000})
		require.NoError(t, err)
		require.EqualValues(t, 1, ok)
		require.NoError(t, s.Wait(background))
		require.Len(t, r.bytes, 1000)
		require.EqualValues(t, 7, r.bytes[999])
		require.NoError(t, b.Drain())
		<-r.ended
		require.ErrorIs(t, b.Send(0, nil), actorc.ErrEnded)
		finish(t, s)
		require.NoError(t, s.Close(background))
	}
}

// A panic, or an error of Wait, makes one message a dead letter.
func TestAReceiverThatFails(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	r := newReceiver(64)
	r.panics = true
	b, err := actorc.Spawn(s, r)
	require.NoError(t, err)
	_, err = actorFlood.Call(background, s, testbody.Flood{To: uint64(b), N: 10})
	require.NoError(t, err)
	require.NoError(t, s.Wait(background))
	require.EqualValues(t, 9, r.n)
	require.EqualValues(t, 55-1, r.sum)
	r.most, r.err = 0, errors.New("as the test wants")
	_, err = actorFlood.Call(background, s, testbody.Flood{To: uint64(b), N: 10})
	require.NoError(t, err)
	require.NoError(t, s.Wait(background))
	require.EqualValues(t, 9, r.n)
	require.EqualValues(t, 10, r.waits)
	finish(t, s)
	require.NoError(t, s.Close(background))
	<-r.ended
}

// What goes on when the scheduler is closed: nothing hangs, and each receiver is told.
func TestCloseWithActorsOfGo(t *testing.T) {
	for range scaled(40) {
		s := newScheduler(t, coro.WithWorkers(2))
		var receivers []*receiver
		var flooding sync.WaitGroup
		for i := range 4 {
			r := newReceiver(i)
			b, err := actorc.Spawn(s, r)
			require.NoError(t, err)
			receivers = append(receivers, r)
			flooding.Go(func() {
				for k := range uint64(1000) {
					if err := b.Send(testbody.ActorAdd, word(k)); err != nil {
						assert.True(t, errors.Is(err, coro.ErrClosed) ||
							errors.Is(err, actorc.ErrEnded), err)
						return
					}
				}
			})
		}
		ctx, cancel := context.WithCancel(background)
		cancel()
		_ = s.Close(ctx)
		flooding.Wait()
		require.NoError(t, s.Close(background))
		for _, r := range receivers {
			<-r.ended
		}
	}
}

// How receivers fail.
var badEnds = map[string]func(){
	"panic":  func() { panic("of a receiver, by a test") },
	"Goexit": runtime.Goexit,
}

func hookFailures(t *testing.T, s *coro.Scheduler, n uint64) {
	t.Helper()
	eventually(t, func() bool { return s.Stats().HookFailures == n }, "%d failures of hooks", n)
}

// An endingBadly receiver fails at its end.
type endingBadly struct {
	*receiver
	fail func()
}

func (r endingBadly) Ended() {
	close(r.ended)
	r.fail()
}

func TestAReceiverThatFailsAtItsEndHarmsNothing(t *testing.T) {
	for name, fail := range badEnds {
		t.Run(name, func(t *testing.T) {
			s := newScheduler(t, coro.WithWorkers(1))
			stopped := endingBadly{newReceiver(64), fail}
			a, err := actorc.Spawn(s, stopped)
			require.NoError(t, err)
			left := endingBadly{newReceiver(64), fail}
			_, err = actorc.Spawn(s, left)
			require.NoError(t, err)

			require.NoError(t, a.Stop())
			<-stopped.ended
			hookFailures(t, s, 1)
			require.NoError(t, s.Close(soon(t)))
			<-left.ended // by the end of the scheduler
			hookFailures(t, s, 2)
			assert.ErrorIs(t, a.Send(testbody.ActorAdd, word(1)), actorc.ErrEnded)
		})
	}
}

func TestInABubbleNothingWaitsForC(t *testing.T) {
	s := newScheduler(t)
	synctest.Test(t, func(t *testing.T) {
		_, err := actorc.Spawn(s, newReceiver(64))
		assert.ErrorIs(t, err, coro.ErrBubble)
	})
}

func TestAskOfAContextThatHasEndedTellsTheCause(t *testing.T) {
	s := newScheduler(t)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(background)
	cancel(why)
	_, err := actorc.Ask[uint64, uint64](ctx, s, 0, 0, 0)
	require.ErrorIs(t, err, why)
	require.ErrorIs(t, err, context.Canceled)
}

// Whoever knows the errors of actors in Go knows those of actors in C.
func TestTheErrorsAreThoseOfActorsInGo(t *testing.T) {
	require.ErrorIs(t, actorc.ErrEnded, actor.ErrStopped)
	require.ErrorIs(t, actorc.ErrMailboxFull, actor.ErrFull)
	require.ErrorIs(t, actorc.ErrAnswered, actor.ErrAnswered)
}
