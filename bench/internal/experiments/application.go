package experiments

import (
	"fmt"

	"github.com/organzine/coro/bench/internal/cbody"
	"github.com/organzine/coro/bench/internal/harness"
)

// applicationRequests is how many requests a run makes, by how many there are on a connection.
// Tests make less.
var applicationRequests = map[int]int{1: 2000, 16: 16_000}

// application is what the steps of the ladder are worth in a whole program.
func application() *harness.Experiment {
	var list []harness.Row
	for _, each := range []int{1, 16} {
		for _, form := range []struct {
			system, variant string
			number          int
		}{
			{sysUcontext, "new-stack", cbody.AppNewStack},
			{sysUcontext, "kept-stack", cbody.AppKeptStack},
			{sysCoro, "light-switch", cbody.AppLightSwitch},
			{sysEpoll, "callback", cbody.AppCallback},
		} {
			list = append(list, harness.Row{System: form.system, Variant: form.variant,
				Workers: 1, N: each, Open: timed(func() (harness.Values, error) {
					return applicationRun(form.number, each)
				})})
		}
	}
	return &harness.Experiment{
		Name:  "application",
		Asked: true,
		About: `a server of keys and values, with an epoll loop, in one thread with its clients: what
is left in a whole application of the steps of the experiment ladder. n: requests of each
connection, of 16 bytes, answered with 8. 64 connections, pairs of Unix sockets, are open at once;
in turns all clients send a request each, and the server answers. The server's system calls are the
same in all rows. new-stack: a coroutine for each connection, on a new stack, by swapcontext.
kept-stack: its stack is one that another has left. light-switch: by coro_resume and
coro_yield_value, on kept stacks. callback: no coroutine; the loop calls a function, and what a
connection has to remember lies in a structure. a second: requests in a second of the thread's CPU
time; it never waits. times: that of new-stack. server us: the server's turns alone, a request.`,
		Metrics: []harness.Metric{
			{Name: "per_second", Title: "a second", Digits: 0},
			{Name: "times", Title: "times", Digits: 2},
			{Name: "server_us", Title: "server us", Digits: 2},
		},
		Rows: list,
		Derive: func(round []harness.Values) {
			for i, own := range list {
				for k, base := range list {
					if base.N == own.N && base.Variant == "new-stack" {
						round[i]["times"] = round[i]["per_second"] / round[k]["per_second"]
					}
				}
			}
		},
		Versus: &harness.Versus{
			Metric: "server_us", Title: "server, against new-stack",
			Peer: func(row, c harness.Row) bool {
				return c.N == row.N && c.Variant == "new-stack"
			},
		},
	}
}

// applicationRun makes one run, and checks its answers.
func applicationRun(form, each int) (harness.Values, error) {
	total := applicationRequests[each]
	got, err := cbody.Application(form, total/each, each)
	if err != nil {
		return nil, err
	}
	if want := cbody.ApplicationSum(total/each, each); got.Sum != want {
		return nil, fmt.Errorf("the answers come to %d instead of %d", got.Sum, want)
	}
	return harness.Values{
		"per_second": float64(total) / got.All.Seconds(),
		"server_us":  float64(got.Server.Nanoseconds()) / 1e3 / float64(total),
	}, nil
}
