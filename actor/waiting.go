package actor

// Turns of Waiting actors have a goroutine each, which ends with the turn. They have no time limit:
// the Go scheduler lets others run.

// startWaiting starts the turn of a Waiting actor.
func (y *System) startWaiting(s *actor) {
	y.waiting.Add(1)
	y.ends.Add(1)
	go s.kind.ops.turnThatWaits(s)
}

// turnThatWaits runs turns of a Waiting actor until it is dormant, or paused.
func (p *pool[M]) turnThatWaits(s *actor) {
	l := &local[M]{}
	l.init(&caller{sys: p.sys, actor: s})
	l.ctx.c = ofType[M](s)
	p.wait(&l.ctx)
}

// wait is turnThatWaits for the goroutine that goes on after one that a behaviour has ended.
func (p *pool[M]) wait(ctx *Context[M]) {
	defer ctx.h.register()() // also after a runtime.Goexit
	for p.runWaiting(ctx) {
	}
}

// runWaiting runs turns until the actor is dormant, or its behaviour fails: then again is true, and
// the next call deals with that.
func (p *pool[M]) runWaiting(ctx *Context[M]) (again bool) {
	c, h := ctx.c, ctx.h
	ended := false
	defer func() {
		p.sys.handled.Add(uint64(h.handled - h.published))
		h.published = h.handled
		if ended {
			p.sys.endOfWaiting()
			p.sys.ends.Done()
			return
		}
		v := recover()
		h.err = failureOf(v)
		again = true
		if v == nil { // runtime.Goexit: this goroutine is at its end
			go p.wait(ctx)
		}
	}()
	goesOn := true
	if err := h.err; err != nil {
		h.err = nil
		goesOn = p.fail(ctx, c, err)
	}
	for goesOn {
		if x := c.side.Load(); x != nil && !p.begin(ctx, c, x) {
			break
		}
		goesOn = p.messages(ctx, c)
	}
	ended = true
	return false
}

func (y *System) endOfWaiting() {
	if y.waiting.Add(-1) == 0 || y.stepped != nil {
		y.mu.Lock()
		y.restedLocked()
		y.changedLocked()
		y.mu.Unlock()
	}
}
