package nats

import (
	"math"
	"sync"
)

// calls makes calls one after the other, by a goroutine of its own that ends when there are none.
type calls struct {
	mu      sync.Mutex
	queue   []func()
	running bool
	stopped bool
	making  sync.Mutex // held during a call
}

func newCalls() *calls { return &calls{} }

func (q *calls) add(f func()) { q.addMost(math.MaxInt, f) }

// addMost is add, unless that many calls wait.
func (q *calls) addMost(most int, f func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped || len(q.queue) >= most {
		return false
	}
	q.queue = append(q.queue, f)
	if !q.running {
		q.running = true
		go q.run()
	}
	return true
}

func (q *calls) run() {
	for {
		q.making.Lock()
		q.mu.Lock()
		if len(q.queue) == 0 || q.stopped {
			q.running = false
			q.mu.Unlock()
			q.making.Unlock()
			return
		}
		f := q.queue[0]
		q.queue[0] = nil
		q.queue = q.queue[1:]
		q.mu.Unlock()
		f()
		q.making.Unlock()
	}
}

// stop makes no call any more. It waits for one that is made; so it is not for a call to call.
func (q *calls) stop() {
	q.mu.Lock()
	q.stopped = true
	q.mu.Unlock()
	q.making.Lock()
	defer q.making.Unlock()
}
