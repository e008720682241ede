package experiments

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/organzine/coro/bench/internal/cbody"
)

func goRingSystems() []ringSystem {
	s := ringSystem{name: sysGoroutine, variant: "buffered", posts: 400_000, least: 20,
		bytes: 3500, manyWorkers: true, run: func(r cbody.Rings) (time.Duration,
			int64, error) {
			return goroutineRings(r, r.Members)
		}}
	u := s
	u.variant, u.bytes, u.manyWorkers, u.onlySome = "unbuffered", 3200, false, true
	u.run = func(r cbody.Rings) (time.Duration, int64, error) { return goroutineRings(r, 0) }
	return []ringSystem{s, u}
}

// channelRings are rings of goroutines; an event is a channel.
type channelRings struct {
	cbody.Rings
	tokens         int // in each ring
	events         []chan struct{}
	started, ended atomic.Int64
	ready, done    chan struct{}
}

// goroutineRings has goroutines do it, with channels for this number of values.
func goroutineRings(r cbody.Rings, capacity int) (time.Duration, int64, error) {
	before, err := resident()
	if err != nil {
		return 0, 0, err
	}
	n := r.Rings * r.Members
	g := &channelRings{Rings: r, tokens: r.Members, events: make([]chan struct{}, n),
		ready: make(chan struct{}), done: make(chan struct{})}
	if r.Strict {
		g.tokens = 1
	} else if capacity == 0 {
		g.tokens = max(r.Members-1, 1)
	}
	for i := range g.events {
		g.events[i] = make(chan struct{}, capacity)
	}
	if r.LIFO {
		return g.oneByOne(before)
	}
	for i := 0; i < n; i += r.Members {
		g.start(i)
	}
	runtime.Gosched() // the last may be about to wait
	waiting, err := resident()
	if err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	for i := 0; i < n; i += r.Members {
		g.fire(i)
	}
	<-g.done
	return time.Since(begin), waiting - before, nil
}

func (g *channelRings) oneByOne(before int64) (time.Duration, int64, error) {
	begin := time.Now()
	for i := 0; i < len(g.events); i += g.Members {
		g.start(i)
		g.fire(i)
		<-g.done
	}
	d := time.Since(begin)
	after, err := resident()
	return d, after - before, err
}

// start begins a ring, and returns when its members are there.
func (g *channelRings) start(first int) {
	for k := range g.Members {
		go g.member(g.events[first+k], g.events[first+(k+1)%g.Members], k < g.tokens,
			int64(first+g.Members))
	}
	<-g.ready
}

// fire posts a ring's first tokens.
func (g *channelRings) fire(first int) {
	for k := range g.tokens {
		g.events[first+k] <- struct{}{}
	}
}

// member has its turns, over the stack that it is to use besides. There are so many members with
// this ring.
func (g *channelRings) member(own, next chan struct{}, token bool, soMany int64) {
	turns := func() { g.turns(own, next, token, soMany) }
	if g.Extra > 0 {
		withStack(g.Extra, turns)
	} else {
		turns()
	}
	if n := g.ended.Add(1); n == int64(len(g.events)) || g.LIFO && n == soMany {
		g.done <- struct{}{}
	}
}

// turns: it waits once more if it began with a token, so that each post is taken.
func (g *channelRings) turns(own, next chan struct{}, token bool, soMany int64) {
	if g.started.Add(1) == soMany {
		g.ready <- struct{}{}
	}
	for range g.Rounds {
		<-own
		next <- struct{}{}
	}
	if token {
		<-own
	}
}

// withStack calls f with this number of bytes in use on the stack: they are read afterwards.
//
//go:noinline
func withStack(bytes int, f func()) byte {
	var frame [256]byte
	frame[bytes%256] = 1
	if bytes > len(frame) {
		return withStack(bytes-len(frame), f) + frame[0]
	}
	f()
	return frame[bytes%256]
}
