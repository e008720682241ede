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
	"syscall"
	"testing"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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
