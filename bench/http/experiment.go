package main

import (
	"fmt"
	"time"

	"github.com/organzine/coro/bench/internal/harness"
)

// A variant is what is asked for.
type variant struct {
	name    string
	path    string
	header  string // one more field
	deep    int    // requests that are sent at once; 0: one
	systems []string
	all     bool // with every number of connections
}

var variants = []variant{
	{name: "hello", path: "/", systems: all, all: true},
	{name: "pipelined", path: "/", deep: 16, systems: all},
	{name: "short", path: "/", header: "Connection: close", systems: all},
	// handlers in Go: the peers' own ones are
	{name: "go-inline", path: "/inline?hello", systems: []string{sysCoro}},
	{name: "go-offloaded", path: "/go?hello", systems: []string{sysCoro}},
}

func experiment(o options) *harness.Experiment {
	var rows []harness.Row
	for _, v := range variants {
		for _, n := range o.connections {
			if n != o.connections[0] && !v.all {
				continue
			}
			for _, workers := range []int{1, 2} {
				for _, system := range v.systems {
					if system == sysLwan && o.lwan == "" {
						continue
					}
					rows = append(rows, harness.Row{
						System: system, Variant: v.name, Workers: workers, N: n,
						Open: func() (harness.Trial, error) {
							return open(o, system, v, workers, n)
						},
					})
				}
			}
		}
	}
	return &harness.Experiment{
		Name: "http",
		About: `"Hello, World!" over HTTP/1.1, asked for by wrk with one thread and n connections.
One worker has a CPU of its own, and wrk another; two workers share both with wrk. coro:
examples/httpd. epoll: a bare loop in C with the same parser and the same response. pipelined: 16
requests are sent at once. short: each has a connection of its own. go-inline, go-offloaded: a handler
in Go, called by the worker's thread or by a goroutine. CPU: of the server's process, a request, and
the part of it in the kernel.`,
		Metrics: []harness.Metric{
			{Name: "cpu_us", Title: "CPU us", Digits: 2},
			{Name: "system_us", Title: "kernel us", Digits: 2},
			{Name: "per_second", Title: "a second", Digits: 0},
			{Name: "p50_us", Title: "p50 us", Digits: 0},
			{Name: "p99_us", Title: "p99 us", Digits: 0},
		},
		Rows: rows,
	}
}

// open starts a server.
func open(o options, system string, v variant, workers, connections int) (harness.Trial, error) {
	p, err := startServer(o, system, workers)
	if err != nil {
		return harness.Trial{}, err
	}
	load := load{address: p.address, variant: v, connections: connections, pinned: workers == 1}
	return harness.Trial{
		Warm:  func() error { _, err := load.run(o.duration / 4); return err },
		Run:   func() (harness.Values, error) { return measured(p, load, o.duration) },
		Close: p.end,
	}, nil
}

func measured(p *process, l load, d time.Duration) (harness.Values, error) {
	before, err := p.cpu()
	if err != nil {
		return nil, err
	}
	r, err := l.run(d)
	if err != nil {
		return nil, err
	}
	after, err := p.cpu()
	if err != nil {
		return nil, err
	}
	if r.requests == 0 {
		return nil, fmt.Errorf("no request was answered")
	}
	perRequest := func(d time.Duration) float64 {
		return float64(d) / float64(time.Microsecond) / float64(r.requests)
	}
	user, system := after.user-before.user, after.system-before.system
	v := harness.Values{
		"cpu_us": perRequest(user + system), "system_us": perRequest(system),
		"per_second": r.perSecond,
	}
	if l.variant.deep == 0 { // of several requests at once wrk's times mean nothing
		v["p50_us"], v["p99_us"] = r.p50, r.p99
	}
	return v, nil
}
