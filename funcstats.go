package coro

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"time"
)

// FuncStats are the figures of one function's coroutines.
type FuncStats struct {
	Func      string // as in BlockedCoroutine
	Live      int    // that have reached a worker, or the executors, and not ended
	Unstarted int    // of them, that have not started: of a C function
}

// StatsByFunc returns the functions of the coroutines that live, C and Go, those with the most
// first. Functions with one name are one. A child of a scope, the turn of an actor in C, and a call
// of CallN are counted from their start on. How many coroutines of a function there have been is
// not known.
//
// It costs spawns nothing. It stops each worker while it looks at every record and all that is
// queued, as Blocked does: some ms for 100 000 coroutines. After Close it returns nothing.
func (s *Scheduler) StatsByFunc() []FuncStats {
	byName := map[string]*FuncStats{}
	add := func(name string, live, unstarted int) {
		f := byName[name]
		if f == nil {
			f = &FuncStats{Func: name}
			byName[name] = f
		}
		f.Live += live
		f.Unstarted += unstarted
	}
	for _, f := range s.core.Functions() {
		add(funcName(f.Fn), f.Live, f.Unstarted)
	}
	s.executors.bodies.Each(func(c *Coroutine) { add(c.name, 1, 0) })
	runtime.KeepAlive(s)
	list := make([]FuncStats, 0, len(byName))
	for _, f := range byName {
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b FuncStats) int {
		return cmp.Or(cmp.Compare(b.Live, a.Live), cmp.Compare(a.Func, b.Func))
	})
	return list
}

// WithCrowdHook calls f, on a goroutine of its own, when more than limit coroutines of one function
// live: 1 or more. It is called again for that function when there have been no more than the limit
// meanwhile. A goroutine looks four times a second, so a crowd that has come and gone between two
// looks is not seen, and the number may be far above the limit. A look is a Stats; where more than
// limit coroutines live in all it is a StatsByFunc, which stops each worker for a moment. Spawns
// cost nothing more. A nil f is no hook, as without the option. A panic in f harms nothing
// (Stats.HookFailures).
func WithCrowdHook(limit int, f func(FuncStats)) Option {
	return number("WithCrowdHook", limit, 1, math.MaxInt, func(c *config) {
		c.crowdLimit, c.onCrowd = limit, f
	})
}

// watchCrowds looks for crowds until s is closed.
func (s *Scheduler) watchCrowds(limit int) {
	t := time.NewTicker(crowdLook)
	defer t.Stop()
	var told map[string]bool
	for {
		select {
		case <-s.life.Done():
			return
		case <-t.C:
			told = s.tellCrowds(limit, told)
		}
	}
}

// tellCrowds tells the hook of the functions that have more than limit coroutines, and were not
// told at the last look. It returns all that have.
func (s *Scheduler) tellCrowds(limit int, told map[string]bool) map[string]bool {
	if s.core.Stats().Live <= limit {
		return nil
	}
	now := map[string]bool{}
	for _, f := range s.StatsByFunc() {
		if f.Live <= limit {
			break
		}
		now[f.Func] = true
		if !told[f.Func] {
			go s.hooks.crowd.Call(f)
		}
	}
	return now
}
