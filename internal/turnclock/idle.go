package turnclock

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/organzine/coro/internal/policy"
)

// Gosched lets other goroutines run, unless a P is idle: that one takes what is runnable, and looks
// after all Ps' timers. There runtime.Gosched would be of no use, and would cost 15 to 30 µs: it
// wakes a thread for the idle P, which takes the caller over to a CPU with cold caches. The runtime
// may tell of an idle P that is none: so each 10 ms Gosched lets go, whatever that tells. Cost: 0.1
// µs, where a P is idle.
func (c *Clock) Gosched() {
	if policy.HasStayOnP && c.skipped < skipMost && theProcs.oneIsIdle(Now()) {
		c.skipped++
		return
	}
	c.skipped = 0
	runtime.Gosched()
}

// procs is what is known of the process's Ps. All clocks share that, and look at the runtime's
// metrics once in letGo/2 at most: these take a lock, and look at each P.
type procs struct {
	mu      sync.Mutex
	looked  time.Duration // by Now
	hasIdle bool
	samples [3]metrics.Sample
}

var theProcs = procs{looked: -letGo, samples: [...]metrics.Sample{
	{Name: "/sched/gomaxprocs:threads"},
	{Name: "/sched/goroutines/running:goroutines"},
	{Name: "/sched/goroutines/runnable:goroutines"},
}}

// oneIsIdle tells whether a P is idle, so that no goroutine waits for one. A P whose thread is in a
// system call for long, or in C, becomes idle too.
func (p *procs) oneIsIdle(now time.Duration) bool {
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	if now-p.looked >= letGo/2 || now < p.looked { // earlier: time in a bubble of synctest
		metrics.Read(p.samples[:])
		most, running, runnable := p.samples[0].Value.Uint64(), p.samples[1].Value.Uint64(),
			p.samples[2].Value.Uint64()
		p.looked, p.hasIdle = now, running < most && runnable == 0
	}
	return p.hasIdle
}
