//go:build cgo

package coro_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// waiter is the function that waits once, as often as there are tests that declare one as brief: a
// busy machine may have one of them be late.
type waiter = coro.Func[testbody.Wait, testbody.Waited]

var (
	waitsAtLength = coro.MustFunc[testbody.Wait, testbody.Waited](testbody.WaitOnce)
	alikeOnes     atomic.Int32
)

// waitsBriefly declares one more function as brief.
func waitsBriefly() waiter {
	i := int(alikeOnes.Add(1)-1) % testbody.AlikeOnes
	return coro.MustFunc[testbody.Wait, testbody.Waited](testbody.Alike(i), coro.FuncBrief())
}

// onThread runs f on one thread, and gives it that thread's id.
func onThread(f func(thread int)) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	f(syscall.Gettid())
}

// A wakeUp is a call of Go's that has one waiting coroutine go on.
type wakeUp struct {
	name string
	wait testbody.Wait
	wake func(task *coro.Task[testbody.Waited]) error
	// begins has the coroutine started within what has to be under way; nil: nothing has
	begins func(start func())
}

// wakeUps are all of them, with objects of s.
func wakeUps(t *testing.T, s *coro.Scheduler) []wakeUp {
	type task = *coro.Task[testbody.Waited]
	ctx := background
	channel := func() *coro.Chan[int64] {
		return made[coro.Chan[int64]](t)(coro.NewChan[int64](s, 0))
	}
	at := func(what uint32, o interface{ Address() uintptr }) testbody.Wait {
		return testbody.Wait{What: what, Object: o.Address()}
	}
	did := func(ok bool, err error) error {
		assert.True(t, ok, "it need not wait")
		return err
	}
	var all []wakeUp
	add := func(name string, w testbody.Wait, wake func(task) error) {
		all = append(all, wakeUp{name: name, wait: w, wake: wake})
	}
	add("Handle.Wake", testbody.Wait{What: testbody.ForWake},
		func(t task) error { return t.Handle().Wake() })
	c := channel()
	add("Chan.Send", at(testbody.ForValue, c), func(task) error { return c.Send(ctx, 7) })
	add("Chan.TrySend", at(testbody.ForValue, c), func(task) error { return did(c.TrySend(7)) })
	add("Select that sends", at(testbody.ForValue, c), func(task) error {
		_, err := coro.Select(background, coro.OnSend(c, 7), coro.OnSend(channel(), 7))
		return err
	})
	closed := channel()
	add("Chan.Close", at(testbody.ForValue, closed), func(task) error { return closed.Close() })
	add("Chan.Recv", at(testbody.ForReceiver, c), func(task) error {
		v, err := c.Recv(background)
		assert.EqualValues(t, 7, v)
		return err
	})
	add("Chan.TryRecv", at(testbody.ForReceiver, c), func(task) error {
		v, ok, err := c.TryRecv()
		assert.EqualValues(t, 7, v)
		return did(ok, err)
	})
	add("Select that receives", at(testbody.ForReceiver, c), func(task) error {
		var v int64
		_, err := coro.Select(background, coro.OnRecv(channel(), &v), coro.OnRecv(c, &v))
		assert.EqualValues(t, 7, v)
		return err
	})
	m := made[coro.Semaphore](t)(coro.NewSemaphore(s, 0))
	add("Semaphore.Release", at(testbody.ForPermit, m), func(task) error { return m.Release(1) })
	mutex := made[coro.Mutex](t)(coro.NewMutex(s))
	held := func(lock func(context.Context) error) func(func()) {
		return func(start func()) { require.NoError(t, lock(background)); start() }
	}
	add("Mutex.Unlock", at(testbody.ForMutex, mutex), func(task) error { return mutex.Unlock() })
	all[len(all)-1].begins = held(mutex.Lock)
	rw := made[coro.RWMutex](t)(coro.NewRWMutex(s))
	add("RWMutex.Unlock", at(testbody.ForRead, rw), func(task) error { return rw.Unlock() })
	all[len(all)-1].begins = held(rw.Lock)
	add("RWMutex.RUnlock", at(testbody.ForWrite, rw), func(task) error { return rw.RUnlock() })
	all[len(all)-1].begins = held(rw.RLock)
	free := made[coro.Mutex](t)(coro.NewMutex(s))
	cond := made[coro.Cond](t)(coro.NewCond(free))
	signal := at(testbody.ForSignal, cond)
	signal.Mutex = free.Address()
	add("Cond.Signal", signal, func(task) error { return cond.Signal() })
	add("Cond.Broadcast", signal, func(task) error { return cond.Broadcast() })
	group := made[coro.WaitGroup](t)(coro.NewWaitGroup(s, 1))
	add("WaitGroup.Done", at(testbody.ForLatch, group), func(task) error { return group.Done() })
	once := made[coro.Once](t)(coro.NewOnce(s))
	add("Once.Do", at(testbody.ForOnce, once), func(task) error { return nil })
	all[len(all)-1].begins = func(start func()) { require.NoError(t, once.Do(background, start)) }
	return all
}

// eachWakeUp wakes one coroutine of f in each way, while the worker sleeps. check gets the thread
// of the waker, what the coroutine tells, and whether it had ended when the waking call returned.
func eachWakeUp(t *testing.T, f func() waiter, opts []coro.Option,
	check func(t *testing.T, thread int, got testbody.Waited, ended bool),
) {
	s := newScheduler(t, append(opts, coro.WithWorkers(1), coro.WithoutStandby())...)
	for _, w := range wakeUps(t, s) {
		t.Run(w.name, func(t *testing.T) {
			testbody.Reset()
			onThread(func(thread int) {
				var task *coro.Task[testbody.Waited]
				start := func() {
					asleep(t, s)
					var err error
					task, err = f().Start(s, w.wait)
					require.NoError(t, err)
					parked(t, s, 1)
					asleep(t, s)
				}
				if w.begins != nil {
					w.begins(start)
				} else {
					start()
				}
				require.NoError(t, w.wake(task))
				ended := testbody.Ran() == 1
				got, err := wait(t, task)
				require.NoError(t, err)
				if w.name != "Chan.Close" {
					assert.Equal(t, testbody.OK, got.Status)
				}
				check(t, thread, got, ended)
			})
			finish(t, s)
		})
	}
}

func TestABriefBodyRunsOnTheThreadThatStartsAndWakesIt(t *testing.T) {
	eachWakeUp(t, waitsBriefly, nil,
		func(t *testing.T, thread int, got testbody.Waited, ended bool) {
			assert.EqualValues(t, thread, got.Began, "started here")
			assert.EqualValues(t, thread, got.WentOn, "woken here")
			assert.True(t, ended, "before the waking call has returned")
		})
}

func TestABodyThatIsNotBriefNeverRunsOnTheThreadThatStartsOrWakesIt(t *testing.T) {
	eachWakeUp(t, func() waiter { return waitsAtLength }, nil,
		func(t *testing.T, thread int, got testbody.Waited, _ bool) {
			assert.NotEqualValues(t, thread, got.Began)
			assert.NotEqualValues(t, thread, got.WentOn)
		})
}

func TestWithoutLendingABriefBodyRunsOnItsWorkersThread(t *testing.T) {
	eachWakeUp(t, waitsBriefly, []coro.Option{coro.WithoutLending()},
		func(t *testing.T, thread int, got testbody.Waited, _ bool) {
			assert.NotEqualValues(t, thread, got.Began)
			assert.NotEqualValues(t, thread, got.WentOn)
		})
	s := newScheduler(t, coro.WithWorkers(1), coro.WithoutLending())
	asleep(t, s)
	lending(t, s, false, func() {
		onThread(func(thread int) {
			got, err := waitsBriefly().Call(background, s,
				testbody.Wait{What: testbody.ForNothing})
			require.NoError(t, err)
			assert.NotEqualValues(t, thread, got.Began)
		})
	})
}

func TestStartOfABriefBodyThatEndsHasTheResult(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithoutStandby())
	f := waitsBriefly()
	onThread(func(thread int) {
		for n := range uint64(20) {
			asleep(t, s)
			task, err := f.Start(s, testbody.Wait{What: testbody.ForNothing})
			require.NoError(t, err)
			assert.EqualValues(t, n+1, testbody.Ran())
			receive(t, task.Done())
			got, err := task.Wait(expired)
			require.NoError(t, err)
			assert.EqualValues(t, thread, got.Began)
			assert.Equal(t, coro.ErrStale, task.Wake())
			assert.Equal(t, n+1, s.Stats().Lends.Count, "each is a lend")
		}
	})
	finish(t, s)
	l := s.Stats().Lends
	assert.Positive(t, l.Longest, "the first lend is timed")
	assert.Positive(t, l.Time)
}

// Nothing but a Scheduler's own workers is lent for a Start in a group, of a daemon, or of what is
// pinned.
func TestStartOfABriefBodyThatIsBoundRunsOnAWorker(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithoutStandby())
	f := waitsBriefly()
	nothing := testbody.Wait{What: testbody.ForNothing}
	onThread(func(thread int) {
		for _, start := range []func() (*coro.Task[testbody.Waited], error){
			func() (*coro.Task[testbody.Waited], error) {
				return f.Start(coro.NewGroup(background, s), nothing)
			},
			func() (*coro.Task[testbody.Waited], error) { return f.Daemon().Start(s, nothing) },
			func() (*coro.Task[testbody.Waited], error) { return f.OnWorker(0).Start(s, nothing) },
		} {
			asleep(t, s)
			task, err := start()
			require.NoError(t, err)
			got, err := wait(t, task)
			require.NoError(t, err)
			assert.NotEqualValues(t, thread, got.Began)
		}
	})
	finish(t, s)
}

var (
	parksAndCalls = coro.MustFunc[testbody.Call, testbody.Came](testbody.ParksAndCalls,
		coro.FuncBrief())
	spinsWhenWoken = coro.MustFunc[coro.None, int32](testbody.SpinsWhenWoken)
)

// The waker holds a mutex of Go's, which the Go function takes.
func TestABriefBodyThatIsWokenLeavesItsInlineCallsToItsWorker(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithoutStandby())
	var mu sync.Mutex
	var madeOn atomic.Int64
	id := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		mu.Lock()
		defer mu.Unlock()
		madeOn.Store(int64(syscall.Gettid()))
		return n + 1, nil
	})
	onThread(func(thread int) {
		for range 50 {
			asleep(t, s)
			task, err := parksAndCalls.Start(s, testbody.Call{ID: uint32(id), Number: 7,
				How: testbody.Inline, ArgBytes: 8, ResultBytes: 8})
			require.NoError(t, err)
			parked(t, s, 1)
			asleep(t, s)
			mu.Lock()
			require.NoError(t, task.Wake())
			mu.Unlock()
			came, err := wait(t, task)
			require.NoError(t, err)
			assert.EqualValues(t, 8, came.Number)
			assert.NotEqualValues(t, thread, madeOn.Load())
		}
	})
	assert.Positive(t, s.Stats().Lends.Count)
	finish(t, s)
}

func TestABodyThatIsNotBriefMaySpinUntilItsWakersNextStatement(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithoutStandby())
	onThread(func(thread int) {
		for range 20 {
			testbody.Reset()
			task, err := spinsWhenWoken.Start(s, coro.None{})
			require.NoError(t, err)
			parked(t, s, 1)
			asleep(t, s)
			require.NoError(t, task.Wake())
			testbody.Stop()
			ranOn, err := wait(t, task)
			require.NoError(t, err)
			assert.NotEqualValues(t, thread, ranOn)
		}
	})
	assert.Zero(t, s.Stats().Lends.Count)
	finish(t, s)
}

// --------------------------------------------------- what changes the process: in children alone

func expect(ok bool, what string, args ...any) {
	if !ok {
		panic(fmt.Sprintf(what, args...))
	}
}

func init() {
	children["a late function"] = func() {
		late := make(chan string, 100)
		f := coro.MustFunc[uint64, coro.None](testbody.TakesLong, coro.FuncBrief(),
			coro.FuncName("takes too long"))
		s, err := coro.New(coro.WithWorkers(1), coro.WithoutStandby(),
			coro.WithLateHook(func(name string) {
				late <- name
				panic("of a hook, which harms nothing")
			}))
		expect(err == nil, "%v", err)
		ran := int64(0)
		until := func(cond func() bool, what string) {
			for start := time.Now(); !cond(); time.Sleep(50 * time.Microsecond) {
				expect(time.Since(start) < patience, "did not happen: %s", what)
			}
		}
		onThread(func(thread int) {
			task, err := f.Start(s, uint64(300*time.Microsecond))
			expect(err == nil, "%v", err)
			wakes := func() int { // returns the thread on which the body has computed
				until(func() bool {
					_, n := s.Blocked(0)
					return n == 1 && s.Stats().Awake == 0
				}, "it waits")
				expect(task.Wake() == nil, "it is woken")
				ran++
				until(func() bool { return testbody.Ran() == ran }, "it runs")
				return testbody.Thread()
			}
			for s.Stats().Lends.Late == 0 { // one lend in 64 is timed
				expect(ran < 64*4, "the function is not revoked")
				expect(wakes() == thread, "run %d is not on this thread", ran)
			}
			expect(<-late == "takes too long", "another name")
			until(func() bool { return s.Stats().HookFailures == 1 }, "the hook fails")
			lends := s.Stats().Lends
			for range 20 {
				expect(wakes() != thread, "it is still brief")
			}
			after := s.Stats().Lends
			expect(after.Count == lends.Count, "nothing is lent any more: %v %v", lends, after)
			expect(after.Late == 1 && len(late) == 0, "told once: %v", after)
			expect(after.Longest >= 300*time.Microsecond, "%v", after)
			f = coro.MustFunc[uint64, coro.None](testbody.TakesLong, coro.FuncBrief())
			expect(wakes() != thread, "what is revoked does not come back")
			task.Cancel()
		})
		expect(s.Close(background) == nil, "closed")
		fmt.Println("lost after", ran)
	}
	children["many brief functions"] = func() {
		fits := 0
		for i := range testbody.IdleOnes {
			_, err := coro.NewFunc[coro.None, coro.None](testbody.IdleOne(i), coro.FuncBrief())
			if err == nil {
				fits++
				continue
			}
			option, ok := err.(*coro.OptionError)
			expect(ok && option.What == "FuncBrief", "%v", err)
		}
		_, err := coro.NewFunc[coro.None, coro.None](testbody.IdleOne(0), coro.FuncBrief())
		expect(err == nil, "declared before: %v", err)
		_, err = coro.NewFunc[coro.None, coro.None](testbody.IdleOne(testbody.IdleOnes - 1))
		expect(err == nil, "revoked: %v", err)
		fmt.Println("fit:", fits)
	}
}

func TestABriefFunctionThatIsLateLosesTheMarkAndTheHookIsToldOnce(t *testing.T) {
	out, err := child(t, "a late function")
	require.NoError(t, err, out)
	assert.Contains(t, out, "lost after ")
}

// The variables of this package have declared some functions in the child, too.
func TestAProcessHas512BriefFunctionsAtMost(t *testing.T) {
	out, err := child(t, "many brief functions")
	require.NoError(t, err, out)
	var fits int
	_, rest, _ := strings.Cut(out, "fit: ")
	_, err = fmt.Sscan(rest, &fits)
	require.NoError(t, err, out)
	assert.Greater(t, fits, 512-20)
	assert.LessOrEqual(t, fits, 512)
}
