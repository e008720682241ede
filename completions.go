package coro

import (
	"context"
	"iter"
	"sync"

	"github.com/organzine/coro/internal/ctxerr"
)

// Completions yields the tasks in the order in which they end, each with the error that its Wait
// returns; Wait itself then does not wait. If the context ends first, the last pair is nil and the
// context's cause; in a bubble of testing/synctest the only pair is nil and ErrBubble. A task that
// is given twice comes twice; a task that a C body waits for comes at once, with ErrBusy. The cost
// of each does not depend on their number. Each range over it starts from the beginning.
//
// Before that last pair those tasks that borrow memory (see [Slice]) are canceled, and have ended:
// as of Task.Wait. A range that the caller leaves cancels nothing: what is borrowed then is lent
// until Done of its task tells of the end.
//
//	for task, err := range coro.Completions(ctx, tasks...) {
//		if err != nil { … }
//		result, _ := task.Wait(ctx)
//	}
func Completions[R any](ctx context.Context, tasks ...*Task[R]) iter.Seq2[*Task[R], error] {
	return func(yield func(*Task[R], error) bool) {
		if err := outside(); err != nil && len(tasks) > 0 {
			endBorrowers(tasks)
			yield(nil, err)
			return
		}
		q := &completions[R]{news: make(chan struct{}, 1)}
		for _, t := range tasks {
			t.whenDone(func() { q.add(t) })
		}
		defer q.drop()
		for left := len(tasks); left > 0; {
			ended := q.take()
			for _, t := range ended {
				_, err := t.Wait(ctx)
				if !yield(t, err) {
					return
				}
			}
			left -= len(ended)
			if left == 0 || len(ended) > 0 {
				continue
			}
			select {
			case <-q.news:
			case <-ctx.Done():
				endBorrowers(tasks)
				yield(nil, ctxerr.Of(ctx))
				return
			}
		}
	}
}

// endBorrowers cancels those of the tasks that borrow memory, and waits for their ends. The
// caller's own coroutine is left out: it cannot end before.
func endBorrowers[R any](tasks []*Task[R]) {
	of := func(t *Task[R]) bool { return t.borrows && !t.finished.Load() && !t.isCaller() }
	for _, t := range tasks {
		if of(t) {
			t.Cancel()
		}
	}
	for _, t := range tasks {
		if of(t) {
			t.endHere()
		}
	}
}

// completions are tasks that have ended and were not yielded yet.
type completions[R any] struct {
	news chan struct{} // holds one while there are any

	mu      sync.Mutex
	ended   []*Task[R]
	dropped bool // the range has ended
}

// add adds a task that was completed.
func (q *completions[R]) add(t *Task[R]) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.dropped {
		return
	}
	q.ended = append(q.ended, t)
	select {
	case q.news <- struct{}{}:
	default:
	}
}

func (q *completions[R]) take() []*Task[R] {
	q.mu.Lock()
	defer q.mu.Unlock()
	ended := q.ended
	q.ended = nil
	return ended
}

func (q *completions[R]) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.dropped, q.ended = true, nil
}
