package offload

import (
	"runtime"
	"slices"
	"time"

	"github.com/organzine/coro/internal/core"
)

// How an idle worker rests. A worker that waits for its channel costs nothing, but the way to it is
// long: the bell, Go's network poller, the poller, and then a wake-up of the worker's goroutine. So
// one idle worker, the sleeper, waits in C instead: its goroutine is inside a cgo call, and its
// thread sleeps in the kernel. The coroutine that calls wakes that thread, and the thread makes the
// call (OFF8 of gocall.h). Two things decide which is better:
//
//   - Where goroutines compute on every P, the sleeper has no P when it comes out of C, and waits
//     until one is preempted. Go's network poller is often quicker then.
//   - The P that a sleeper leaves behind is of no use to others until the runtime takes it away: at
//     once if it has something to run, else after 20 us to 10 ms.
//
// So a worker yields first. If that takes long, others want its P. An entry into Go that takes long
// says the same. A backoff then has the next workers rest at their channels.
//
// The runtime takes the P of a goroutine in C away sooner if the P has not scheduled for 10 ms, and
// an entry into Go that has to find another P takes 10 us longer than one that finds its own. The
// yield is a turn of the scheduler, too: so calls that come each millisecond find the P there.

// rest has w, which looks no more, wait until it is to look again. False: w is to end. The caller
// holds mu, which rest unlocks meanwhile.
func (p *Pool) rest(w *worker) bool {
	inC := p.looks == 0 && p.sleeper == nil && p.inC.tries()
	if inC {
		inC = !p.inC.slow(p.yield())
		if p.closed || p.waiting() {
			p.again()
			return true
		}
	}
	p.idle = append(p.idle, w)
	if p.trim == nil {
		p.before = p.calls
		p.trim = time.AfterFunc(idleTime, p.TrimNow)
	}
	if inC && p.looks == 0 && p.sleeper == nil && p.sleep(w) {
		p.again()
		return true
	}
	p.mu.Unlock()
	_, ok := <-w.wake
	p.mu.Lock()
	if ok {
		p.coming = false
	}
	return ok
}

// waiting tells whether there are calls that no worker makes.
func (p *Pool) waiting() bool { return p.first != nil || p.Core.HasCalls() }

// again has a worker that was idle look.
func (p *Pool) again() {
	p.looks++
	p.watch()
}

// yield lets others run, and returns how long that took. It unlocks mu meanwhile.
func (p *Pool) yield() time.Duration {
	p.mu.Unlock()
	begun := time.Now()
	runtime.Gosched()
	took := time.Since(begun)
	p.mu.Lock()
	return took
}

// sleep has w, which is idle, be the sleeper until a call comes, or some thread rouses it. True: w
// is idle no more. False: another has taken w, or release, which says by w.wake what w is to do. It
// unlocks mu meanwhile.
func (p *Pool) sleep(w *worker) bool {
	p.sleeper = w
	p.mu.Unlock()
	entry, slept := p.Core.SleepCalls()
	p.mu.Lock()
	p.sleeper = nil
	if slept && !p.inC.slow(entry) {
		p.inC.quick()
	}
	if i := slices.Index(p.idle, w); i >= 0 {
		p.idle = slices.Delete(p.idle, i, i+1)
		return true
	}
	if p.looks == 0 && !p.unwatch() { // a call has relied on the sleeper
		p.another()
	}
	return false
}

// Sleeps tells whether a worker sleeps in C.
func (p *Pool) Sleeps() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sleeper != nil && p.Core.CallsWatch() == core.Asleep
}

// rouse lets w go on, which was idle, if it is the sleeper.
func (p *Pool) rouse(w *worker) {
	if w == p.sleeper {
		p.unseen = false
		p.Core.RouseCalls()
	}
}

// unwatched is what the core is told while no worker looks.
func (p *Pool) unwatched() core.Watch {
	if p.sleeper != nil {
		return core.Asleep
	}
	return core.Unwatched
}

// A backoff says whether a worker is to sleep in C. When that was of no use, the next backoffLeast
// workers do not, and twice as many the next time, up to backoffMost. Each sleep that was of use
// halves the number.
type backoff struct {
	skips int // how many are yet to rest at their channels
	next  int // skips after the next time
}

// tries tells whether the next worker is to sleep in C.
func (b *backoff) tries() bool {
	if b.skips > 0 {
		b.skips--
		return false
	}
	return true
}

// slow tells whether a wait for a P was so long that sleeping in C is of no use, and notes that.
func (b *backoff) slow(wait time.Duration) bool {
	if wait <= backoffWait {
		return false
	}
	b.skips = max(b.next, backoffLeast)
	b.next = min(2*b.skips, backoffMost)
	return true
}

// quick notes that a sleep in C was of use.
func (b *backoff) quick() { b.next /= 2 }
