//go:build cgo

package hard_test

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/internal/testbody"
	"github.com/organzine/coro/internal/trial"
	"github.com/stretchr/testify/require"
)

// Go meets the limits of the machine: each child sets itself a limit, meets the error, lifts the
// limit, and everything works. The faults themselves, one by one, are in csrc/test/faults.

const rlimitNproc = 6 // not in package syscall

func init() {
	children["few addresses"] = fewAddresses
	children["few threads"] = fewThreads
	children["few descriptors"] = fewDescriptors
}

// must ends the child if err is not the error wanted.
func must(err, want error, what string) {
	if !errors.Is(err, want) {
		panic(fmt.Sprintf("%s: %v, not %v", what, err, want))
	}
}

// spareThreads has Go make some threads, which it keeps: Go ends the process if it is refused a
// thread.
func spareThreads(n int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			t := syscall.NsecToTimespec(int64(20 * time.Millisecond))
			_ = syscall.Nanosleep(&t, nil)
		})
	}
	wg.Wait()
}

func status(line string) (n uint64) {
	f, err := os.ReadFile("/proc/self/status")
	must(err, nil, "status")
	for l := range strings.Lines(string(f)) {
		if _, err := fmt.Sscanf(l, line+": %d", &n); err == nil {
			return n
		}
	}
	panic(line)
}

func works(opts ...coro.Option) {
	testbody.Reset()
	s, err := coro.New(opts...)
	must(err, nil, "New without the limit")
	for i := range int64(1000) {
		must(add.Spawn(s, i), nil, "Spawn without the limit")
	}
	must(s.Wait(background), nil, "Wait")
	if testbody.Sum() != 499500 {
		panic("lost")
	}
	must(s.Close(background), nil, "Close")
}

func fewAddresses() {
	debug.SetGCPercent(-1)
	spareThreads(16)
	s, err := coro.New(coro.WithWorkers(2), coro.WithPaused())
	must(err, nil, "New")

	lift := trial.Limit(syscall.RLIMIT_AS, status("VmSize")<<10+48<<20)
	_, err = coro.New(coro.WithWorkers(200)) // 512 KiB for each
	must(err, coro.ErrThread, "New of many")
	lift() // the C library keeps up to 40 MiB of stacks of threads that have ended
	lift = trial.Limit(syscall.RLIMIT_AS, status("VmSize")<<10+48<<20)
	n := int64(0)
	for err = nil; err == nil; n++ {
		err = add.Spawn(s, 1)
	}
	n--
	must(err, coro.ErrNoMemory, "Spawn")
	_, err = square.Start(s, 3)
	must(err, coro.ErrNoMemory, "Start")
	_, err = coro.New(coro.WithWorkers(200))
	lift()
	if !errors.Is(err, coro.ErrNoMemory) && !errors.Is(err, coro.ErrThread) {
		panic(err)
	}
	if n < 10000 { // most of a chunk
		panic(fmt.Sprint("only ", n))
	}

	must(add.Spawn(s, 1), nil, "Spawn without the limit")
	task, err := square.Start(s, 3)
	must(err, nil, "Start without the limit")
	must(s.Run(background), nil, "Run")
	if nine, err := task.Wait(background); nine != 9 || err != nil {
		panic("lost")
	}
	if testbody.Sum() != n+1 {
		panic(fmt.Sprint("of ", n+1, " only ", testbody.Sum(), " ran"))
	}
	must(s.Close(background), nil, "Close")
	works(coro.WithWorkers(100))
}

func fewThreads() {
	spareThreads(16)
	// The child runs as a user without other threads, since root has no limit. Where users are
	// mapped there are fewer numbers.
	if syscall.Setuid(1<<30+os.Getpid()) != nil {
		must(syscall.Setuid(65534), nil, "setuid")
	}
	lift := trial.Limit(rlimitNproc, status("Threads")+20)
	for range 3 {
		before := status("Threads")
		_, err := coro.New(coro.WithWorkers(250))
		must(err, coro.ErrThread, "New of many")
		for i := 0; status("Threads") > before+5; i++ {
			if i > 1000 {
				panic("threads are left")
			}
			time.Sleep(time.Millisecond)
		}
		works(coro.WithWorkers(3))
	}
	lift()
	works(coro.WithWorkers(50))
}

func fewDescriptors() {
	works(coro.WithWorkers(2)) // and Go's own are open
	f, err := os.Open("/proc/self/status")
	must(err, nil, "open")
	next := uint64(f.Fd())
	must(f.Close(), nil, "close")
	lift := trial.Limit(syscall.RLIMIT_NOFILE, next)
	for range 3 {
		_, err = coro.New(coro.WithWorkers(2))
		must(err, coro.ErrThread, "New")
	}
	lift()
	works(coro.WithWorkers(2))
}

func TestWhatTheMachineRefuses(t *testing.T) {
	for _, name := range []string{"few addresses", "few threads", "few descriptors"} {
		t.Run(name, func(t *testing.T) {
			if name == "few addresses" && instrumented {
				t.Skip("a sanitizer needs addresses itself")
			}
			if name == "few addresses" && len(emulator) > 0 {
				t.Skip("an emulator does not limit its guest's addresses")
			}
			if name == "few threads" && os.Geteuid() != 0 {
				t.Skip("only root can become a user without other threads")
			}
			out, err := child(t, name)
			require.NoError(t, err, out)
		})
	}
}
