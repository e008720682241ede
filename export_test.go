//go:build cgo

package coro

import "github.com/organzine/coro/internal/core"

// WithoutStandby is for tests of lost wake-ups: no sleeper looks around while others work.
func WithoutStandby() Option {
	return func(c *config) error { c.NoStandby = true; return nil }
}

// Executors is the number of goroutines that have run Go bodies so far: more than the user wants if
// some seemed to be stuck.
func (s *Scheduler) Executors() int { return len(s.executors.all()) }

// ActiveExecutors is the number of executors that run bodies, or are stuck in one.
func ActiveExecutors(s *Scheduler) int {
	s.executors.mu.Lock()
	defer s.executors.mu.Unlock()
	return s.executors.active
}

// AddPermits gives c, which has not ended, n permits at once. Permits is the number of permits that
// c has.
func AddPermits(c *Coroutine, n uint32) {
	_, _ = c.signal(0, n)
	c.tellFull()
}

func Permits(c *Coroutine) uint64 { return c.state.Load() & permitsMask }

// WaitingForMemory is how many goroutines wait in SpawnWait. MemoryIsWanted tells whether workers
// keep no credit in hand for them.
func WaitingForMemory(s *Scheduler) int { return int(s.credit.length.Load()) }

func MemoryIsWanted(s *Scheduler) bool { return s.credit.busy.Load() }

// HoldSubmitters has nobody spawn until release is called.
func HoldSubmitters(s *Scheduler) (release func()) {
	for i := range s.submitters {
		s.submitters[i].Acquire()
	}
	return func() {
		for i := range s.submitters {
			s.submitters[i].Release()
		}
	}
}

// Now is the clock of deadlines in C, in ns.
func Now() uint64 { return core.Now() }

// SpecOf is what the core is told of a Func.
func SpecOf[A, R any](f Func[A, R]) core.Spec { return f.spec }

// A Turn of a coroutine ends when the coroutine is suspended, or yields.
type Turn struct {
	e     *executor
	turns uint32
}

// TurnOf is the present turn of c, whose body calls it.
func TurnOf(c *Coroutine) Turn { return Turn{c.exec, c.exec.turns} }

// A CrowdWatch is what watches for crowds, without its clock.
type CrowdWatch struct{ told map[string]bool }

// Look is one look.
func (w *CrowdWatch) Look(s *Scheduler, limit int) { w.told = s.tellCrowds(limit, w.told) }

// Meets tells whether values of c go between goroutines without cgo.
func Meets[T any](c *Chan[T]) bool { return c.meets() }
