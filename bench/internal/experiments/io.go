package experiments

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/organzine/coro"
	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

const (
	sysEpoll = "epoll"

	ioBusy = 64
	ioIdle = 10_000
)

// idleConnections is how many are idle: as many as the process may have, both ends of each, or
// less.
func idleConnections() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0
	}
	return max(0, min(ioIdle, int(min(limit.Cur, 1<<20))/2-ioBusy-200))
}

// ioRequests is how many requests a run makes. Tests make less.
var ioRequests = 200_000

// inputOutput is what a request over a connection costs the server.
func inputOutput() *harness.Experiment {
	var list []harness.Row
	for _, v := range []struct {
		name       string
		busy, idle int
		part       int // of the requests
	}{{"echo", ioBusy, 0, 1}, {"pingpong", 1, 0, 4}, {"idle", ioBusy, idleConnections(), 1}} {
		for _, system := range []struct {
			name  string
			serve server
		}{{sysCoro, serveByCoro(cbody.IOServe)}, {sysEpoll, serveByEpoll},
			{sysGoroutine, serveByGo(4096)}} {
			list = append(list, harness.Row{System: system.name, Variant: v.name, Workers: 1,
				N: v.busy, Open: ioTrial(system.serve, v.busy, v.idle, v.part)})
		}
	}
	return &harness.Experiment{
		Name:  "io",
		Asked: true,
		About: `requests of 60 bytes over TCP connections of the loopback device, answered with 160
bytes. A client thread has one request under way on each of 64 connections (echo), or on one
(pingpong). idle: echo beside 10 000 connections on which nothing comes, or as
many as the process may have. coro: a C coroutine for
each connection, on one worker. epoll: a bare loop in C, edge-triggered, on a thread. goroutine: a
goroutine of package net for each. CPU: of the process, but for the client's thread, a request.`,
		Metrics: []harness.Metric{
			{Name: "cpu_us", Title: "CPU us", Digits: 2},
			{Name: "per_second", Title: "a second", Digits: 0},
			{Name: "p50_us", Title: "p50 us", Digits: 1},
			{Name: "p99_us", Title: "p99 us", Digits: 1},
		},
		Rows: list,
	}
}

// ioTrial opens connections, of which some are idle, and has them served.
func ioTrial(serve server, busy, idle, part int) func() (harness.Trial, error) {
	return func() (harness.Trial, error) {
		c, err := cbody.Connect(busy + idle)
		if err != nil {
			return harness.Trial{}, err
		}
		stop, err := serve(c.Server)
		if err != nil {
			return harness.Trial{}, err
		}
		return harness.Trial{
			Warm: func() error {
				_, _, err := cbody.Ask(c.Client[:busy], ioRequests/part/10)
				return err
			},
			Run: func() (harness.Values, error) { return asked(c.Client[:busy], ioRequests/part) },
			Close: func() error {
				cbody.CloseNumbers(c.Client)
				return stop()
			},
		}, nil
	}
}

func asked(client []int32, total int) (harness.Values, error) {
	before := cbody.CPU()
	took, own, err := cbody.Ask(client, total)
	if err != nil {
		return nil, err
	}
	cpu := cbody.CPU() - before - own
	v := percentiles(cbody.Waits(min(total, cbody.MaxWaits)))
	v["cpu_us"] = float64(cpu) / float64(total) / float64(time.Microsecond)
	v["per_second"] = float64(total) / took.Seconds()
	return v, nil
}

// A numbered descriptor as a file.
func fileOf(fd int32) *os.File { return os.NewFile(uintptr(fd), "connection") }

// A server serves connections, until stop is called. Its clients have been closed by then.
type server func(connections []int32) (stop func() error, err error)

func serveByCoro(body unsafe.Pointer, kind ...coro.FuncOption) server {
	return func(server []int32) (func() error, error) {
		s, err := coro.New(coro.WithWorkers(1))
		if err != nil {
			return nil, err
		}
		serve := coro.MustFunc[coro.FD, coro.None](body, kind...)
		for _, fd := range server {
			f, err := s.Adopt(fileOf(fd))
			if err != nil {
				return nil, errors.Join(err, closed(s))
			}
			if err := serve.Spawn(s, f); err != nil {
				return nil, errors.Join(err, closed(s))
			}
		}
		return func() error { return errors.Join(closed(s), cbody.Err()) }, nil
	}
}

func serveByEpoll(server []int32) (func() error, error) {
	result := make(chan error)
	go func() { result <- cbody.EpollLoop(server) }()
	return func() error {
		cbody.StopLoop()
		err := <-result
		cbody.CloseNumbers(server)
		return err
	}, nil
}

// serveByGo has a goroutine for each connection, with a buffer of that many bytes.
func serveByGo(buffer int) server {
	return func(server []int32) (func() error, error) {
		var all sync.WaitGroup
		answer := make([]byte, cbody.IOAnswer)
		for _, fd := range server {
			file := fileOf(fd)
			conn, err := net.FileConn(file)
			if err != nil {
				return nil, err
			}
			if err := file.Close(); err != nil {
				return nil, err
			}
			all.Go(func() {
				defer conn.Close()
				request := make([]byte, buffer)
				for {
					n, err := conn.Read(request)
					if n == cbody.IORequest {
						_, err = conn.Write(answer)
					}
					if err != nil {
						return // io.EOF, at the end
					}
				}
			})
		}
		return func() error { all.Wait(); return nil }, nil
	}
}
