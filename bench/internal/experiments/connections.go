package experiments

import (
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// connections is what a connection costs on which nothing comes.
func connections() *harness.Experiment {
	return &harness.Experiment{
		Name:  "connections",
		Asked: true,
		About: `10 000 TCP connections of the loopback device, or as many as the process may have,
each of which has had one request of 60 bytes and its answer, and is waited for.
Growth of VmRSS + VmPTE of the process from before they were served, for each; the buffer of 64 bytes
is part of it, what the kernel has of a socket is not. What a process keeps when they have ended, the
records of goroutines or 64 bytes for each descriptor number, is used again, and counted once.
coro: a C coroutine for each connection, on one worker, with a stack of its own (plain), or dense.
goroutine: a goroutine for each, in Read of a net.Conn.`,
		Metrics: []harness.Metric{{Name: "bytes_each", Title: "bytes each"}},
		Rows: []harness.Row{
			idleRow(sysCoro, "plain", serveByCoro(cbody.IOServeSmall)),
			idleRow(sysCoro, "dense", serveByCoro(cbody.IOServeSmall, coro.FuncDense())),
			idleRow(sysGoroutine, "read", serveByGo(cbody.IOSmall)),
		},
	}
}

func idleRow(system, variant string, serve server) harness.Row {
	return harness.Row{System: system, Variant: variant, Workers: 1, N: ioIdle,
		Open: func() (harness.Trial, error) {
			return harness.Trial{
				Warm: func() error { _, err := idleRun(serve, 100); return err },
				Run: func() (harness.Values, error) {
					return idleRun(serve, idleConnections())
				},
			}, nil
		}}
}

// idleRun has n connections served, and looks at the process when each of them waits for its second
// request.
func idleRun(serve server, n int) (harness.Values, error) {
	if n < 1 {
		return nil, errors.New("the process may have too few descriptors")
	}
	c, err := cbody.Connect(n)
	if err != nil {
		return nil, fmt.Errorf("%d connections: %w", n, err)
	}
	before, err := settledResident()
	if err != nil {
		return nil, err
	}
	stop, err := serve(c.Server)
	if err != nil {
		return nil, err
	}
	_, _, err = cbody.Ask(c.Client, n) // one each
	after, residentErr := settledResident()
	cbody.CloseNumbers(c.Client)
	return harness.Values{"bytes_each": float64(after-before) / float64(n)},
		errors.Join(err, residentErr, stop())
}

// settledResident is resident, when nothing is left to be collected, and what has just answered
// waits again.
func settledResident() (int64, error) {
	time.Sleep(50 * time.Millisecond)
	debug.FreeOSMemory()
	return resident()
}
