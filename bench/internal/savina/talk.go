package savina

import "time"

// The kinds of messages.
const (
	start uint32 = iota
	ping
	pong
	again
	increment
	retrieve
	total
	exit
	meet
	change
	count
)

// How many actors a program has, without the one in their middle.
const (
	ringers   = 100
	talkers   = 120
	creatures = 100
	joiners   = 60
	feeders   = 100
)

// pingPong: 400 000 rounds (Savina: 40 000) of three messages: a ping, its pong, and one of the
// pinger to itself.
func pingPong(w World, scale int) Result {
	n := 400_000 / scale
	done := make(chan struct{})
	b := &ponger{}
	b.self = w.Spawn(b)
	a := &pinger{pong: b.self, left: n, done: done}
	a.self = w.Spawn(a)
	began := time.Now()
	w.Send(a.self, Msg{Kind: start})
	<-done
	return Result{int64(3 * n), time.Since(began)}
}

type pinger struct {
	self, pong int32
	left       int
	done       chan struct{}
}

func (a *pinger) Receive(w World, m Msg) {
	switch m.Kind {
	case start, again:
		w.Send(a.pong, Msg{Kind: ping, From: a.self})
		a.left--
	case pong:
		if a.left > 0 {
			w.Send(a.self, Msg{Kind: again})
		} else {
			close(a.done)
		}
	}
}

type ponger struct{ self int32 }

func (a *ponger) Receive(w World, m Msg) { w.Send(m.From, Msg{Kind: pong, From: a.self}) }

// threadRing: one token makes 1 000 000 steps (Savina: 100 000) round 100 actors.
func threadRing(w World, scale int) Result {
	n := 1_000_000 / scale
	done := make(chan struct{})
	for i := range int32(ringers) {
		w.Spawn(&ringer{(i + 1) % ringers, done})
	}
	began := time.Now()
	w.Send(0, Msg{Kind: ping, N: int64(n)})
	<-done
	return Result{int64(n) + 1, time.Since(began)}
}

type ringer struct {
	next int32
	done chan struct{}
}

func (a *ringer) Receive(w World, m Msg) {
	if m.N > 0 {
		w.Send(a.next, Msg{Kind: ping, N: m.N - 1})
	} else {
		close(a.done)
	}
}

// big: each of 120 actors sends 20 000 pings to random others, and waits for each pong.
func big(w World, scale int) Result {
	n := 20_000 / scale
	done := make(chan struct{})
	for i := range int32(talkers) {
		w.Spawn(&talker{self: i, sink: talkers, actors: talkers, n: n, expects: -1,
			random: uint64(i)*0x9e3779b97f4a7c15 + 1})
	}
	w.Spawn(&sink{talkers, done})
	began := time.Now()
	for i := range int32(talkers) {
		w.Send(i, Msg{Kind: pong, From: -1})
	}
	<-done
	return Result{2*talkers*int64(n) + 2*talkers, time.Since(began)}
}

type talker struct {
	self, sink int32
	actors     uint64
	sent, n    int
	expects    int32
	random     uint64
}

func (a *talker) Receive(w World, m Msg) {
	if m.Kind == ping {
		w.Send(m.From, Msg{Kind: pong, From: a.self})
		return
	}
	if m.From != a.expects {
		wrong("big: pong from %d, not %d", m.From, a.expects)
	}
	if a.sent == a.n {
		w.Send(a.sink, Msg{Kind: exit})
		return
	}
	a.random ^= a.random << 13
	a.random ^= a.random >> 7
	a.random ^= a.random << 17
	a.expects = int32(a.random % a.actors)
	a.sent++
	w.Send(a.expects, Msg{Kind: ping, From: a.self})
}

// A sink waits for the end of as many as are left.
type sink struct {
	left int
	done chan struct{}
}

func (a *sink) Receive(World, Msg) {
	if a.left--; a.left == 0 {
		close(a.done)
	}
}

// chameneos: 100 creatures meet 200 000 times at one mall; four messages each.
func chameneos(w World, scale int) Result {
	n := 200_000 / scale
	done := make(chan struct{})
	w.Spawn(&mall{left: n, waiting: -1, faded: creatures, want: 2 * int64(n), done: done})
	for i := range int32(creatures) {
		w.Spawn(&creature{self: i + 1, color: int64(i % 3)})
	}
	began := time.Now()
	for i := range int32(creatures) {
		w.Send(i+1, Msg{Kind: start})
	}
	<-done
	return Result{4*int64(n) + 4*creatures, time.Since(began)}
}

type mall struct {
	left     int
	waiting  int32 // -1: nobody
	faded    int
	meetings int64
	want     int64
	done     chan struct{}
}

func (a *mall) Receive(w World, m Msg) {
	switch m.Kind {
	case meet:
		switch {
		case a.left == 0:
			w.Send(m.From, Msg{Kind: exit})
		case a.waiting < 0:
			a.waiting = m.From
		default:
			a.left--
			w.Send(a.waiting, m)
			a.waiting = -1
		}
	case count:
		a.meetings += m.N
		if a.faded--; a.faded == 0 {
			if a.meetings != a.want {
				wrong("chameneos: %d of %d", a.meetings, a.want)
			}
			close(a.done)
		}
	}
}

type creature struct {
	self, mall int32
	color      int64
	meetings   int64
}

func complement(a, b int64) int64 {
	if a == b {
		return a
	}
	return 3 - a - b
}

func (a *creature) Receive(w World, m Msg) {
	switch m.Kind {
	case meet:
		a.color = complement(a.color, m.N)
		a.meetings++
		w.Send(m.From, Msg{Kind: change, From: a.self, N: a.color})
	case change:
		a.color = m.N
		a.meetings++
	case exit:
		w.Send(a.mall, Msg{Kind: count, N: a.meetings})
		return
	}
	w.Send(a.mall, Msg{Kind: meet, From: a.self, N: a.color})
}
