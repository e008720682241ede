//go:build cgo

package coro_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
)

// threadFile reads a file of /proc of a worker thread.
func threadFile(t *testing.T, tid int, name string) string {
	text, err := os.ReadFile(filepath.Join("/proc/self/task", strconv.Itoa(tid), name))
	require.NoError(t, err)
	return string(bytes.TrimSpace(text))
}

// statusLine is the value of a line of the thread's status file.
func statusLine(t *testing.T, tid int, key string) string {
	for line := range strings.Lines(threadFile(t, tid, "status")) {
		if value, ok := strings.CutPrefix(line, key+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	require.Fail(t, "no such line", key)
	return ""
}

func TestWorkersAreThreadsWithNames(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(3), coro.WithName("my-threads"))
	for i, w := range s.Stats().PerWorker {
		assert.Equal(t, fmt.Sprintf("my-threads/%d", i), threadFile(t, w.ThreadID, "comm"))
	}
	assert.Equal(t, 3, threads(t, "my-threads/"))
	require.NoError(t, s.Close(background))
	gone(t, "my-threads/") // Close joins them
}

func TestTheDefaultsAreGOMAXPROCSWorkersCalledCoro(t *testing.T) {
	s := newScheduler(t)
	assert.Equal(t, runtime.GOMAXPROCS(0), s.Workers())
	st := s.Stats()
	assert.Equal(t, s.Workers(), st.Workers)
	require.Len(t, st.PerWorker, s.Workers())
	assert.Equal(t, "coro/0", threadFile(t, st.PerWorker[0].ThreadID, "comm"))
	assert.Equal(t, -1, st.PerWorker[0].CPU)
}

func TestTheNumberOfWorkersIsChecked(t *testing.T) {
	for _, n := range []int{0, -1, 257, math.MaxInt, math.MinInt} {
		_, err := coro.New(coro.WithWorkers(n))
		optionError(t, err, "WithWorkers", "from 1 to 256")
	}
	s := newScheduler(t, coro.WithWorkers(256))
	assert.Equal(t, 256, s.Workers())
	n, err := add.SpawnN(s, 100_000, 1)
	require.NoError(t, err)
	assert.Equal(t, 100_000, n)
	finish(t, s)
}

func TestNamesAreChecked(t *testing.T) {
	for _, name := range []string{"", "eleven char", "a/b", "a\x00b",
		strings.Repeat("x", 1<<16)} {
		_, err := coro.New(coro.WithName(name))
		optionError(t, err, "WithName", "1 to 10 bytes")
	}
	s := newScheduler(t, coro.WithName("größe"), coro.WithWorkers(1))
	assert.Equal(t, "größe/0", threadFile(t, s.Stats().PerWorker[0].ThreadID, "comm"))
}

// allowed are the first and the last CPU that this process may use: "0-3,8" is 0 and 8.
func allowed(t *testing.T) (first, last int) {
	list := strings.FieldsFunc(statusLine(t, os.Getpid(), "Cpus_allowed_list"),
		func(r rune) bool {
			return r < '0' || r > '9'
		})
	first, err := strconv.Atoi(list[0])
	require.NoError(t, err)
	last, err = strconv.Atoi(list[len(list)-1])
	require.NoError(t, err)
	return first, last
}

func TestWorkersStayOnTheirCPUs(t *testing.T) {
	first, last := allowed(t)
	s := newScheduler(t, coro.WithWorkers(3), coro.WithAffinity(first))
	for _, w := range s.Stats().PerWorker {
		assert.Equal(t, strconv.Itoa(first), statusLine(t, w.ThreadID, "Cpus_allowed_list"))
		assert.Equal(t, first, w.CPU)
	}
	s = newScheduler(t, coro.WithWorkers(3), coro.WithAffinity(last, first))
	for i, w := range s.Stats().PerWorker {
		assert.Equal(t, strconv.Itoa([]int{last, first, last}[i]),
			statusLine(t, w.ThreadID, "Cpus_allowed_list"))
	}
}

func TestACPUThatIsNotThereIsReportedAndTheWorkerRunsAnywhere(t *testing.T) {
	anywhere := statusLine(t, newScheduler(t, coro.WithWorkers(
		1)).Stats().PerWorker[0].ThreadID, "Cpus_allowed_list")
	for _, cpu := range []int{1023, 1024, math.MaxUint16} {
		s := newScheduler(t, coro.WithWorkers(1), coro.WithAffinity(cpu))
		w := s.Stats().PerWorker[0]
		assert.Equal(t, -1, w.CPU)
		assert.Equal(t, anywhere, statusLine(t, w.ThreadID, "Cpus_allowed_list"))
		require.NoError(t, add.Spawn(s, 1))
		finish(t, s)
	}
}

func TestCPUNumbersAreChecked(t *testing.T) {
	_, err := coro.New(coro.WithAffinity())
	optionError(t, err, "WithAffinity", "at least one")
	for _, cpu := range []int{-1, math.MaxUint16 + 1, math.MinInt} {
		_, err := coro.New(coro.WithAffinity(0, cpu))
		optionError(t, err, "WithAffinity", "from 0 to 65535")
	}
}

// Go's own threads handle Go's signals: workers must neither take signals for the process nor be
// disturbed by them.
func TestWorkersLeaveTheProcessesSignalsToGo(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1))
	blocked, err := strconv.ParseUint(statusLine(t, s.Stats().PerWorker[0].ThreadID, "SigBlk"),
		16, 64)
	require.NoError(t, err)
	for name, sig := range map[string]int{"HUP": 1, "INT": 2, "QUIT": 3, "PIPE": 13, "TERM": 15,
		"CHLD": 17} {
		assert.NotZero(t, blocked>>(sig-1)&1, "SIG%s blocked", name)
	}
	for name, sig := range map[string]int{"SEGV": 11, "BUS": 7, "FPE": 8, "PROF": 27, "URG": 23,
		"setxid": 33} {
		assert.Zero(t, blocked>>(sig-1)&1, "SIG%s open", name)
	}
}

func TestWorkerStatsAddUp(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	const n = 10_000
	_, err := yield.SpawnN(s, n, 3)
	require.NoError(t, err)
	finish(t, s)
	var sum coro.WorkerStats
	for _, w := range s.Stats().PerWorker {
		sum.Spawned += w.Spawned
		sum.Ended += w.Ended
		sum.Switches += w.Switches
		sum.Steals += w.Steals
		sum.Served += w.Served
		sum.Forced += w.Forced
		sum.Stolen += w.Stolen
		assert.Zero(t, w.Queued)
	}
	assert.EqualValues(t, n, sum.Spawned)
	assert.EqualValues(t, n, sum.Ended)
	assert.GreaterOrEqual(t, sum.Switches, uint64(3*n),
		"each was chosen again after its yields")
	assert.Equal(t, sum.Steals, sum.Served+sum.Forced)
	assert.GreaterOrEqual(t, sum.Stolen, sum.Steals)
}

func placeAt(worker int) coro.Func[int64, int64] {
	return coro.MustFunc[int64, int64](testbody.Place).OnWorker(worker)
}

func TestDedicatedWorkersRunWhatIsSentThereAlone(t *testing.T) {
	const general, dedicated = 2, 2
	s := newScheduler(t, coro.WithWorkers(general), coro.WithDedicatedWorkers(dedicated))
	require.Equal(t, general+dedicated, s.Workers())
	_, err := add.SpawnN(s, 10_000, 1)
	require.NoError(t, err)
	_, err = add.SpawnSeq(s, func(yield func(int64) bool) {
		for range 10_000 {
			if !yield(1) {
				return
			}
		}
	})
	require.NoError(t, err)
	for range 1000 {
		require.NoError(t, add.Spawn(s, 1))
		_, err := square.Start(s, 2)
		require.NoError(t, err)
	}
	finish(t, s)
	for _, w := range s.Stats().PerWorker[general:] {
		assert.Zero(t, w.Spawned)
	}
	for worker := general; worker < general+dedicated; worker++ {
		f := placeAt(worker)
		tasks := make([]*coro.Task[int64], 50)
		for i := range tasks {
			tasks[i], err = f.Start(s, int64(i))
			require.NoError(t, err)
		}
		for _, task := range tasks { // with their children, which are not pinned
			got, err := task.Wait(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, worker, got)
		}
		assert.EqualValues(t, 100, s.Stats().PerWorker[worker].Spawned)
		assert.Zero(t, s.Stats().PerWorker[worker].Steals)
	}
	require.NoError(t, s.Close(background))
}

func TestOnWorkerPinsToDedicatedWorkersToo(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(3), coro.WithDedicatedWorkers(1))
	for worker := range 4 {
		f := placeAt(worker)
		before := testbody.Sum()
		b := f.Batch(s)
		for range 10 {
			require.NoError(t, f.Spawn(s, 5))
			require.NoError(t, b.Add(5))
		}
		require.NoError(t, b.Flush())
		n, err := f.SpawnN(s, 10, 5)
		require.NoError(t, err)
		assert.Equal(t, 10, n)
		n, err = f.SpawnSeq(s, slices.Values([]int64{1, 2, 3}))
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		finish(t, s)
		assert.EqualValues(t, 33*(worker+1), testbody.Sum()-before)
	}
	nowhere := placeAt(4)
	_, err := nowhere.Start(s, 1)
	optionError(t, err, "OnWorker", "workers 0 to 3")
}

func TestTheNumberOfDedicatedWorkersIsChecked(t *testing.T) {
	for _, n := range []int{-1, 256} {
		_, err := coro.New(coro.WithDedicatedWorkers(n))
		optionError(t, err, "WithDedicatedWorkers", "from 0 to 255")
	}
	_, err := coro.New(coro.WithWorkers(200), coro.WithDedicatedWorkers(57))
	optionError(t, err, "WithDedicatedWorkers", "256 workers in all")
}

// A thread that Go starts while a worker calls it is Go's: it has neither the worker's name nor its
// CPU.
func TestThreadsThatGoStartsInACallAreNotLikeTheWorker(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(1), coro.WithName("calling"))
	release := make(chan struct{})
	var started sync.WaitGroup
	starts := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		for range n {
			here := make(chan struct{})
			started.Go(func() {
				// Another thread is needed then, and this one ends with its
				// goroutine.
				runtime.LockOSThread()
				close(here)
				<-release
			})
			<-here
		}
		return 0, nil
	})
	task, err := callOne.Start(s, testbody.Call{ID: uint32(starts), How: testbody.Inline,
		Number: 20, ArgBytes: 8, ResultBytes: 8})
	require.NoError(t, err)
	_, err = task.Wait(soon(t))
	require.NoError(t, err)
	assert.Equal(t, 1, threads(t, "calling/"))
	close(release)
	started.Wait()
}

// The threads of a scheduler have the priority of the thread that has made it: jobs that are to run
// when nobody else wants the CPU have a scheduler of their own.
func TestWorkersInheritThePriorityOfTheirMaker(t *testing.T) {
	const schedIdle = 5
	made := make(chan *coro.Scheduler)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		priority := int32(0)
		_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, 0, schedIdle,
			uintptr(unsafe.Pointer(&priority)))
		if errno != 0 {
			close(made)
			return
		}
		s, err := coro.New(coro.WithWorkers(2), coro.WithoutLending())
		assert.NoError(t, err)
		made <- s
	}()
	s, ok := <-made
	if !ok {
		t.Skip("the system refuses SCHED_IDLE")
	}
	require.NotNil(t, s)
	for _, w := range s.Stats().PerWorker {
		policy, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, uintptr(w.ThreadID), 0, 0)
		assert.Zero(t, errno)
		assert.EqualValues(t, schedIdle, policy)
	}
	task, err := add.Start(s, 41)
	require.NoError(t, err)
	_, err = task.Wait(background)
	require.NoError(t, err)
	require.NoError(t, s.Close(background))
}

var where = coro.MustFunc[int64, int64](testbody.Where)

func TestOnWorker(t *testing.T) {
	const workers = 3
	s := newScheduler(t, coro.WithWorkers(workers))
	var tasks []*coro.Task[int64]
	for i := range 50 * workers {
		task, err := where.OnWorker(i%workers).Start(s, 20)
		require.NoError(t, err)
		tasks = append(tasks, task)
		task, err = where.OnWorker(i%workers).StartContext(soon(t), s, 20)
		require.NoError(t, err)
		tasks = append(tasks, task)
	}
	g := coro.NewGroup(background, s)
	grouped, err := where.OnWorker(2).Start(g, 3)
	require.NoError(t, err)
	for i, task := range tasks {
		worker, err := task.Wait(soon(t))
		require.NoError(t, err)
		assert.EqualValues(t, i/2%workers, worker)
	}
	require.NoError(t, g.Wait(background))
	worker, err := grouped.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, 2, worker)
	free, err := where.Start(s, 0)
	require.NoError(t, err)
	worker, err = free.Wait(soon(t))
	require.NoError(t, err)
	assert.EqualValues(t, -2, worker, "it is the Func that is pinned, not the function")
}

func TestOnWorkerByAllWays(t *testing.T) {
	for _, paused := range []bool{false, true} {
		opts := []coro.Option{coro.WithWorkers(2)}
		if paused {
			opts = append(opts, coro.WithPaused())
		}
		s := newScheduler(t, opts...)
		pinned := coro.MustFunc[int64, int64](testbody.Where).OnWorker(1)
		require.NoError(t, pinned.Spawn(s, 5))
		n, err := pinned.SpawnN(s, 500, 5)
		require.NoError(t, err)
		assert.Equal(t, 500, n)
		n, err = pinned.SpawnSeq(s, slices.Values([]int64{1, 2, 3}))
		require.NoError(t, err)
		assert.Equal(t, 3, n)
		b := pinned.Batch(s)
		require.NoError(t, b.Add(4))
		require.NoError(t, b.Flush())
		if paused {
			require.NoError(t, s.Run(soon(t)))
		}
		finishes := func() bool { return testbody.Sum() == 505 }
		eventually(t, finishes, "all have run where they were to")
		if !paused {
			finish(t, s)
		}
	}
}

// A paused scheduler that is closed drops pinned coroutines, too.
func TestOnWorkerDropped(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2), coro.WithPaused())
	_, err := where.OnWorker(1).SpawnN(s, 100, 0)
	require.NoError(t, err)
	task, err := where.OnWorker(0).Start(s, 0)
	require.NoError(t, err)
	require.NoError(t, s.Close(soon(t)))
	_, err = task.Wait(soon(t))
	assert.ErrorIs(t, err, coro.ErrCanceled)
	assert.Zero(t, testbody.Sum())
	assert.ErrorIs(t, where.OnWorker(1).Spawn(s, 0), coro.ErrClosed)
}

func TestOnWorkerThatIsNotThere(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	for _, i := range []int{2, -1, -3, 1 << 40, math.MaxInt - 1, math.MaxInt, math.MinInt32,
		math.MinInt} {
		f := where.OnWorker(i)
		err := f.Spawn(s, 1)
		optionError(t, err, "OnWorker", "0 to 1")
		assert.Contains(t, err.Error(), fmt.Sprintf("OnWorker(%d)", i))
		_, err = f.Start(s, 1)
		optionError(t, err, "OnWorker")
		_, err = f.SpawnN(s, 2, 1)
		optionError(t, err, "OnWorker")
		optionError(t, f.Batch(s).Add(1), "OnWorker")
		_, err = f.StartContext(background, s, 1)
		optionError(t, err, "OnWorker")
	}
	finish(t, s)
	assert.Zero(t, testbody.Ran())
}

func newMain(t *testing.T) *coro.Scheduler {
	return newScheduler(t, coro.WithWorkers(2), coro.WithMainThread())
}

// calledOn is the thread of the last inline call of noteThread.
var (
	calledOn   atomic.Int64
	noteThread = coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		calledOn.Store(int64(syscall.Gettid()))
		return n + 1, nil
	})
)

// onMain is a coroutine for the main worker that makes n inline calls there.
func onMain(t *testing.T, s *coro.Scheduler, n int64) *coro.Task[coro.None] {
	task, err := callMany.OnWorker(s.MainWorker()).Start(s,
		testbody.Calls{ID: uint32(noteThread), How: testbody.Inline, N: n})
	require.NoError(t, err)
	return task
}

func TestRunMainRunsItsWorkerOnTheCallingThread(t *testing.T) {
	s := newMain(t)
	require.Equal(t, 2, s.MainWorker())
	require.Equal(t, 3, s.Workers())
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for range 3 {
		calledOn.Store(0)
		task := onMain(t, s, 3)
		require.NoError(t, s.RunMain(soon(t)))
		require.EqualValues(t, syscall.Gettid(), calledOn.Load())
		_, err := task.Wait(soon(t))
		require.NoError(t, err)
	}
	require.NoError(t, s.RunMain(soon(t)), "nothing is left")
	require.NoError(t, s.Wait(soon(t)))
}

func TestWhatIsSentToTheMainWorkerWaitsForItsThread(t *testing.T) {
	s := newMain(t)
	calledOn.Store(0)
	task := onMain(t, s, 1)
	ctx, cancel := context.WithTimeout(background, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Wait(ctx), context.DeadlineExceeded)
	require.Zero(t, calledOn.Load())
	require.ErrorIs(t, s.RunMain(expired), context.Canceled)
	require.NoError(t, s.RunMain(soon(t)))
	_, err := task.Wait(soon(t))
	require.NoError(t, err)
}

func TestServeMainGoesOnUntilItsContextEnds(t *testing.T) {
	s := newMain(t)
	ctx, cancel := context.WithCancel(background)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeMain(ctx) }()
	for range 20 {
		_, err := onMain(t, s, 2).Wait(soon(t))
		require.NoError(t, err)
	}
	require.ErrorIs(t, s.RunMain(background), coro.ErrBusy)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)

	go func() { ended <- s.ServeMain(background) }()
	_, err := onMain(t, s, 2).Wait(soon(t))
	require.NoError(t, err)
	require.NoError(t, s.Close(soon(t)))
	require.NoError(t, <-ended)
	require.ErrorIs(t, s.RunMain(background), coro.ErrClosed)
}

func TestRunMainLeavesWhatDoesNotRest(t *testing.T) {
	s := newMain(t)
	task, err := yield.OnWorker(s.MainWorker()).Start(s, 10_000_000)
	require.NoError(t, err)
	left := 0
	for {
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		err := s.RunMain(ctx)
		cancel()
		if err == nil {
			break
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		left++
	}
	require.NotZero(t, left)
	_, err = task.Wait(soon(t))
	require.NoError(t, err)
}

func TestCloseWithoutRunMainRunsWhatIsLeft(t *testing.T) {
	s := newMain(t)
	calledOn.Store(0)
	task := onMain(t, s, 4)
	require.NoError(t, s.Close(soon(t)))
	_, err := task.Wait(soon(t))
	require.NoError(t, err)
	require.NotZero(t, calledOn.Load())
}

func TestRunMainMisused(t *testing.T) {
	plain := newScheduler(t, coro.WithWorkers(1))
	require.Equal(t, -1, plain.MainWorker())
	require.ErrorIs(t, plain.RunMain(background), coro.ErrNoMain)
	require.ErrorIs(t, plain.ServeMain(background), coro.ErrNoMain)
	_, err := coro.New(coro.WithMainThread(), coro.WithPaused())
	optionError(t, err, "WithMainThread", "WithPaused")

	s := newMain(t)
	var got error
	inside := coro.MustExportFunc(func(_ context.Context, n int64) (int64, error) {
		got = s.RunMain(background)
		return n + 1, nil
	})
	calling(t, s, testbody.Inline, inside, 1)
	require.ErrorIs(t, got, coro.ErrInside)
}

func TestRestTellsADeadlockAndTheEnd(t *testing.T) {
	s := newScheduler(t, coro.WithWorkers(2))
	require.NoError(t, s.Rest(background))
	for range 100 {
		parked, err := park.Start(s, coro.None{})
		require.NoError(t, err)
		var dead *coro.DeadlockError
		require.ErrorAs(t, s.Rest(soon(t)), &dead)
		require.Equal(t, 1, dead.Count)
		require.NoError(t, parked.Wake())
		require.NoError(t, s.Rest(soon(t)))
		_, err = parked.Wait(background)
		require.NoError(t, err)
	}
	require.NoError(t, spin.Spawn(s, coro.None{}))
	ctx, cancel := context.WithTimeout(background, 5*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Rest(ctx), context.DeadlineExceeded)
	testbody.Stop()
	require.NoError(t, s.Rest(soon(t)))
	paused := newScheduler(t, coro.WithPaused())
	require.ErrorIs(t, paused.Rest(background), coro.ErrPaused)
}
