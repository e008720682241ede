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

func topic[M any](t testing.TB, y *System, refs ...Ref[M]) *Topic[M] {
	x, err := NewTopic[M](y)
	require.NoError(t, err)
	for _, r := range refs {
		require.NoError(t, x.Subscribe(r))
	}
	return x
}

// sends are the two ways to publish.
func sends[M any](t testing.TB, r Ref[M]) map[string]func(M) error {
	return map[string]func(M) error{
		"Tell": r.Tell, "Send": func(m M) error { return r.Send(t.Context(), m) }}
}

func end[M any](r Ref[M]) {
	r.Stop()
	<-r.Done()
}

func TestTopicKeepsTheOrderOfEachPublisher(t *testing.T) {
	const publishers, each = 4, 2000
	y, z := open(t, Executors(2)), open(t)
	x := topic[[2]int](t, y)
	var got [5][publishers]int
	for i := range got {
		at, opts := []*System{y, z}[i%2], [][]SpawnOption{nil, {Waiting()}, {Room(1 << 20)}}[i%3]
		require.NoError(t, x.Subscribe(spawn(t, at, func(_ *Context[[2]int], m [2]int) error {
			if m[1] != got[i][m[0]] {
				t.Errorf("%d came as number %d", m[1], got[i][m[0]])
			}
			got[i][m[0]]++
			return nil
		}, opts...)))
	}
	var all sync.WaitGroup
	for p := range publishers {
		ways := sends(t, x.Ref())
		all.Go(func() {
			for n := range each {
				if err := ways[[]string{"Tell", "Send"}[n%2]]([2]int{p, n}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	rest(t, y)
	rest(t, z)
	for i := range got {
		require.Equal(t, [publishers]int{each, each, each, each}, got[i])
	}
}

func TestTopicSubscribeAndUnsubscribe(t *testing.T) {
	y := open(t)
	for way, send := range sends(t, topic[int](t, y).Ref()) {
		require.NoError(t, send(1), "%s: nobody has subscribed", way)
	}
	a, b := 0, 0
	ra := spawn(t, y, func(_ *Context[int], m int) error { a += m; return nil })
	rb := spawn(t, y, func(_ *Context[int], m int) error { b += m; return nil })
	x := topic(t, y, ra, rb, ra)
	want := func(m, ofA, ofB int) {
		require.NoError(t, x.Ref().Tell(m))
		rest(t, y)
		require.Equal(t, [2]int{ofA, ofB}, [2]int{a, b})
	}
	want(1, 1, 1)
	require.True(t, x.Unsubscribe(ra), "once, though it has subscribed twice")
	require.False(t, x.Unsubscribe(ra))
	want(10, 1, 11)
	require.NoError(t, x.Subscribe(ra))
	want(100, 101, 111)
	require.Zero(t, y.Stats().Dead)
	n, lives := x.Ref().load()
	require.Zero(t, n)
	require.True(t, lives)
}

func TestTopicForgetsSubscribersThatHaveEnded(t *testing.T) {
	y := open(t)
	got := 0
	lives := spawn(t, y, func(*Context[int], int) error { got++; return nil })
	x := topic(t, y, lives)
	for way, send := range sends(t, x.Ref()) {
		actor, member := spawn(t, y, nothing[int]), spawn(t, y, nothing[int], Room(1))
		group, err := RoundRobin(member)
		require.NoError(t, err)
		require.NoError(t, x.Subscribe(actor))
		require.NoError(t, x.Subscribe(group))
		end(actor)
		end(member)
		got = 0
		require.NoError(t, send(1), way)
		rest(t, y)
		require.Equal(t, 1, got, way)
		require.Equal(t, []Ref[int]{lives}, *x.list.Load(), way)
		require.False(t, x.Unsubscribe(actor), way)
	}
	for range 1000 { // without a message
		r := spawn(t, y, nothing[int])
		require.NoError(t, x.Subscribe(r))
		end(r)
	}
	require.Less(t, cap(*x.list.Load()), 100)
	require.Contains(t, *x.list.Load(), lives)
	require.Zero(t, y.Stats().Dead)
}

// A subscriber that is full loses the message of Tell, and Send waits for it. The others get it.
func TestTopicWithAFullSubscriber(t *testing.T) {
	var letters []DeadLetter
	y := open(t, OnDeadLetter(func(d DeadLetter) { letters = append(letters, d) }))
	r, release := full(t, y)
	got := make(chan int, 10)
	gets := func(_ *Context[query], q query) error { got <- q.n; return nil }
	x := topic(t, y, spawn(t, y, gets), r, spawn(t, y, gets))
	want := func(n int) {
		require.Equal(t, [2]int{n, n}, [2]int{<-got, <-got})
	}
	require.NoError(t, x.Ref().Tell(query{n: 1}))
	want(1)
	require.Len(t, letters, 1)
	refused := DeadLetter{r.Name(), query{n: 1}, Refused, errorOf(r.address(), ErrFull)}
	require.Equal(t, refused, letters[0])
	require.Equal(t, "refused", letters[0].Cause.String())
	st := y.Stats()
	require.Equal(t, [2]uint64{1, 1}, [2]uint64{st.Refused, st.Dead})

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	outer := topic(t, y, x.Ref())
	err := outer.Ref().Send(ctx, query{n: 2})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "actor: "+r.Name()+": ")
	want(2)
	sent := make(chan error, 1)
	go func() { sent <- outer.Ref().Send(t.Context(), query{n: 3}) }()
	require.Equal(t, 3, <-got, "the first one does not wait")
	select {
	case <-got:
		require.Fail(t, "the last one gets it after the one that is waited for")
	case <-time.After(time.Millisecond):
	}
	release()
	require.NoError(t, <-sent)
	require.Equal(t, 3, <-got)
	rest(t, y)
	require.Len(t, letters, 1, "errors of Send are none")
	require.Equal(t, []Ref[query]{x.Ref()}, *outer.list.Load())
}

// A behaviour that publishes waits as it does for one actor.
func TestTopicWhereABehaviourPublishes(t *testing.T) {
	y := open(t)
	seen := make(chan error, 1)
	for _, waits := range []bool{false, true} {
		x := topic[int](t, y)
		opts := []SpawnOption{Room(1)}
		if waits {
			opts = append(opts, Waiting())
		}
		publisher := spawn(t, y, func(c *Context[int], m int) error {
			if m == 1 {
				seen <- x.Ref().Send(context.Background(), 2)
			}
			return nil
		}, opts...)
		require.NoError(t, x.Subscribe(publisher))
		require.NoError(t, x.Ref().Tell(1))
		err := <-seen // it has subscribed, and is full
		require.ErrorContains(t, err, publisher.Name())
		if waits {
			require.ErrorIs(t, err, ErrDeadlock)
		} else {
			require.ErrorIs(t, err, ErrWaits)
		}
		rest(t, y)
	}
}

// What a subscriber's function does is the publisher's, and the other subscribers get the message.
func TestTopicWithFunctionsThatPanic(t *testing.T) {
	y := oneExecutor(t)
	got := 0
	gets := func(*Context[int], int) error { got++; return nil }
	goesWrong := func() {}
	first := spawn(t, y, gets)
	bad, err := Adapt(first, func(m int) int { goesWrong(); return m })
	require.NoError(t, err)
	worse, err := Adapt(first, func(m int) int { goesWrong(); return m })
	require.NoError(t, err)
	x := topic(t, y, first, bad, worse, spawn(t, y, gets))
	for way, send := range sends(t, x.Ref()) {
		got = 0
		goesWrong = func() { panic("an adapter") }
		require.PanicsWithValue(t, "an adapter", func() { _ = send(1) }, way)
		goesWrong = runtime.Goexit
		ended := make(chan struct{})
		go func() { defer close(ended); _ = send(1) }()
		<-ended
		rest(t, y)
		require.Equal(t, 4, got, way)
		goesWrong = func() {}
		require.NoError(t, send(1), way)
		rest(t, y)
		require.Equal(t, 8, got, way)
	}
	refuses, err := Forward(y, func(int) error { return errBad },
		func(context.Context, int) error { return errBad })
	require.NoError(t, err)
	x = topic(t, y, refuses)
	require.NoError(t, x.Ref().Tell(1))
	require.EqualValues(t, 1, y.Stats().Refused)
	require.ErrorIs(t, x.Ref().Send(t.Context(), 1), errBad)
}

// Publishers, subscribers that come and go, and ends, at the same time. What those get that stay is
// all; each message to one that is full is a dead letter; and those that leave get what lies in
// between, once and in order.
func TestTopicStorm(t *testing.T) {
	const publishers, each = 3, 3000
	y := open(t, Executors(2))
	x := topic[[2]int](t, y)
	var stays, handled atomic.Int64
	counts := func(n *atomic.Int64) func(*Context[[2]int], [2]int) error {
		return func(*Context[[2]int], [2]int) error { n.Add(1); return nil }
	}
	require.NoError(t, x.Subscribe(spawn(t, y, counts(&stays))))
	require.NoError(t, x.Subscribe(spawn(t, y, counts(&handled), Room(2))))
	var sending, churning sync.WaitGroup
	var isOver atomic.Bool
	for p := range publishers {
		sending.Go(func() {
			for n := 1; n <= each; n++ {
				if err := x.Ref().Tell([2]int{p, n}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for g := range 2 {
		churning.Go(func() {
			for n := 0; n < 20 || !isOver.Load(); n++ {
				var last [publishers]int
				r, err := Spawn(y, of(func(_ *Context[[2]int], m [2]int) error {
					if m[1] <= last[m[0]] || (last[m[0]] > 0 && m[1] != last[m[0]]+1) {
						t.Errorf("%d after %d", m[1], last[m[0]])
					}
					last[m[0]] = m[1]
					return nil
				}))
				if err = errors.Join(err, x.Subscribe(r)); err != nil {
					t.Error(err)
					return
				}
				runtime.Gosched()
				if (g+n)%2 == 0 && !x.Unsubscribe(r) {
					t.Error("it has subscribed, and has not ended")
				}
				end(r)
			}
		})
	}
	sending.Wait()
	isOver.Store(true)
	churning.Wait()
	rest(t, y)
	require.EqualValues(t, publishers*each, stays.Load())
	require.EqualValues(t, publishers*each, uint64(handled.Load())+y.Stats().Refused)
	require.NoError(t, x.Ref().Tell([2]int{0, each + 1}))
	require.Len(t, *x.list.Load(), 2)
}

// A context whose cause is ErrStopped ends a wait, and nobody is forgotten for it.
func TestTopicWithErrStoppedAsACause(t *testing.T) {
	y := open(t)
	r, release := full(t, y)
	defer release()
	x := topic(t, y, r)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(ErrStopped)
	require.ErrorIs(t, x.Ref().Send(ctx, query{}), context.Canceled)
	require.Equal(t, []Ref[query]{r}, *x.list.Load())
}
