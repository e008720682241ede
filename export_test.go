//go:build cgo

package coro

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro/internal/core"
	"github.com/organzine/coro/internal/testbody"
)

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

// The largest value and room of a channel, and the most cases of a Select.
const (
	ElementMax  = elementMax
	CapacityMax = capacityMax
	SelectMax   = core.SelectMax
)

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

func TestEachStatusHasItsError(t *testing.T) {
	for _, k := range []kind{ofScheduler, ofChan, ofObject, ofWaitGroup} {
		assert.NoError(t, statusError(core.OK, k))
		seen := map[error]core.Status{}
		for _, s := range []core.Status{core.Closed, core.NoMemory, core.Canceled,
			core.Aborted, core.Stale, core.Busy, core.Ended, core.Perm, core.Again,
			core.Overflow, core.Deadlock,
			core.Invalid} {
			err := statusError(s, k)
			assert.Error(t, err)
			assert.NotContains(t, seen, err)
			seen[err] = s
		}
		assert.Equal(t, core.Overflow, seen[ErrOverflow])
		assert.Equal(t, core.Again, seen[ErrThread])
	}
	assert.ErrorContains(t, statusError(core.Invalid, ofScheduler), core.Invalid.Text())
}

func TestAStatusMeansWhatItIsAbout(t *testing.T) {
	for _, c := range []struct {
		status core.Status
		about  kind
		want   error
	}{
		{core.Closed, ofScheduler, ErrClosed},
		{core.Closed, ofChan, ErrChanClosed},
		{core.Perm, ofScheduler, ErrPaused},
		{core.Perm, ofObject, ErrNotLocked},
		{core.Deadlock, ofObject, ErrLockedAlready},
		{core.Invalid, ofObject, ErrDestroyed},
		{core.Invalid, ofWaitGroup, ErrNegativeWaitGroup},
		{core.Overflow, ofWaitGroup, ErrOverflow},
	} {
		assert.Equal(t, c.want, statusError(c.status, c.about))
	}
}

func TestIdleOffloadWorkersGo(t *testing.T) {
	s, err := New(WithWorkers(1))
	require.NoError(t, err)
	const n = 20
	var here sync.WaitGroup
	here.Add(n)
	id := MustExportFunc(func(context.Context, int64) (int64, error) {
		here.Done()
		here.Wait()
		return 0, nil
	})
	call := MustFunc[testbody.Calls, None](testbody.CallMany)
	_, err = call.SpawnN(s, n, testbody.Calls{ID: uint32(id), How: testbody.Offload, N: 1})
	require.NoError(t, err)
	require.NoError(t, s.Wait(context.Background()))

	o := &s.offload
	k, all, _ := o.Idle()
	for ; k < all || all < n; k, all, _ = o.Idle() { // some are on their way to sleep
		runtime.Gosched()
	}
	o.TrimNow() // there were calls since it was set
	for k > 0 {
		before := k
		o.TrimNow()
		k, all, _ = o.Idle()
		assert.LessOrEqual(t, k, before/2)
		assert.Equal(t, k, all)
	}
	o.TrimNow()
	_, _, trims := o.Idle()
	assert.False(t, trims, "nobody is idle")
	require.NoError(t, s.Close(context.Background()))
}

// asleep waits until a worker of the pool sleeps in C. Where Go is busy with other things none may,
// for a number of calls.
func asleep(s *Scheduler) bool {
	for limit := time.Now().Add(time.Second / 10); !s.offload.Sleeps(); {
		if time.Now().After(limit) {
			return false
		}
		time.Sleep(time.Millisecond / 10)
	}
	return true
}

// oneCall has a coroutine call the function once, and returns how.
func oneCall(t *testing.T, s *Scheduler, id FuncID) testbody.Came {
	t.Helper()
	call := MustFunc[testbody.Call, testbody.Came](testbody.CallOne)
	task, err := call.Start(s, testbody.Call{ID: uint32(id), How: testbody.Offload,
		Number: 1, ArgBytes: 8, ResultBytes: 8})
	require.NoError(t, err)
	came, err := task.Wait(context.Background())
	require.NoError(t, err)
	return came
}

func TestAnOffloadedCallWakesAWorkerThatSleepsInC(t *testing.T) {
	s, err := New(WithWorkers(1))
	require.NoError(t, err)
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	panics := MustExportFunc(func(context.Context, int64) (int64, error) { panic("no") })
	leaves := MustExportFunc(func(context.Context, int64) (int64, error) {
		runtime.Goexit()
		return 0, nil
	})
	slept := 0
	for range 100 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
		if asleep(s) {
			slept++
		}
		assert.Equal(t, int32(core.Failed), oneCall(t, s, panics).Status)
		if asleep(s) {
			slept++
		}
		assert.Equal(t, int32(core.Failed), oneCall(t, s, leaves).Status)
	}
	assert.Positive(t, slept)
	asleep(s)
	require.NoError(t, s.Close(context.Background()))
	_, all, _ := s.offload.Idle()
	assert.Zero(t, all)
}

// While the worker that slept in C runs a function, the next call comes by the bell.
func TestACallComesWhileTheWorkerThatSleptIsInACall(t *testing.T) {
	s, err := New(WithWorkers(2))
	require.NoError(t, err)
	var both sync.WaitGroup
	meet := MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		both.Done()
		both.Wait()
		return n + 1, nil
	})
	for range 50 {
		both.Add(2)
		asleep(s)
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { assert.Equal(t, int64(2), oneCall(t, s, meet).Number) })
		}
		all.Wait()
	}
	require.NoError(t, s.Close(context.Background()))
}

// A worker that is let go while it sleeps in C leaves the bell to be rung by the next call.
func TestAWorkerThatSleepsInCGoes(t *testing.T) {
	s, err := New(WithWorkers(1))
	require.NoError(t, err)
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	for range 20 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
		asleep(s)
		for trims := true; trims; _, _, trims = s.offload.Idle() {
			s.offload.TrimNow()
		}
	}
	require.NoError(t, s.Close(context.Background()))
}

// Calls race with the trim, and with the end.
func TestCallsWhileWorkersGo(t *testing.T) {
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	for range 20 {
		s, err := New(WithWorkers(2))
		require.NoError(t, err)
		var ended atomic.Bool
		var trims sync.WaitGroup
		trims.Go(func() {
			for !ended.Load() {
				s.offload.TrimNow()
				runtime.Gosched()
			}
		})
		for i := range 50 {
			assert.Equal(t, int64(2), oneCall(t, s, add).Number)
			if i%8 == 0 {
				time.Sleep(time.Millisecond / 2)
			}
		}
		require.NoError(t, s.Close(context.Background()))
		ended.Store(true)
		trims.Wait()
	}
}

func TestOffloadedCallsWhereEveryPComputes(t *testing.T) {
	s, err := New(WithWorkers(2))
	require.NoError(t, err)
	add := MustExportFunc(func(_ context.Context, n int64) (int64, error) { return n + 1, nil })
	asleep(s)
	var stop atomic.Bool
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for !stop.Load() {
			}
		})
	}
	for range 30 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
	}
	stop.Store(true)
	all.Wait()
	for range 1000 {
		assert.Equal(t, int64(2), oneCall(t, s, add).Number)
	}
	require.NoError(t, s.Close(context.Background()))
}

// looks makes n waits that are so far apart, from now on. It returns the times at which the budget
// was spent, and how often the clock was read.
func looks(b *budget, now *time.Duration, apart time.Duration, n int) (
	spent []time.Duration, read int,
) {
	for range n {
		*now += apart
		if b.left--; b.left > 0 {
			continue
		}
		read++
		if b.look(*now) {
			spent = append(spent, *now)
		}
	}
	return spent, read
}

// However far apart waits are, the budget lasts for about budgetTurn, and the clock is read a few
// times in it.
func TestABudgetIsSpentInTimeWithFewLooks(t *testing.T) {
	for _, apart := range []time.Duration{1, 5, 10, 39, 100, 333, 1000, 2700, 7100, 9900, 10_100,
		19_000, 21_000, 50_000, 1_000_000} {
		const n = 1 << 18
		b, now := newBudget(), time.Second
		looks(&b, &now, apart, 2*waitsMost) // it is found out
		spent, read := looks(&b, &now, apart, n)
		if !assert.Greater(t, len(spent), 8, "%v apart", apart) {
			continue
		}
		shortest, longest := time.Hour, time.Duration(0)
		for i := range len(spent) - 1 {
			lasted := spent[i+1] - spent[i]
			shortest, longest = min(shortest, lasted), max(longest, lasted)
		}
		assert.GreaterOrEqual(t, shortest, budgetTurn, "%v apart", apart)
		assert.LessOrEqual(t, longest, 2*budgetTurn+apart, "%v apart", apart)
		assert.LessOrEqual(t, read, n/waitsMost+4*(len(spent)+1), "%v apart", apart)
	}
}

// Waits that were short become long: the first look finds out.
func TestABudgetIsSpentSoonAfterWaitsBecomeLong(t *testing.T) {
	b, now := newBudget(), time.Second
	looks(&b, &now, 10, 1<<16)
	spent, _ := looks(&b, &now, time.Millisecond, waitsMost)
	assert.NotEmpty(t, spent)
	spent, _ = looks(&b, &now, time.Millisecond, 100)
	assert.Len(t, spent, 100)
	looks(&b, &now, 10, 4*waitsMost)
	_, read := looks(&b, &now, 10, 100*waitsMost)
	assert.LessOrEqual(t, read, 130, "and short again")
}

// Exposed is the number of objects of s that C may use.
func Exposed(s *Scheduler) int {
	s.exposures.mu.Lock()
	defer s.exposures.mu.Unlock()
	return len(s.exposures.objects)
}
