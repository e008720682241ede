package savina

import (
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// counting: one actor sends 1 000 000 messages to another.
func counting(w World, scale int) Result {
	n := int64(1_000_000 / scale)
	done := make(chan struct{})
	c := w.Spawn(&counter{})
	p := &producer{counter: c, n: n, done: done}
	p.self = w.Spawn(p)
	began := time.Now()
	w.Send(p.self, Msg{Kind: start})
	<-done
	return Result{n + 2, time.Since(began)}
}

type producer struct {
	self, counter int32
	n             int64
	done          chan struct{}
}

func (a *producer) Receive(w World, m Msg) {
	switch m.Kind {
	case start:
		for i := range a.n {
			w.Send(a.counter, Msg{Kind: increment, From: a.self, N: i})
		}
		w.Send(a.counter, Msg{Kind: retrieve, From: a.self})
	case total:
		if m.N != a.n {
			wrong("counting: %d of %d", m.N, a.n)
		}
		close(a.done)
	}
}

type counter struct{ n int64 }

func (a *counter) Receive(w World, m Msg) {
	switch m.Kind {
	case increment:
		if m.N != a.n {
			wrong("counting: %d came as number %d", m.N, a.n)
		}
		a.n++
	case retrieve:
		w.Send(m.From, Msg{Kind: total, N: a.n})
	}
}

// forkJoin: from outside, 10 000 messages to each of 60 actors in turn, each of which takes a sine.
func forkJoin(w World, scale int) Result {
	n := 10_000 / scale
	done := make(chan struct{})
	var ends atomic.Int32
	ends.Store(joiners)
	for range joiners {
		w.Spawn(&worker{n, &ends, done})
	}
	began := time.Now()
	for range n {
		for a := range int32(joiners) {
			w.Send(a, Msg{Kind: start})
		}
	}
	<-done
	return Result{int64(n) * joiners, time.Since(began)}
}

type worker struct {
	left int
	ends *atomic.Int32
	done chan struct{}
}

func (a *worker) Receive(World, Msg) {
	sin := math.Sin(37.2)
	if sin*sin <= 0 {
		wrong("fjthrput: the sine is %v", sin)
	}
	if a.left--; a.left == 0 && a.ends.Add(-1) == 0 {
		close(a.done)
	}
}

// fanIn: each of 100 actors sends 10 000 messages to one, a hundred in a turn: else a bounded
// mailbox would keep 99 of them waiting for the first.
func fanIn(w World, scale int) Result {
	n := int64(10_000 / scale)
	done := make(chan struct{})
	for i := range int32(feeders) {
		w.Spawn(&feeder{self: i, sink: feeders, n: n})
	}
	w.Spawn(&funnel{make([]int64, feeders), feeders * n, done})
	began := time.Now()
	for i := range int32(feeders) {
		w.Send(i, Msg{Kind: start})
	}
	<-done
	return Result{feeders*n + feeders*((n+99)/100), time.Since(began)}
}

type feeder struct {
	self, sink int32
	n          int64
}

func (a *feeder) Receive(w World, m Msg) {
	for range min(100, a.n-m.N) {
		w.Send(a.sink, Msg{Kind: increment, From: a.self, N: m.N})
		m.N++
	}
	if m.N < a.n {
		w.Send(a.self, Msg{Kind: again, N: m.N})
	}
}

type funnel struct {
	next []int64
	left int64
	done chan struct{}
}

func (a *funnel) Receive(_ World, m Msg) {
	if a.next[m.From] != m.N {
		wrong("fanin: %d of %d, not %d", m.N, m.From, a.next[m.From])
	}
	a.next[m.From]++
	if a.left--; a.left == 0 {
		close(a.done)
	}
}

// asks is how many answers all askers of a program get.
const asks = 100_000

// ask: goroutines that ask one actor each, and wait for the answer, with a time-out.
func ask(w World, askers int32, n int) Result {
	for range askers {
		w.Spawn(answerer{})
	}
	each := n / int(askers)
	var all sync.WaitGroup
	began := time.Now()
	for i := range askers {
		all.Go(func() {
			for k := range int64(each) {
				r := w.Ask(i, Msg{Kind: start, From: i, N: k})
				if r.N != k+1 {
					wrong("ask: %d after %d", r.N, k)
				}
			}
		})
	}
	all.Wait()
	return Result{int64(each) * int64(askers), time.Since(began)}
}

type answerer struct{}

func (answerer) Receive(w World, m Msg) { w.Reply(m, Msg{N: m.N + 1}) }
