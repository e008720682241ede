package experiments

import (
	"bytes"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// memoryN is how many coroutines are parked at once.
const memoryN = 1_000_000

// memory is what a coroutine costs while it waits, and what it leaves behind.
func memory() *harness.Experiment {
	return &harness.Experiment{
		Name: "memory",
		About: `1 000 000 coroutines parked at once, each on a guarded stack of its own,
spawned from Go in batches.
Growth of VmRSS + VmPTE of the process over what it was before the scheduler was made: while all
are parked, in bytes for each; and after all have ended and a Trim, in bytes altogether. Needs 6
GB.`,
		Metrics: []harness.Metric{
			{Name: "bytes_each", Title: "bytes each"},
			{Name: "bytes_left_after_trim", Title: "bytes left after trim"},
		},
		Rows: []harness.Row{{System: sysCoro, Variant: "parked", Workers: cpus, N: memoryN,
			Open: openMemory}},
	}
}

// openMemory makes a trial whose scheduler is made after the first look at the process. The warm-up
// is a small one: it touches the pages of the code and of the Go heap.
func openMemory() (harness.Trial, error) {
	return harness.Trial{
		Warm: func() error { _, err := memoryRun(1000, 5500); return err },
		Run: func() (harness.Values, error) {
			v, err := memoryRun(memoryN, 5500)
			delete(v, "start_ms")
			delete(v, "drain_ms")
			return v, err
		},
	}, nil
}

// memoryRun parks n coroutines that take about this number of bytes each, and wakes them.
func memoryRun(n int, each int64, kind ...coro.FuncOption) (v harness.Values, err error) {
	if free, err := procField("/proc/meminfo", "MemAvailable"); err != nil ||
		free < int64(n)*each {
		return nil, fmt.Errorf("%d bytes of free memory are too few for %d coroutines (%v)",
			free, n, err)
	}
	if err := cbody.ParkOpen(n); err != nil {
		return nil, err
	}
	defer cbody.ParkClose()
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		return nil, err
	}
	trial, err := onScheduler(func(s *coro.Scheduler) (harness.Values, error) {
		return parkAndWake(s, n, before, kind...)
	}, coro.WithWorkers(cpus))()
	if err != nil {
		return nil, err
	}
	v, err = trial.Run()
	if closeErr := trial.Close(); err == nil {
		err = closeErr
	}
	return v, err
}

func parkAndWake(s *coro.Scheduler, n int, before int64, kind ...coro.FuncOption) (
	harness.Values, error) {
	park := coro.MustFunc[coro.None, coro.None](cbody.Park, kind...)
	wake := coro.MustFunc[int64, coro.None](cbody.WakeAll)

	start := time.Now()
	if _, err := park.SpawnN(s, n, coro.None{}); err != nil {
		return nil, err
	}
	if err := until(func() bool {
		return cbody.Parked() == n && s.Stats().Awake == 0
	}); err != nil {
		return nil, fmt.Errorf("%d of %d coroutines parked: %w", cbody.Parked(), n, err)
	}
	started := time.Since(start)
	parked, err := resident()
	if err != nil {
		return nil, err
	}
	start = time.Now()
	if err := wake.Spawn(s, int64(n)); err != nil {
		return nil, err
	}
	if err := settled(s); err != nil {
		return nil, err
	}
	drained := time.Since(start)
	if cbody.Woken() != n {
		return nil, fmt.Errorf("%d of %d coroutines were woken", cbody.Woken(), n)
	}
	s.Trim()
	debug.FreeOSMemory()
	left, err := resident()
	return harness.Values{
		"start_ms":              ms(started),
		"drain_ms":              ms(drained),
		"bytes_each":            float64(parked-before) / float64(n),
		"bytes_left_after_trim": float64(left - before),
	}, err
}

// until asks every millisecond, as long as patience lasts.
func until(done func() bool) error {
	for end := time.Now().Add(patience); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return os.ErrDeadlineExceeded
		}
	}
	return nil
}

// resident is VmRSS + VmPTE, in bytes.
func resident() (int64, error) {
	rss, err := procField("/proc/self/status", "VmRSS")
	if err != nil {
		return 0, err
	}
	pte, err := procField("/proc/self/status", "VmPTE")
	return rss + pte, err
}

// procField reads a line like "VmRSS:   123 kB" and returns bytes.
func procField(file, name string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok {
			var kb int64
			if _, err := fmt.Sscanf(string(rest), "%d kB", &kb); err != nil {
				return 0, fmt.Errorf("%s: %s: %w", file, name, err)
			}
			return kb << 10, nil
		}
	}
	return 0, fmt.Errorf("%s: no %s", file, name)
}
