package actor

import "github.com/organzine/coro/internal/asm"

// Turns of Waiting actors have a goroutine each, which ends with the turn. They have no time limit:
// the Go scheduler lets others run.

// startWaiting has the turn of a Waiting actor started.
func (y *System) startWaiting(s *slot) {
	y.waiting.Add(1)
	go s.kind.ops.turnThatWaits(s)
}

// turnThatWaits runs turns of a Waiting actor until it is dormant, or paused.
func (p *pool[M]) turnThatWaits(s *slot) {
	c := cellOf[M](s)
	l := &local[M]{}
	h := &caller{sys: p.sys, slot: s}
	l.init(h)
	l.ctx.c = c
	me := asm.Goroutine()
	callers.Put(me, h)
	handedOn := false
	defer func() {
		callers.Remove(me) // also after a runtime.Goexit
		p.sys.handled.Add(uint64(h.handled))
		if !handedOn {
			p.sys.endOfWaiting()
		}
	}()
	again := true
	step := func(turn func() bool) {
		ended := false
		defer func() {
			if ended {
				return
			}
			v := recover()
			again = p.fail(&l.ctx, c, failureOf(v))
			if v == nil && again { // runtime.Goexit: this goroutine is at its end
				handedOn = true
				go s.kind.ops.turnThatWaits(s)
			}
		}()
		again = turn()
		ended = true
	}
	for again {
		step(func() bool {
			if x := s.side.Load(); x != nil && !p.begin(&l.ctx, c, x) {
				return false
			}
			return p.messages(&l.ctx, c)
		})
	}
}

func (y *System) endOfWaiting() {
	if y.waiting.Add(-1) == 0 {
		y.mu.Lock()
		y.restedLocked()
		y.mu.Unlock()
	}
}
