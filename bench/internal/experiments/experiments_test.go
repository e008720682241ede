package experiments

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRegistryIsSound(t *testing.T) {
	require.NoError(t, harness.Check(All(Options{})))
	require.NoError(t, harness.Check(All(Options{})), "asking twice gives the same")
}

// Others read these rows by name.
func TestRowsThatOthersRelyOn(t *testing.T) {
	all, list := runtime.NumCPU(), All(Options{})
	for _, want := range []struct {
		experiment, system, variant string
		workers, n                  int
		metrics                     []string
	}{
		{"switch", "coro", "pair", 1, 2, []string{"ns_one_way"}},
		{"switch", "coro", "ring", 1, 1000, []string{"ns_one_way"}},
		{"switch", "ucontext", "pair", 1, 2, []string{"ns_one_way"}},
		{"switch", "ucontext", "ring", 1, 1000, []string{"ns_one_way"}},
		{"yield", "coro", "coro_yield", 1, 2, []string{"ns_per_op"}},
		{"yield", "goroutine", "Gosched", 1, 20_000, []string{"ns_per_op"}},
		{"spawn", "coro", "coroutine", 1, 500_000, []string{"total_ms"}},
		{"spawn", "coro", "go-batch", all, 500_000, []string{"total_ms"}},
		{"spawn", "coro", "go-each", all, 500_000, []string{"total_ms"}},
		{"spawn", "coro", "paused", 1, 500_000, []string{"total_ms", "spawn_ms", "run_ms"}},
		{"spawn", "goroutine", "P1", 1, 500_000, []string{"total_ms"}},
		{"fib", "coro", "plain-c", all, 200, []string{"ms_per_task", "speedup"}},
		{"fib", "coro", "plain-c", 1, 200, []string{"ms_per_task", "speedup"}},
		{"fib", "coro", "stolen", 1, 200, []string{"ms_per_task", "speedup"}},
		{"fib", "coro", "stolen", all, 200, []string{"ms_per_task", "speedup"}},
		{"fib-curve", "coro", "stolen", 8, 200, []string{"ms_per_task", "speedup"}},
		{"fib-curve", "goroutine", "cgo", 3, 200, []string{"ms_per_task", "speedup"}},
		{"fib-curve", "pthread", "pthreads", 4, 200, []string{"ms_per_task", "speedup"}},
		{"ladder", "ucontext", "new-stack", 1, 20_000, []string{"ns_per_op"}},
		{"ladder", "coro", "run-loop", 1, 1_000_000, []string{"ns_per_op"}},
		{"ladder", "ucontext", "new-stack 1M", 1, 2000, []string{"ns_per_op"}},
		{"ladder", "ucontext", "malloc", 1, 20_000, []string{"ns_per_op"}},
		{"ladder", "ucontext", "calloc 1M", 1, 2000, []string{"ns_per_op"}},
		{"ladder", "ucontext", "reused-stack 64K", 1, 20_000, []string{"ns_per_op"}},
		{"ladder", "ucontext", "reused-calloc 256K", 1, 20_000, []string{"ns_per_op"}},
		{"application", "ucontext", "new-stack", 1, 1, []string{"per_second", "times"}},
		{"application", "coro", "light-switch", 1, 16, []string{"per_second", "server_us"}},
		{"application", "epoll", "callback", 1, 16, []string{"per_second", "server_us"}},
		{"chan", "coro", "unbuffered C home", 1, 2, []string{"ns_per_op"}},
		{"chan", "coro", "buffered C home", 1, 2, []string{"ns_per_op"}},
		{"chan", "coro", "unbuffered C across", 2, 2, []string{"ns_per_op"}},
		{"chan", "coro", "buffered C-to-Go", 2, 2, []string{"ns_per_op"}},
		{"chan", "coro", "from-sleep C-to-Go", 2, 1, []string{"p50_us", "p99_us"}},
		{"chan", "goroutine", "unbuffered Go", 1, 2, []string{"ns_per_op"}},
		{"fair", "coro-c", "harmonic", 2, 1, []string{"service_ratio"}},
		{"fair", "coro-go", "newcomer-insular", 2, 1, []string{"p50_us", "p99_us"}},
		{"fair", "goroutine", "newcomer-flood", 2, 1, []string{"p50_us", "p99_us"}},
		{"fair", "coro-go", "timer-beside", 2, 8, []string{"p99_us"}},
		{"actor", "coro-c", "pingpong", 1, 400_000, []string{"ns_per_message"}},
		{"actor", "coro-c", "counting", 1, 1_000_000, []string{"ns_per_message"}},
		{"actor", "coro-c", "fjthrput", 2, 10_000, []string{"ns_per_message"}},
		{"actor", "coro-c", "threadring", 1, 1_000_000, []string{"ns_per_message"}},
		{"actor", "coro-c", "big", 2, 20_000, []string{"ns_per_message"}},
		{"actor", "coro-c", "chameneos", 1, 200_000, []string{"ns_per_message"}},
		{"actor", "coro-c", "fanin", 2, 10_000, []string{"ns_per_message"}},
		{"actor", "coro-c", "idle", 1, 10_000_000, []string{"bytes_each"}},
		{"actor", "coro-c", "newcomer-insular", 2, 1, []string{"p50_us", "p99_us"}},
		{"actor", "coro-c", "newcomer-flood", 1, 1, []string{"p50_us", "p99_us"}},
		{"actor", "coro-c", "harmonic", 2, 1, []string{"service_ratio"}},
		{"actor", "coro-c", "light", 2, 1, []string{"cpu_us_per_message"}},
		{"actor", "coro-go", "pingpong", 1, 400_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "counting", 2, 1_000_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "fjthrput", 1, 10_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "threadring", 1, 1_000_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "big", 1, 20_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "chameneos", 1, 200_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "fanin", 1, 10_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "ask1", 1, 100_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "ask64", 2, 100_000, []string{"ns_per_message"}},
		{"actor", "coro-go", "idle", 1, 1_000_000, []string{"bytes_each"}},
		{"actor", "coro-go", "newcomer-flood", 2, 1, []string{"p50_us", "p99_us"}},
		{"actor", "coro-go", "timer-beside", 2, 8, []string{"p99_us"}},
		{"actor", "coro-go", "harmonic", 2, 1, []string{"service_ratio"}},
		{"actor", "coro-go", "light", 2, 1, []string{"cpu_us_per_message"}},
		{"actor", "goroutine", "pingpong", 1, 400_000, []string{"ns_per_message"}},
		{"blocking", "coro", "round-trip", 1, 1, []string{"ns_per_op"}},
		{"blocking", "pthread", "round-trip", 1, 1, []string{"ns_per_op"}},
		{"blocking", "coro", "naps", 1, 10_000, []string{"times_ideal"}},
		{"sync", "coro", "mutex C shared", 1, 1, []string{"ns_per_op"}},
		{"sync", "coro", "mutex C home", 1, 1, []string{"ns_per_op"}},
		{"sync", "coro", "ring C shared", 1, 8000, []string{"ns_per_op"}},
		{"timer", "coro", "park-until C", 1, 1_000_000,
			[]string{"ns_per_op", "ns_arm_cancel"}},
		{"timer", "coro", "late C busy", 2, 2000, []string{"p50_us", "p99_us"}},
		{"ring", "coro", "loose plain", 1, 16, []string{"mps", "ns_per_handover",
			"bytes_each"}},
		{"ring", "coro", "strict plain", 1, 8000, []string{"mps", "ns_per_handover",
			"bytes_each"}},
		{"ring", "coro", "strict plain fifo", 1, 8000, []string{"mps"}},
		{"ring", "goroutine", "loose buffered", 1, 16, []string{"mps"}},
		{"ring", "goroutine", "strict unbuffered", 1, 8000, []string{"mps"}},
		{"forkjoin", "serial", "fib", 1, 22, []string{"ms_per_run"}},
		{"forkjoin-beside", "coro", "fib memory", 1, 35, []string{"ms_per_run", "grown_kib"}},
		{"forkjoin-beside", "coro", "fib beside", 2, 35, []string{"gap_max_us", "late_max_us"}},
		{"forkjoin", "coro", "fib fork", 1, 27, []string{"ns_per_child", "times_serial"}},
		{"forkjoin", "coro", "quicksort fork", all, 10_000_000, []string{"speedup"}},
		{"forkjoin", "coro", "fib spawn", 1, 22, []string{"ms_per_run", "times_serial"}},
		{"forkjoin", "coro", "matrix scope", all, 256, []string{"times_serial", "speedup"}},
		{"forkjoin", "goroutine", "uts", all, 200, []string{"times_serial", "speedup"}},
		{"border", "cgo", "empty", 1, 1, []string{"ns_per_op"}},
		{"border", "cgo", "empty cold", 1, 1, []string{"p50_ns", "p99_ns"}},
		{"border", "coro", "start-wait", 1, 1, []string{"ns_per_op"}},
		{"border", "coro", "start-wait plain cold", 1, 1, []string{"p50_ns", "p99_ns"}},
		{"border", "coro", "echo", 1, 1, []string{"ns_per_op"}},
		{"border", "coro", "call slice", 1, 1, []string{"ns_per_op"}},
		{"border", "coro", "call 256 bytes", 1, 1, []string{"ns_per_op"}},
		{"border", "coro", "wake offload", 1, 1, []string{"p50_ns"}},
		{"border", "cgo", "8x5us", 2, 8, []string{"per_second", "p99_ns"}},
		{"border", "cgo", "handler", 2, 8, []string{"per_second", "p50_ns", "p99_ns",
			"cpu_us"}},
		{"border-busy", "coro", "echo cold busy", 1, 1, []string{"p50_ns", "p99_ns"}},
		{"connections", "coro", "plain", 1, 10_000, []string{"bytes_each"}},
		{"connections", "coro", "dense", 1, 10_000, []string{"bytes_each"}},
		{"connections", "goroutine", "read", 1, 10_000, []string{"bytes_each"}},
		{"memory", "coro", "parked", all, 1_000_000,
			[]string{"bytes_each", "bytes_left_after_trim"}},
	} {
		i := slices.IndexFunc(list,
			func(e *harness.Experiment) bool { return e.Name == want.experiment })
		require.GreaterOrEqual(t, i, 0, want.experiment)
		e := list[i]
		assert.True(t, slices.ContainsFunc(e.Rows, func(r harness.Row) bool {
			return r.System == want.system && r.Variant == want.variant &&
				r.Workers == want.workers && r.N == want.n
		}), "%+v", want)
		for _, m := range want.metrics {
			assert.True(t, slices.ContainsFunc(e.Metrics,
				func(c harness.Metric) bool { return c.Name == m }), m)
		}
	}
}

func open(t *testing.T, opts ...coro.Option) *coro.Scheduler {
	t.Helper()
	s, err := coro.New(opts...)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, closed(s)) })
	return s
}

func TestYieldInTurn(t *testing.T) {
	d, err := yieldInTurn(open(t, coro.WithWorkers(1)), cbody.YieldArg{Members: 10, Yields: 100,
		Extra: 64, Dense: 1})
	require.NoError(t, err)
	assert.Positive(t, d)
	assert.NoError(t, cbody.Err())
	assert.Positive(t, goschedInTurn(10, 100))
}

func TestBareSwitches(t *testing.T) {
	for name, f := range map[string]func() (time.Duration, error){
		"coro pair":     func() (time.Duration, error) { return cbody.CoroPair(100) },
		"ucontext pair": func() (time.Duration, error) { return cbody.UcontextPair(100) },
		"ucontext ring": func() (time.Duration, error) {
			return cbody.UcontextRing(10, 10)
		},
	} {
		d, err := f()
		assert.NoError(t, err, name)
		assert.Positive(t, d, name)
	}
}

// Every rung of the ladder ends as many coroutines as it begins.
func TestLadder(t *testing.T) {
	for _, rung := range []int{cbody.NewStack, cbody.ReusedStack, cbody.Malloc, cbody.Calloc,
		cbody.ReusedCalloc, cbody.NoMask, cbody.NoFP} {
		for _, stack := range []int{ladderStack, 1 << 20} {
			d, err := cbody.Ladder(rung, stack, 100)
			assert.NoError(t, err, "%d %d", rung, stack)
			assert.Positive(t, d, "%d %d", rung, stack)
		}
	}
	_, err := cbody.Ladder(99, ladderStack, 10)
	assert.Error(t, err, "no such rung")
	_, err = cbody.Ladder(cbody.NewStack, 1<<60, 10)
	assert.Error(t, err, "no memory for such a stack")
	task, err := coro.MustFunc[int64, int64](cbody.RunLoop).Start(open(t, coro.WithWorkers(1)), 100)
	require.NoError(t, err)
	ns, err := task.Wait(t.Context())
	require.NoError(t, err)
	assert.Positive(t, ns)
	assert.NoError(t, cbody.Err())
}

// Each form of the application gives the right answers, and leaves no descriptor open, also where
// the slots do not get as many connections each.
func TestApplication(t *testing.T) {
	for _, form := range []int{cbody.AppNewStack, cbody.AppKeptStack, cbody.AppLightSwitch,
		cbody.AppCallback} {
		for _, of := range [][2]int{{1, 1}, {cbody.AppSlots, 3}, {3*cbody.AppSlots + 5, 16}} {
			before := openNumbers(t)
			got, err := cbody.Application(form, of[0], of[1])
			require.NoError(t, err, "%d %v", form, of)
			assert.Equal(t, cbody.ApplicationSum(of[0], of[1]), got.Sum, "%d %v", form, of)
			assert.Greater(t, got.All, got.Server)
			assert.Positive(t, got.Server)
			assert.Equal(t, before, openNumbers(t), "%d %v", form, of)
		}
	}
	assert.NotEqual(t, cbody.ApplicationSum(100, 16), cbody.ApplicationSum(200, 16))
	assert.NotZero(t, cbody.ApplicationSum(1, 600), "some gets find what was put")
	for _, wrong := range [][3]int{{-1, 1, 1}, {99, 1, 1}, {0, 0, 1}, {0, 1, 0}} {
		_, err := cbody.Application(wrong[0], wrong[1], wrong[2])
		assert.ErrorIs(t, err, syscall.EINVAL, wrong)
	}
}

func openNumbers(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(list)
}

// What the rows of the application tell is compared with the row of the same number of requests.
func TestApplicationsTimes(t *testing.T) {
	defer func(kept map[int]int) { applicationRequests = kept }(applicationRequests)
	applicationRequests = map[int]int{1: 200, 16: 1600}
	e := application()
	var round []harness.Values
	for _, row := range e.Rows {
		tr, err := row.Open()
		require.NoError(t, err)
		v, err := tr.Run()
		require.NoError(t, err, "%s", row)
		round = append(round, v)
	}
	e.Derive(round)
	for i, v := range round {
		assert.Positive(t, v["server_us"])
		base := round[i/4*4]
		assert.InDelta(t, v["per_second"]/base["per_second"], v["times"], 1e-9)
	}
}

// Every way of doing a job does each task once, and gets it right.
func TestJobs(t *testing.T) {
	for name, job := range map[string]cbody.Job{
		"fib":  cbody.FibJob(20, fibStack, 1600),
		"spin": cbody.SpinJob(20, 0, 1000),
	} {
		for way, openTrial := range map[string]func() (harness.Trial, error){
			plainC:   onPlainC(job, job, 1, "ns", time.Nanosecond),
			"shares": onPlainC(job, job, 3, "ns", time.Nanosecond),
			stolen:   onCoroutines(job, job, 2, "ns", time.Nanosecond),
			pthreads: onThreads(job, job, 2, "ns", time.Nanosecond),
			"cgo":    onGoroutines(job, job, "ns", time.Nanosecond),
		} {
			tr, err := openTrial()
			require.NoError(t, err)
			require.NoError(t, tr.Warm(), "%s %s", name, way)
			v, err := tr.Run()
			require.NoError(t, err, "%s %s", name, way)
			assert.Positive(t, v["ns"])
			if tr.Close != nil {
				assert.NoError(t, tr.Close())
			}
		}
	}
	assert.ErrorContains(t, cbody.FibJob(3, fibStack, 32).Check(), "3 of 3", "nothing was done")
}

func TestSpeedups(t *testing.T) {
	list := []harness.Row{{Variant: "a", Workers: 1}, {Variant: "a", Workers: 2},
		{Variant: "b", Workers: 2}}
	round := []harness.Values{{"x": 10}, {"x": 5}, {"x": 4}}
	speedups(list, "x", func(own, c harness.Row) bool {
		return c.Variant == own.Variant && c.Workers == 1
	})(round)
	assert.Equal(t, []harness.Values{{"x": 10, "speedup": 1}, {"x": 5, "speedup": 2}, {"x": 4}},
		round)
}

func TestMemoryOfAFew(t *testing.T) {
	v, err := memoryRun(2000, 5500)
	require.NoError(t, err)
	assert.Positive(t, v["bytes_each"])
	assert.Contains(t, v, "bytes_left_after_trim")
}

// A plain coroutine that waits has a page of its stack at least, and a dense one less.
func TestIdleConnectionsTakeMemory(t *testing.T) {
	if n := idleConnections(); n < 1000 {
		t.Skipf("the process may have %d connections only", n)
	}
	each := make(map[string]float64)
	for _, row := range connections().Rows {
		tr, err := row.Open()
		require.NoError(t, err)
		require.NoError(t, tr.Warm(), "%s", row)
		v, err := tr.Run()
		require.NoError(t, err, "%s", row)
		each[row.Variant] = v["bytes_each"]
	}
	assert.Greater(t, each["plain"], 4000.0)
	assert.Greater(t, each["dense"], 100.0)
	assert.Less(t, each["dense"], 2000.0)
	assert.Greater(t, each["read"], 1000.0)
	_, err := idleRun(nil, 0)
	assert.Error(t, err, "too few descriptors")
}

func TestCallsIntoGo(t *testing.T) {
	s := open(t, coro.WithWorkers(2))
	v, err := callFromSleep(s)
	require.NoError(t, err)
	assert.LessOrEqual(t, v["p50_us"], v["p99_us"])
	assert.Positive(t, v["p50_us"])
	v, err = goWakeUp(nil)
	require.NoError(t, err)
	assert.Positive(t, v["p99_us"])
	body := coro.MustFunc[cbody.Calls, coro.None](cbody.CallsBody)
	for offload := range uint32(2) {
		_, err := body.SpawnN(s, 10, cbody.Calls{ID: uint32(addOne()), Offload: offload,
			N: 100})
		require.NoError(t, err)
		require.NoError(t, settled(s))
	}
	assert.NoError(t, cbody.Err())
	d, err := cbody.Callbacks(10)
	assert.NoError(t, err)
	assert.Positive(t, d)
	assert.Equal(t, harness.Values{"p50_us": 2, "p99_us": 3},
		percentiles([]time.Duration{3000, 1000, 2000, 4000}))
}

// The programs check what they handle. What a hundredth of the idle actors take may be no growth.
func TestActorsMeasureSomething(t *testing.T) {
	defer func(scale int, a, b time.Duration) {
		actorScale, lightFor, restFor = scale, a, b
	}(actorScale, lightFor, restFor)
	actorScale, lightFor, restFor = 100, 20*time.Millisecond, 20*time.Millisecond
	for _, row := range actors().Rows {
		if strings.HasPrefix(row.Variant, "newcomer") || row.Variant == "harmonic" ||
			row.Variant == "timer-beside" {
			continue // seconds each
		}
		tr, err := row.Open()
		require.NoError(t, err, "%s", row)
		v, err := tr.Run()
		assert.NoError(t, err, "%s", row)
		switch row.Variant {
		case "idle", "idle burst":
		case "light":
			assert.Positive(t, v["cpu_us_per_message"], "%s", row)
		default:
			assert.Positive(t, v["ns_per_message"], "%s", row)
		}
		if tr.Close != nil {
			assert.NoError(t, tr.Close(), "%s", row)
		}
	}
}

// Every row, but those that need memory for a million, does what it counts: the C bodies check each
// value.
func TestWaitsMeasureSomething(t *testing.T) {
	defer func(a, b, c, d, e int) {
		chanValues, chanAcross, lockRounds, tokenLaps, timerWaits = a, b, c, d, e
	}(
		chanValues, chanAcross, lockRounds, tokenLaps, timerWaits)
	defer func(a, b int) { blockRounds, blockNaps = a, b }(blockRounds, blockNaps)
	chanValues, chanAcross, lockRounds, tokenLaps, timerWaits = 1000, 1000, 1000, 2, 2*timersFew
	blockRounds, blockNaps = 100, 200
	defer func(a int) { ioRequests = a }(ioRequests)
	ioRequests = 4000
	defer func(a int) { streamBlocks = a }(streamBlocks)
	streamBlocks = 50
	for _, e := range []*harness.Experiment{channels(), synchronization(), timers(),
		blocking(), inputOutput()} {
		for _, row := range e.Rows {
			if row.N == timersMany {
				continue
			}
			tr, err := row.Open()
			require.NoError(t, err, "%s %s", e.Name, row)
			v, err := tr.Run()
			assert.NoError(t, err, "%s %s", e.Name, row)
			assert.NotEmpty(t, v, "%s %s", e.Name, row)
			for metric, value := range v {
				assert.Positive(t, value, "%s %s %s", e.Name, row, metric)
			}
			if tr.Close != nil {
				assert.NoError(t, tr.Close(), "%s %s", e.Name, row)
			}
		}
	}
}
