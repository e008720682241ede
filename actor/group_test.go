package actor

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// groupsOf makes a group of each kind.
func groupsOf(t testing.TB, refs ...Ref[query]) map[string]Ref[query] {
	groups := map[string]Ref[query]{}
	add := func(name string, r Ref[query], err error) {
		require.NoError(t, err)
		groups[name] = r
	}
	r, err := RoundRobin(refs...)
	add("RoundRobin", r, err)
	r, err = LeastLoaded(refs...)
	add("LeastLoaded", r, err)
	r, err = ConsistentHash(func(q query) uint64 { return uint64(q.n) }, refs...)
	add("ConsistentHash", r, err)
	adapted := make([]Ref[query], len(refs))
	for i := range refs {
		adapted[i], err = Adapt(refs[i], func(q query) query { return q })
		require.NoError(t, err)
	}
	r, err = LeastLoaded(adapted...)
	add("LeastLoaded of Adapt", r, err)
	first, err := RoundRobin(refs[:1]...)
	require.NoError(t, err)
	rest, err := ConsistentHash(func(q query) uint64 { return uint64(q.n) }, refs[1:]...)
	require.NoError(t, err)
	r, err = RoundRobin(first, rest)
	add("RoundRobin of groups", r, err)
	return groups
}

func answers(_ *Context[query], q query) error {
	if q.to != (Reply[int]{}) {
		return q.to.Answer(q.n)
	}
	return nil
}

func TestAGroupTakesMessagesWhileAMemberLives(t *testing.T) {
	y := open(t, Executors(2))
	for kind := range groupsOf(t, spawn(t, y, answers), spawn(t, y, answers)) {
		refs := make([]Ref[query], 8)
		for i := range refs {
			opts := []SpawnOption{}
			if i == len(refs)-1 {
				opts = append(opts, Name("the last of "+kind))
			}
			refs[i] = spawn(t, y, answers, opts...)
		}
		group := groupsOf(t, refs...)[kind]
		var all sync.WaitGroup
		var isOver atomic.Bool
		sends := func(send func(n int) error) {
			all.Go(func() {
				for n := 0; !isOver.Load(); n++ {
					if err := send(n); err != nil {
						t.Errorf("%s: %v", kind, err)
						return
					}
				}
			})
		}
		for range 2 {
			sends(func(n int) error { return group.Tell(query{n: n}) })
		}
		sends(func(n int) error { return group.Send(t.Context(), query{n: n}) })
		sends(func(n int) error {
			_, err := Ask(t.Context(), group, func(to Reply[int]) query { return query{n, to} })
			if err == ErrStopped { // it was accepted, and has become a dead letter
				return nil
			}
			return err
		})
		for _, r := range refs[:len(refs)-1] {
			r.Stop()
			<-r.Done()
			time.Sleep(time.Millisecond)
		}
		isOver.Store(true)
		all.Wait()
		for n := range 1000 { // so that the group has found all that have ended
			require.NoError(t, group.Tell(query{n: n}), kind)
		}
		last := refs[len(refs)-1]
		last.Stop()
		<-last.Done()
		for range 3 {
			err := group.Tell(query{})
			require.ErrorIs(t, err, ErrStopped, kind)
			require.ErrorContains(t, err, "the last of "+kind)
		}
	}
}

func TestRoundRobinGivesEachTheSame(t *testing.T) {
	y := open(t)
	var got [5]atomic.Int64
	refs := make([]Ref[int], len(got))
	for i := range refs {
		refs[i] = spawn(t, y, func(*Context[int], int) error { got[i].Add(1); return nil })
	}
	group, err := RoundRobin(refs...)
	require.NoError(t, err)
	send := func() {
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for n := range 3000 {
					if err := group.Tell(n); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		rest(t, y)
	}
	send()
	for i := range got {
		require.EqualValues(t, 12_000/len(got), got[i].Swap(0), "senders beside each other")
	}
	refs[1].Stop()
	<-refs[1].Done()
	require.NoError(t, group.Tell(0)) // one of the next five finds that it has ended
	for range 4 {
		require.NoError(t, group.Tell(0))
	}
	rest(t, y)
	for i := range got {
		got[i].Store(0)
	}
	send()
	for i := range got {
		if i != 1 {
			require.EqualValues(t, 3000, got[i].Load(), "and one of them has ended")
		}
	}
}

func TestLeastLoadedLooksThroughAdapt(t *testing.T) {
	y := oneExecutor(t)
	hold := make(chan struct{})
	defer close(hold)
	waits := func(*Context[int], int) error { <-hold; return nil }
	busy, free := spawn(t, y, waits, Waiting()), spawn(t, y, waits, Waiting())
	for range 20 {
		require.NoError(t, busy.Tell(1))
	}
	same := func(m int) int { return m }
	a, err := Adapt(busy, same)
	require.NoError(t, err)
	b, err := RoundRobin(free)
	require.NoError(t, err)
	ended := spawn(t, y, waits)
	ended.Stop()
	<-ended.Done()
	c, err := Adapt(ended, same)
	require.NoError(t, err)
	group, err := LeastLoaded(a, b, c)
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, group.Tell(1))
	}
	n, lives := free.load()
	require.True(t, lives)
	require.GreaterOrEqual(t, n, uint32(9), "the one that a turn is at does not count")
}

// full makes an actor with one place, which is taken until release is called.
func full(t testing.TB, y *System) (r Ref[query], release func()) {
	hold, begun := make(chan struct{}), make(chan struct{}, 100)
	r = spawn(t, y, func(c *Context[query], q query) error {
		begun <- struct{}{}
		<-hold
		return answers(c, q)
	}, Waiting(), Room(1))
	require.NoError(t, r.Tell(query{}))
	<-begun
	return r, func() { close(hold) }
}

func TestSendAndAskWaitForRoomOfAGroup(t *testing.T) {
	y := open(t)
	one := spawn(t, y, answers)
	for kind := range groupsOf(t, one, one) {
		r, release := full(t, y)
		ended := spawn(t, y, answers)
		ended.Stop()
		<-ended.Done()
		group := groupsOf(t, ended, r)[kind]
		require.ErrorIs(t, group.Tell(query{}), ErrFull, kind)
		brief, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		require.ErrorIs(t, group.Send(brief, query{}), context.DeadlineExceeded, kind)
		_, err := Ask(brief, group, func(to Reply[int]) query { return query{1, to} })
		require.ErrorIs(t, err, context.DeadlineExceeded, kind)
		cancel()
		sent, answered := make(chan error, 1), make(chan error, 1)
		go func() { sent <- group.Send(t.Context(), query{}) }()
		go func() {
			v, err := Ask(t.Context(), group, func(to Reply[int]) query { return query{7, to} })
			if v != 7 && err == nil {
				err = errBad
			}
			answered <- err
		}()
		require.Eventually(t, func() bool { return r.c.side.Load().room.waits.Load() == 2 },
			time.Minute, 100*time.Microsecond, kind)
		release()
		require.NoError(t, <-sent, kind)
		require.NoError(t, <-answered, kind)
		r.Stop()
		<-r.Done()
		require.ErrorIs(t, group.Send(t.Context(), query{}), ErrStopped, kind)
	}
}

func TestASenderThatWaitsGoesToAnotherMember(t *testing.T) {
	y := open(t)
	a, release := full(t, y)
	b := spawn(t, y, answers)
	key := uint64(0)
	hashed, err := ConsistentHash(func(query) uint64 { return key }, a, b)
	require.NoError(t, err)
	for g := hashed.c.forwarder().(*group[query]); g.choose(*g.members.Load(), key) != a; {
		key++
	}
	sent := make(chan error, 1)
	go func() { sent <- hashed.Send(t.Context(), query{}) }()
	require.Eventually(t, func() bool { return a.c.side.Load().room.waits.Load() == 1 },
		time.Minute, 100*time.Microsecond)
	a.Stop()
	release()
	require.NoError(t, <-sent)
}

// A panic, or Goexit, of what the sender calls is the sender's, and nothing is held.
func TestKeysThatPanic(t *testing.T) {
	y := open(t)
	r := spawn(t, y, answers, Room(1))
	var goesWrong func()
	key := func(query) uint64 { goesWrong(); return 1 }
	hashed, err := ConsistentHash(key, r)
	require.NoError(t, err)
	adapted, err := Adapt(hashed, func(q query) query { goesWrong(); return q })
	require.NoError(t, err)
	group, err := RoundRobin(adapted)
	require.NoError(t, err)
	sends := []func() error{
		func() error { return group.Tell(query{}) },
		func() error { return group.Send(t.Context(), query{}) },
		func() error {
			_, err := Ask(t.Context(), group, func(to Reply[int]) query { return query{1, to} })
			return err
		},
	}
	for _, send := range sends {
		for range 3 {
			goesWrong = func() { panic("a key") }
			require.PanicsWithValue(t, "a key", func() { _ = send() })
			ended := make(chan struct{})
			goesWrong = runtime.Goexit
			go func() { defer close(ended); _ = send() }()
			<-ended
		}
		goesWrong = func() {}
		require.NoError(t, send(), "nobody has the place, or a lock")
		rest(t, y)
	}
	goesWrong = func() { panic("a key") }
	var failures []error
	for _, opts := range [][]SpawnOption{{Resume()}, {Resume(), Waiting()}} {
		sender := spawn(t, y, func(_ *Context[int], i int) error {
			defer func() { failures = append(failures, nil) }()
			return sends[i]()
		}, opts...)
		for i := range sends {
			require.NoError(t, sender.Tell(i))
		}
		rest(t, y)
	}
	require.Len(t, failures, 6)
	require.EqualValues(t, 6, y.Stats().Failures, "one is ErrWaits")
	goesWrong = func() {}
	require.NoError(t, group.Tell(query{}))
	rest(t, y)
	require.EqualValues(t, 4, y.Stats().Handled)
}

func TestAskThenThroughAGroup(t *testing.T) {
	y := open(t)
	one := spawn(t, y, answers)
	for kind, group := range groupsOf(t, one, spawn(t, y, answers)) {
		got := 0
		asks := spawn(t, y, func(c *Context[int], n int) error {
			return AskThen(c, group, func(to Reply[int]) query { return query{n, to} },
				func(_ *Context[int], v int, err error) error { got += v; return err })
		})
		tellAll(t, asks, 1, 2, 3)
		rest(t, y)
		require.Equal(t, 6, got, kind)
	}
	one.Stop()
	<-one.Done()
}

func TestForwardIsNotWaitedForByAPlainBehaviour(t *testing.T) {
	y := open(t)
	waited := 0
	full, err := Forward(y, func(int) error { return ErrFull },
		func(context.Context, int) error { waited++; return nil })
	require.NoError(t, err)
	seen := make(chan error, 1)
	sends := func(*Context[int], int) error { seen <- full.Send(t.Context(), 1); return nil }
	require.NoError(t, spawn(t, y, sends).Tell(1))
	require.ErrorIs(t, <-seen, ErrWaits)
	require.NoError(t, spawn(t, y, sends, Waiting()).Tell(1))
	require.NoError(t, <-seen)
	require.NoError(t, full.Send(t.Context(), 1))
	require.Equal(t, 2, waited)
	require.False(t, errors.Is(full.Tell(1), ErrWaits))
}

// A context whose cause is ErrStopped ends a wait, and no member is taken away for it.
func TestGroupWithErrStoppedAsACause(t *testing.T) {
	y := open(t)
	a, releaseA := full(t, y)
	defer releaseA()
	b, releaseB := full(t, y)
	defer releaseB()
	r, err := RoundRobin(a, b)
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStopped)
	require.ErrorIs(t, r.Send(ctx, query{}), context.Canceled)
	require.Len(t, *r.c.forwarder().(*group[query]).members.Load(), 2)
}
